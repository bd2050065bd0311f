// An inbox: waiting for its messages, sending from it, and explaining a missing message.

package restante

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Inbox is an inbox with its own address. It remembers which messages its waits have returned. It may be used by
// several goroutines.
type Inbox struct {
	InboxFields
	connection *connection
	timeout    time.Duration
	label      string
	position   position
}

// story is the line of an error that links to what happened: to the page about a wait, if there is one.
func (i *Inbox) story(link string) string {
	line, until := i.connection.dashboardLine(i.ID), ""
	if link != "" {
		line = "What happened during this wait: " + link
		if i.connection.config.ServerLog != "" {
			until = ", until the run ends"
		}
	}
	if i.label != "" {
		line += " (" + i.label + ")"
	}
	return line + until
}

// Outgoing is a message to send from an inbox.
type Outgoing struct {
	// To is one address, without a name.
	To      string `json:"to"`
	Subject string `json:"subject"`
	Text    string `json:"text,omitempty"`
	HTML    string `json:"html,omitempty"`
	// InReplyTo is the id of the message to which this one replies.
	InReplyTo string `json:"in_reply_to,omitempty"`
}

// WaitForMessage returns the next message that matches, oldest first; never one that this Inbox has returned before.
// The message may arrive before or after the wait starts. If none arrives, the error is a [*WaitTimeoutError].
func (i *Inbox) WaitForMessage(ctx context.Context, options ...Option) (*Message, error) {
	found, err := i.WaitForMessages(ctx, 1, options...)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// WaitForMessages returns the next messages that match, oldest first, within one timeout.
func (i *Inbox) WaitForMessages(ctx context.Context, count int, options ...Option) ([]*Message, error) {
	search := searchOf(options)
	timeout := i.timeout
	if search.timeout != unset {
		timeout = search.timeout
	}
	wait, err := i.wait(timeout, limited(ctx, timeout, search), search)
	if err != nil {
		return nil, err
	}
	return wait.messages(ctx, count)
}

// ExpectNoMessage waits, and returns an [*UnexpectedMessageError] if a message that matches arrives or is already
// there and was not returned by a wait. It waits the whole time: if the context ends before, the error says so.
func (i *Inbox) ExpectNoMessage(ctx context.Context, within time.Duration, options ...Option) error {
	// In a shorter time, a late message would be missed.
	wait, err := i.wait(within, within, searchOf(options))
	if err != nil {
		return err
	}
	return wait.nothing(ctx)
}

// Messages iterates over the current messages that match, newest first, including those that waits have returned.
// After an error, which is the last element, the message is nil.
func (i *Inbox) Messages(ctx context.Context, options ...Option) iter.Seq2[*Message, error] {
	search := searchOf(options)
	return func(yield func(*Message, error) bool) {
		for fields, err := range i.pages(ctx, search.query(search.after)) {
			if err != nil {
				yield(nil, err)
				return
			}
			message := &Message{fields, i.connection}
			missed, err := search.missedBy(ctx, message)
			if err != nil {
				yield(nil, err)
				return
			}
			if missed == nil && !yield(message, nil) {
				return
			}
		}
	}
}

// pageSize is the number of messages that are read at once: an inbox of a fixed address may have many.
const pageSize = 50

// pages iterates over the messages that the query selects, newest first, and reads them as they are needed.
func (i *Inbox) pages(ctx context.Context, query url.Values) iter.Seq2[MessageFields, error] {
	return func(yield func(MessageFields, error) bool) {
		query.Set("limit", strconv.Itoa(pageSize))
		for {
			found, err := i.list(ctx, query)
			if err != nil {
				yield(MessageFields{}, err)
				return
			}
			for _, fields := range found {
				if !yield(fields, nil) {
					return
				}
			}
			if len(found) < pageSize {
				return
			}
			query.Set("before", found[len(found)-1].ID)
		}
	}
}

// list returns the messages of this inbox that the query selects, newest first.
func (i *Inbox) list(ctx context.Context, query url.Values) ([]MessageFields, error) {
	request := request{method: http.MethodGet, path: inboxPath(i.ID) + "/messages", query: query}
	type page struct {
		Messages []MessageFields `json:"messages"`
	}
	found, err := fetch(ctx, i.connection, request, func(page page) bool { return page.Messages != nil })
	return found.Messages, err
}

// Send sends a message from this inbox.
func (i *Inbox) Send(ctx context.Context, message Outgoing) (Sent, error) {
	return send(ctx, i.connection, i.ID, message)
}

func send(ctx context.Context, c *connection, inbox string, message Outgoing) (Sent, error) {
	request := request{method: http.MethodPost, path: inboxPath(inbox) + "/messages", body: message}
	return fetch(ctx, c, request, func(sent Sent) bool { return sent.ID != "" })
}

type faultList struct {
	Faults []FaultState `json:"faults"`
}

// SetFaults replaces the faults of this inbox, which the server injects when the application sends to it. Without an
// argument it removes them.
func (i *Inbox) SetFaults(ctx context.Context, faults ...Fault) ([]FaultState, error) {
	if faults == nil {
		faults = []Fault{}
	}
	body := map[string]any{"faults": faults}
	return i.faults(ctx, request{method: http.MethodPut, path: inboxPath(i.ID) + "/faults", body: body})
}

// Faults returns the faults of this inbox, and when each was used.
func (i *Inbox) Faults(ctx context.Context) ([]FaultState, error) {
	return i.faults(ctx, request{method: http.MethodGet, path: inboxPath(i.ID) + "/faults"})
}

func (i *Inbox) faults(ctx context.Context, request request) ([]FaultState, error) {
	list, err := fetch(ctx, i.connection, request, func(list faultList) bool { return list.Faults != nil })
	return list.Faults, err
}

// Explain returns the server's explanation why no matching message arrived. The server does not know regular
// expressions and functions.
func (i *Inbox) Explain(ctx context.Context, options ...Option) (Explanation, error) {
	search := searchOf(options)
	explanation, err := i.explain(ctx, search, search.after, "")
	if err != nil {
		return Explanation{}, err
	}
	return *explanation, nil
}

// explain names the wait that it explains, if there was one, with the filters that were applied here.
func (i *Inbox) explain(ctx context.Context, search search, after, wait string) (*Explanation, error) {
	request := request{method: http.MethodGet, path: inboxPath(i.ID) + "/explain", query: search.query(after)}
	if wait != "" {
		request.name, request.filters = wait, search.here()
	}
	explanation, err := fetch(ctx, i.connection, request, func(found Explanation) bool { return found.Summary != "" })
	return &explanation, err
}

// Events returns what happened to the inbox, oldest first: waits, SMTP sessions with their commands, messages, and
// more.
func (i *Inbox) Events(ctx context.Context) ([]InboxEvent, error) {
	type list struct {
		Events []InboxEvent `json:"events"`
	}
	request := request{method: http.MethodGet, path: inboxPath(i.ID) + "/events"}
	found, err := fetch(ctx, i.connection, request, func(list list) bool { return list.Events != nil })
	return found.Events, err
}

// Delete deletes the inbox and its messages.
func (i *Inbox) Delete(ctx context.Context) error {
	_, err := i.connection.call(ctx, request{method: http.MethodDelete, path: inboxPath(i.ID)})
	return err
}
