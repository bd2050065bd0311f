// The filters of a call. The server applies texts, and which parts a message has; the others are applied here.

package restante

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Option is a filter of messages, or another option of a wait. A message must match all filters.
type Option func(*search)

// search has the options of one call.
type search struct {
	subject, from, to, text string
	// header is NAME:TEXT.
	header                  string
	subjectRegex, fromRegex *regexp.Regexp
	has                     []string
	where                   func(*Message) bool
	// isFixed tells that the caller has set where to start: after this message, or with the first one if it is empty.
	isFixed bool
	after   string
	timeout time.Duration
	limit   time.Duration
}

// Subject matches messages whose subject contains a text, in any case.
func Subject(text string) Option { return func(s *search) { s.subject = text } }

// SubjectMatches matches messages whose subject a regular expression matches.
func SubjectMatches(regex *regexp.Regexp) Option { return func(s *search) { s.subjectRegex = regex } }

// From matches messages whose sender's address contains a text, in any case.
func From(text string) Option { return func(s *search) { s.from = text } }

// FromMatches matches messages whose sender's address a regular expression matches.
func FromMatches(regex *regexp.Regexp) Option { return func(s *search) { s.fromRegex = regex } }

// To matches messages of which a field To or Cc contains a text, in any case.
func To(text string) Option { return func(s *search) { s.to = text } }

// Text matches messages whose text contains a text, in any case.
func Text(text string) Option { return func(s *search) { s.text = text } }

// HeaderContains matches messages of which a header field with this name contains a text, in any case.
func HeaderContains(name, text string) Option {
	return func(s *search) { s.header = name + ":" + text }
}

// HasCode matches messages with a labelled code, in any form.
func HasCode() Option { return has("code") }

// HasOTP matches messages whose OTP is not empty; it may be a number without a label.
func HasOTP() Option { return has("otp") }

// HasLink matches messages with a link.
func HasLink() Option { return has("link") }

func has(part string) Option { return func(s *search) { s.has = append(s.has, part) } }

// Where matches the messages for which a function returns true.
func Where(matches func(*Message) bool) Option { return func(s *search) { s.where = matches } }

// After starts after the message with this id. Without it, a wait starts after the last message that a wait on the
// same Inbox has returned.
func After(id string) Option { return func(s *search) { s.isFixed, s.after = true, id } }

// FromStart starts with the oldest message of the inbox.
func FromStart() Option { return After("") }

// Timeout sets how long this wait lasts. It applies only to waits.
func Timeout(duration time.Duration) Option { return func(s *search) { s.timeout = duration } }

// Limit ends a wait earlier than its timeout: for the test runner, which ends the test then.
func Limit(duration time.Duration) Option { return func(s *search) { s.limit = duration } }

const unset = -1

func searchOf(options []Option) search {
	made := search{timeout: unset, limit: unset}
	for _, option := range options {
		option(&made)
	}
	return made
}

// query returns the filters that the server applies.
func (s search) query(after string) url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"subject": s.subject, "from": s.from, "to": s.to, "text": s.text, "header": s.header,
		"has": strings.Join(s.has, ","), "after": after,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// missedBy returns the filters applied here that exclude a message.
func (s search) missedBy(message *Message) []string {
	var missed []string
	if s.subjectRegex != nil && !s.subjectRegex.MatchString(message.Subject) {
		missed = append(missed, "subject")
	}
	if s.fromRegex != nil && !s.fromRegex.MatchString(message.From) {
		missed = append(missed, "from")
	}
	if missed == nil && s.where != nil && !s.where(message) {
		missed = append(missed, "where")
	}
	return missed
}

// named returns the filters that are set, by their names in the API.
func (s search) named(after string) map[string]any {
	set := map[string]any{}
	for _, filter := range s.list() {
		set[filter.name] = filter.value
	}
	if after != "" {
		set["after"] = after
	}
	return set
}

type namedFilter struct {
	name  string
	value any
	text  string
}

func (s search) list() []namedFilter {
	var filters []namedFilter
	add := func(isSet bool, name string, value any, text string) {
		if isSet {
			filters = append(filters, namedFilter{name, value, text})
		}
	}
	for _, one := range []struct{ name, value string }{
		{"subject", s.subject}, {"from", s.from}, {"to", s.to}, {"text", s.text}, {"header", s.header},
	} {
		add(one.value != "", one.name, one.value, fmt.Sprintf("%s %q", one.name, one.value))
	}
	add(s.subjectRegex != nil, "subject", s.subjectRegex, fmt.Sprintf("subject /%s/", s.subjectRegex))
	add(s.fromRegex != nil, "from", s.fromRegex, fmt.Sprintf("from /%s/", s.fromRegex))
	add(len(s.has) > 0, "has", s.has, "has "+strings.Join(s.has, " and "))
	add(s.where != nil, "where", s.where, "where (a function)")
	return filters
}

// String returns the filters as a text that follows the word "message".
func (s search) String() string {
	var text strings.Builder
	for index, filter := range s.list() {
		text.WriteString([]string{" with ", " and "}[min(index, 1)] + filter.text)
	}
	return text.String()
}
