// The texts for waits that failed: the server's explanation, with what only the client knows.

package restante

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxNamed = 3

// report is what the text of a timeout says.
type report struct {
	address      string
	search       search
	limit, asked time.Duration
	found        []*Message
	count        int
	isFixed      bool
	explanation  *Explanation
	// story is the line with the link to what happened.
	story string
}

func (r report) text() string {
	head := fmt.Sprintf("no message%s arrived at %s within %s", r.search, r.address, seconds(r.limit))
	if r.count > 1 {
		head = fmt.Sprintf("%d of %d messages%s arrived at %s within %s",
			len(r.found), r.count, r.search, r.address, seconds(r.limit))
	}
	if r.limit < r.asked {
		head += fmt.Sprintf(" (not %s: limited by the deadline of the caller)", seconds(r.asked))
	}
	lines := append([]string{head + "."}, r.reasons()...)
	return strings.Join(append(lines, r.story), "\n")
}

func (r report) reasons() []string {
	if r.explanation == nil {
		return []string{"The server's explanation could not be read."}
	}
	lines := []string{r.explanation.Summary}
	isOlder := false
	for _, message := range r.explanation.Messages.Latest {
		note := ""
		switch {
		case isFound(r.found, message.ID):
			note = " (counted)"
		case len(message.MissedBy) > 0:
			note = " (not: " + strings.Join(message.MissedBy, ", ") + ")"
		}
		isOlder = isOlder || slices.Equal(message.MissedBy, []string{"after"}) && note != " (counted)"
		lines = append(lines, fmt.Sprintf("  received: %q from %s%s", message.Subject, message.From, note))
	}
	for _, refused := range r.explanation.Refused {
		switch {
		case r.says(refused.Recipient, refused.Reply):
		case refused.Recipient != "":
			lines = append(lines, fmt.Sprintf("  rejected: %s from %s: %s",
				refused.Recipient, or(refused.Sender, "<>"), refused.Reply))
		default:
			lines = append(lines, "  a session without mail: "+refused.Reply)
		}
	}
	for _, similar := range r.explanation.Similar {
		if !r.says(similar.Address) {
			lines = append(lines, fmt.Sprintf("  similar address: %s received %s",
				similar.Address, numbered(similar.Messages, "message")))
		}
	}
	if isOlder && !r.isFixed {
		lines = append(lines, `"not: after" means: the last wait returned this message, or a later one. `+
			"restante.FromStart() starts over.")
	}
	return lines
}

// says reports whether the summary has these texts already, so that they are not shown twice.
func (r report) says(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(r.explanation.Summary, text) })
}

// completed adds to the server's explanation which messages the filters applied here exclude, and which the wait has
// counted.
func completed(
	explanation Explanation, search search, rejected map[string][]string, found []*Message,
) *Explanation {
	latest := slices.Clone(explanation.Messages.Latest)
	for index, message := range latest {
		latest[index].MissedBy = slices.Concat(message.MissedBy, rejected[message.ID])
	}
	explanation.Messages.Latest = latest
	if len(found) > 0 {
		explanation.Summary = inAddition(explanation.Messages, found)
	} else if len(rejected) > 0 && areExcluded(latest) {
		explanation.Summary, explanation.Cause = excluded(search, latest), "filter_missed"
	}
	return &explanation
}

// areExcluded tells whether the filters exclude all messages that are there; a rejected one may have been deleted.
func areExcluded(latest []Arrived) bool {
	return len(latest) > 0 && !slices.ContainsFunc(latest, func(one Arrived) bool { return len(one.MissedBy) == 0 })
}

// inAddition says what arrived in addition to the messages that the wait has counted; the server does not know these.
func inAddition(messages ArrivedMessages, found []*Message) string {
	if messages.Count <= len(found) {
		return "No other message arrived."
	}
	others := slices.DeleteFunc(slices.Clone(messages.Latest), func(one Arrived) bool { return isFound(found, one.ID) })
	if filters := filtersOf(others); filters != "" {
		return fmt.Sprintf("No other message matches the filters (%s).", filters)
	}
	return "Other messages arrived."
}

// excluded says what was expected and what arrived, as the server says it for its own filters.
func excluded(search search, latest []Arrived) string {
	var named []string
	for _, message := range latest[:min(len(latest), maxNamed)] {
		named = append(named, fmt.Sprintf("%q from %s", message.Subject, message.From))
	}
	more := ""
	if len(latest) > maxNamed {
		more = " and others"
	}
	return fmt.Sprintf("Expected %s; arrived: %s%s. Change the filter, or what the application sends.",
		strings.TrimPrefix(search.String(), " with "), strings.Join(named, ", "), more)
}

func filtersOf(messages []Arrived) string {
	var names []string
	for _, message := range messages {
		names = append(names, message.MissedBy...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func isFound(found []*Message, id string) bool {
	return slices.ContainsFunc(found, func(message *Message) bool { return message.ID == id })
}

func unexpected(inbox *Inbox, search search, within time.Duration, message *Message) error {
	text := fmt.Sprintf("a message%s arrived at %s within %s, but none was expected: %q from %s\n%s",
		search, inbox.Address, seconds(within), message.Subject, message.From, inbox.story(""))
	return &UnexpectedMessageError{failure{text: text}, message}
}

func seconds(duration time.Duration) string {
	return strconv.FormatFloat(duration.Round(10*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

func numbered(number int, word string) string {
	if number == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", number, word)
}
