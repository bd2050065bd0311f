// Waits for messages until a deadline, despite the server's limits, a restart, and filters that are applied here.

package restante

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const (
	// maxRequest is the maximum length of a wait that the server allows in one request.
	maxRequest = 120 * time.Second
	// reserve is what a wait leaves of its caller's time for the explanation; at most half of it.
	reserve = time.Second
)

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
	// began is the message after which the search for the next one began, or the word start.
	began string
	// expectsNone tells the server that the wait must stay empty.
	expectsNone bool
	// link is the page about the longest request so far, and linkHeld how long that was.
	link     string
	linkHeld time.Duration
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
	return unexpected(w.inbox, w.search, w.limit, message)
}

// next returns the oldest matching message that is taken, or nil at the deadline.
func (w *wait) next(ctx context.Context, after string, takes func(string) bool) (*Message, error) {
	w.began = cmp.Or(after, "start")
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
	pauses := connection.pauses(time.Until(w.deadline))
	for {
		left := max(0, time.Until(w.deadline))
		request := w.request(after, left)
		result, err := connection.attempt(ctx, request)
		switch {
		case err != nil:
			return nil, err
		case result.status == http.StatusOK:
			fields, err := decode(connection, request, result, isMessage)
			return &Message{fields, connection}, err
		case result.status == http.StatusRequestTimeout && isOurs(result):
			w.noteLink(request, result)
			if time.Until(w.deadline) <= 0 {
				return nil, nil
			}
		case result.status == http.StatusNotFound && isOurs(result):
			return nil, w.ended(ctx, connection.errorOf(request, result))
		case result.isSuccess():
			return nil, connection.foreign(request, result)
		case !mayRepeat(request, result):
			return nil, connection.errorOf(request, result)
		// The server checks for a message before it counts the waits, so a wait with 429 has also looked.
		case left == 0 && result.status == http.StatusTooManyRequests:
			return nil, nil
		case left == 0:
			return nil, connection.errorOf(request, result)
		default:
			pauses.next(ctx, result)
		}
	}
}

func isOurs(result outcome) bool {
	_, isOurs := said(result.body)
	return isOurs
}

func (w *wait) request(after string, left time.Duration) request {
	held := min(left, maxRequest)
	// For zero, the server would return 404, as for an inbox that has ended.
	milliseconds := max(1, int(math.Ceil(float64(held)/float64(time.Millisecond))))
	query := w.search.query(after)
	query.Set("timeout", strconv.Itoa(milliseconds))
	return request{
		method: http.MethodGet, path: inboxPath(w.inbox.ID) + "/messages/wait", query: query, held: held,
		filters: w.search.here(), expectsNone: w.expectsNone, began: w.began,
	}
}

func (w *wait) noteLink(request request, result outcome) {
	if found := helpLink.FindStringSubmatch(result.header.Get("Link")); found != nil && request.held >= w.linkHeld {
		w.link, w.linkHeld = found[1], request.held
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

// timedOut returns the error with the reason why the wait failed.
func (w *wait) timedOut(ctx context.Context, found []*Message, count int) error {
	waited := time.Since(w.start)
	after := w.walk.start
	if len(found) > 0 {
		after = found[len(found)-1].ID
	}
	explanation, err := w.inbox.explain(ctx, w.search, after, cmp.Or(after, "start"))
	if err != nil {
		if !plain(err) {
			return err
		}
		explanation = nil
	}
	report := report{
		address: w.inbox.Address, search: w.search, limit: w.limit, asked: w.asked, found: len(found), count: count,
		explanation: explanation, story: w.inbox.story(w.link),
	}
	return &WaitTimeoutError{
		failure: failure{text: report.text()}, Filters: w.search.named(w.walk.start), Waited: waited,
		Explanation: explanation, Link: w.link,
	}
}
