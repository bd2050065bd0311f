// Waits for messages until a deadline, despite the server's limits, a restart, and filters that are applied here.

package restante

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// reserve is what a wait leaves of its caller's time for the explanation; at most half of it.
const reserve = time.Second

// helpLink is the header with the page about a wait that timed out.
var helpLink = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?help\b`)

// wait is one wait on an inbox, for one message or for several.
type wait struct {
	inbox  *Inbox
	search search
	walk   walk
	// asked is the timeout of the caller, limit what the caller's deadline leaves of it.
	asked, limit    time.Duration
	start, deadline time.Time
	// name is that of the search for the latest message, the same in all of its requests.
	name string
	// expectsNone tells the server that the wait must stay empty.
	expectsNone bool
	// link is the page about it.
	link string
}

func (i *Inbox) wait(asked, limit time.Duration, search search) (*wait, error) {
	if asked < 0 {
		return nil, mistake("the timeout must not be negative: %s", asked)
	}
	now := time.Now()
	return &wait{
		inbox: i, search: search, walk: i.position.walk(search), asked: asked, limit: limit,
		start: now, deadline: now.Add(limit),
	}, nil
}

// limited returns what the deadlines of the caller leave of a timeout, so that there is time for the explanation.
func limited(ctx context.Context, asked time.Duration, search search) time.Duration {
	limit := asked
	if search.limit != unset {
		limit = min(limit, max(search.limit-reserve, search.limit/2, 0))
	}
	if end, isSet := ctx.Deadline(); isSet {
		left := time.Until(end)
		limit = min(limit, max(left-reserve, left/2, 0))
	}
	return limit
}

// messages returns the next messages that match, oldest first.
func (w *wait) messages(ctx context.Context, count int) ([]*Message, error) {
	var found []*Message
	after := w.walk.start
	for len(found) < count {
		message, err := w.next(ctx, after, w.walk.takes)
		if err == nil && message == nil {
			err = w.timedOut(ctx, found, count)
		}
		if err != nil {
			w.walk.failed(found)
			return nil, err
		}
		found = append(found, message)
		after = message.ID
	}
	if len(found) > 0 {
		w.walk.succeeded(found)
	}
	return found, nil
}

// nothing returns an error if a matching message arrives.
func (w *wait) nothing(ctx context.Context) error {
	w.expectsNone = true
	message, err := w.next(ctx, w.walk.start, w.walk.wouldTake)
	if err != nil || message == nil {
		return err
	}
	text := fmt.Sprintf("a message%s arrived at %s within %s, but none was expected: %q from %s\n%s", w.search,
		w.inbox.Address, seconds(w.limit), message.Subject, message.From, w.inbox.story(""))
	return &UnexpectedMessageError{failure{text: text}, message}
}

// next returns the oldest matching message that is taken, or nil at the deadline.
func (w *wait) next(ctx context.Context, after string, takes func(string) bool) (*Message, error) {
	w.name = rand.Text()
	for {
		message, err := w.ask(ctx, after)
		if err != nil || message == nil {
			return nil, err
		}
		missed, err := w.search.missedBy(ctx, message)
		if err != nil {
			return nil, err
		}
		if missed == nil && takes(message.ID) {
			return message, nil
		}
		after = message.ID
	}
}

// ask returns the oldest message that matches the filters of the server, or nil at the deadline.
func (w *wait) ask(ctx context.Context, after string) (*Message, error) {
	connection := w.inbox.connection
	request := request{
		method: http.MethodGet, path: inboxPath(w.inbox.ID) + "/messages/wait", query: w.search.query(after),
		until: w.deadline, filters: w.search.here(), expectsNone: w.expectsNone, name: w.name,
	}
	for {
		result, err := connection.call(ctx, request)
		if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
			return nil, w.ended(ctx, missing)
		}
		if err != nil {
			return nil, err
		}
		if result.isSuccess() {
			fields, err := decode(connection, request, result, isMessage)
			return &Message{fields, connection}, err
		}
		if found := helpLink.FindStringSubmatch(result.header.Get("Link")); found != nil {
			w.link = found[1]
		}
		if !time.Now().Before(w.deadline) {
			return nil, nil
		}
	}
}

// ended returns the error for an inbox that has ended; the server's explanation has the time and the reason.
func (w *wait) ended(ctx context.Context, err error) error {
	text := err.Error() + ". The inbox was " + w.inbox.Address
	if explanation, failed := w.inbox.explain(ctx, search{}, "", ""); failed == nil && explanation.Ended != nil {
		text = explanation.Summary
	}
	return &NotFoundError{failure{text: text, status: http.StatusNotFound, cause: err}}
}

// timedOut returns the error with what was expected, the server's report, and the link to the page about the wait.
func (w *wait) timedOut(ctx context.Context, found []*Message, count int) error {
	waited := time.Since(w.start)
	after := w.walk.start
	if len(found) > 0 {
		after = found[len(found)-1].ID
	}
	reasons := "The server's explanation could not be read."
	explanation, err := w.inbox.explain(ctx, w.search, after, w.name)
	switch {
	case err == nil:
		reasons = explanation.Report
	case plain(err):
		explanation = nil
	default:
		return err
	}
	text := fmt.Sprintf("%s\n%s\n%s", w.expected(len(found), count), reasons, w.inbox.story(w.link))
	return &WaitTimeoutError{
		failure: failure{text: text}, Filters: w.search.named(w.walk.start), Waited: waited,
		Explanation: explanation, Link: w.link,
	}
}

// expected is the first line of the error.
func (w *wait) expected(found, count int) string {
	counted, limited := "no message", ""
	if count > 1 {
		counted = fmt.Sprintf("%d of %d messages", found, count)
	}
	if w.limit < w.asked {
		limited = fmt.Sprintf(" (not %s: limited by the deadline of the caller)", seconds(w.asked))
	}
	address := w.inbox.Address
	return fmt.Sprintf("%s%s arrived at %s within %s%s.", counted, w.search, address, seconds(w.limit), limited)
}

func seconds(duration time.Duration) string {
	return strconv.FormatFloat(duration.Round(10*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}
