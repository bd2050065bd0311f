// The filters of a call. The server applies texts, and which parts a message has; the others are applied here.

package restante

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Option is a filter of messages, or another option of a wait. A message must match all filters.
type Option func(*search)

// search has the options of one call.
type search struct {
	texts []textFilter
	has   []string
	where func(*Message) bool
	// isFixed tells that the caller has set where to start: after this message, or with the first one if it is empty.
	isFixed bool
	after   string
	timeout time.Duration
	limit   time.Duration
}

// textFilter is a text that a part of the message must contain, or a regular expression that must match it.
type textFilter struct {
	// name is that of the filter in the API.
	name string
	// field is the name of a header field, for the filter "header".
	field    string
	contains string
	regex    *regexp.Regexp
}

// Subject matches messages whose subject contains a text, in any case.
func Subject(text string) Option { return contains("subject", "", text) }

// SubjectMatches matches messages whose subject a regular expression matches.
func SubjectMatches(regex *regexp.Regexp) Option { return matches("subject", "", regex) }

// From matches messages whose sender's address contains a text, in any case.
func From(text string) Option { return contains("from", "", text) }

// FromMatches matches messages whose sender's address a regular expression matches.
func FromMatches(regex *regexp.Regexp) Option { return matches("from", "", regex) }

// To matches messages of which a field To or Cc contains a text, in any case.
func To(text string) Option { return contains("to", "", text) }

// ToMatches matches messages of which a regular expression matches a field To or Cc.
func ToMatches(regex *regexp.Regexp) Option { return matches("to", "", regex) }

// Text matches messages whose text contains a text, in any case.
func Text(text string) Option { return contains("text", "", text) }

// TextMatches matches messages whose text a regular expression matches.
func TextMatches(regex *regexp.Regexp) Option { return matches("text", "", regex) }

// HeaderContains matches messages of which a header field with this name contains a text, in any case.
func HeaderContains(name, text string) Option { return contains("header", name, text) }

// HeaderMatches matches messages of which a regular expression matches a header field with this name.
func HeaderMatches(name string, regex *regexp.Regexp) Option { return matches("header", name, regex) }

func contains(name, field, text string) Option {
	return func(s *search) { s.set(textFilter{name: name, field: field, contains: text}) }
}

func matches(name, field string, regex *regexp.Regexp) Option {
	return func(s *search) { s.set(textFilter{name: name, field: field, regex: regex}) }
}

// set adds a filter, or replaces that of the same part.
func (s *search) set(filter textFilter) {
	isSame := func(one textFilter) bool {
		return one.name == filter.name && strings.EqualFold(one.field, filter.field)
	}
	s.texts = append(slices.DeleteFunc(s.texts, isSame), filter)
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

// Limit ends a wait earlier than its timeout: for the test runner, which ends the test then. It does not apply to
// [Inbox.ExpectNoMessage].
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
	if after != "" {
		query.Set("after", after)
	}
	if len(s.has) > 0 {
		query.Set("has", strings.Join(s.has, ","))
	}
	for _, filter := range s.texts {
		if s.isOfServer(filter) {
			query.Set(filter.name, filter.value())
		}
	}
	return query
}

// isOfServer tells whether the server applies a filter: it knows texts, and one header field.
func (s search) isOfServer(filter textFilter) bool {
	if filter.name != "header" {
		return filter.regex == nil && filter.contains != ""
	}
	first := slices.IndexFunc(s.texts, func(one textFilter) bool { return one.name == "header" && one.regex == nil })
	return first >= 0 && s.texts[first] == filter
}

// here has the filters that are applied here, as a text.
func (s search) here() string {
	only := search{where: s.where}
	for _, filter := range s.texts {
		if !s.isOfServer(filter) {
			only.texts = append(only.texts, filter)
		}
	}
	var texts []string
	for _, filter := range only.list() {
		texts = append(texts, filter.text)
	}
	return strings.Join(texts, ", ")
}

// value is the filter in the query.
func (f textFilter) value() string {
	if f.name == "header" {
		return f.field + ":" + f.contains
	}
	return f.contains
}

// missedBy returns the filters applied here that exclude a message.
func (s search) missedBy(ctx context.Context, message *Message) ([]string, error) {
	var missed []string
	for _, filter := range s.texts {
		if s.isOfServer(filter) {
			continue
		}
		values, err := filter.valuesIn(ctx, message)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(values, filter.isIn) && !slices.Contains(missed, filter.name) {
			missed = append(missed, filter.name)
		}
	}
	if missed == nil && s.where != nil && !s.where(message) {
		missed = append(missed, "where")
	}
	return missed, nil
}

// valuesIn returns the texts of a message to which the filter applies.
func (f textFilter) valuesIn(ctx context.Context, message *Message) ([]string, error) {
	switch f.name {
	case "subject":
		return []string{message.Subject}, nil
	case "from":
		return []string{message.From}, nil
	case "text":
		return []string{message.Text}, nil
	}
	details, err := message.Details(ctx)
	if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
		return nil, nil // It was deleted in the meantime.
	}
	if err != nil {
		return nil, err
	}
	names := []string{f.field}
	if f.name == "to" {
		names = []string{"To", "Cc"}
	}
	var values []string
	for _, header := range details.Headers {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, header.Name) }) {
			values = append(values, header.Value)
		}
	}
	return values, nil
}

func (f textFilter) isIn(text string) bool {
	if f.regex != nil {
		return f.regex.MatchString(text)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(f.contains))
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
	for _, filter := range s.texts {
		name := strings.TrimSpace(filter.name + " " + filter.field)
		switch {
		case filter.regex != nil:
			filters = append(filters, namedFilter{name, filter.regex, fmt.Sprintf("%s /%s/", name, filter.regex)})
		case filter.contains != "" || filter.field != "":
			filters = append(filters, namedFilter{name, filter.contains, fmt.Sprintf("%s %q", name, filter.contains)})
		}
	}
	if len(s.has) > 0 {
		filters = append(filters, namedFilter{"has", s.has, "has " + strings.Join(s.has, " and ")})
	}
	if s.where != nil {
		filters = append(filters, namedFilter{"where", s.where, "where (a function)"})
	}
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
