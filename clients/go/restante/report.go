// The texts for waits that failed: what was expected, and the server's report.

package restante

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// report is what the text of a timeout says.
type report struct {
	address      string
	search       search
	limit, asked time.Duration
	found, count int
	explanation  *Explanation
	// story is the line with the link to what happened.
	story string
}

func (r report) text() string {
	head := fmt.Sprintf("no message%s arrived at %s within %s", r.search, r.address, seconds(r.limit))
	if r.count > 1 {
		head = fmt.Sprintf("%d of %d messages%s arrived at %s within %s",
			r.found, r.count, r.search, r.address, seconds(r.limit))
	}
	if r.limit < r.asked {
		head += fmt.Sprintf(" (not %s: limited by the deadline of the caller)", seconds(r.asked))
	}
	reasons := "The server's explanation could not be read."
	if r.explanation != nil {
		reasons = r.explanation.Report
	}
	return strings.Join([]string{head + ".", reasons, r.story}, "\n")
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
