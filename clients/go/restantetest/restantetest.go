// Package restantetest gives tests their inboxes. It starts one server for all packages of a `go test`, which stops
// with it, and a wait without its message fails the test with the explanation.
//
//	func TestSignUp(t *testing.T) {
//		inbox := restantetest.New(t)
//		signUp(inbox.SMTPAddr(), inbox.Address)
//		mail := inbox.Wait(t, restante.Subject("confirm"))
//		enter(mail.Code(t))
//	}
//
// The functions fail the test, so call them from its goroutine.
package restantetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/restante/restante/clients/go/restante"
)

// Inbox is the inbox of a test.
type Inbox struct {
	*restante.Inbox
	client *restante.Client
	// timeouts are the waits that have failed.
	timeouts []*restante.WaitTimeoutError
}

// Message is a message in the inbox of a test.
type Message struct {
	*restante.Message
}

// New creates an inbox, which the dashboard shows with the name of the test. When the test has passed, it is deleted.
// After a failure it is kept, and the test's output lists its messages.
func New(t testing.TB) *Inbox {
	t.Helper()
	client := Client(t)
	inbox, err := client.CreateInbox(t.Context(), restante.Label(t.Name()))
	return made(t, client, inbox, err)
}

// InboxFor returns the inbox of a fixed address, for example that of a seeded user. Its first wait starts after the
// newest message that is there now. Tests that use the same address at the same time see each other's messages.
// The inbox is kept.
func InboxFor(t testing.TB, address string) *Inbox {
	t.Helper()
	client := Client(t)
	inbox, err := client.InboxFor(t.Context(), address, restante.Label(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	shown := &Inbox{Inbox: inbox, client: client}
	t.Cleanup(func() { shown.reportFailure(t) })
	return shown
}

func made(t testing.TB, client *restante.Client, inbox *restante.Inbox, err error) *Inbox {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	shown := &Inbox{Inbox: inbox, client: client}
	t.Cleanup(func() {
		if t.Failed() {
			shown.reportFailure(t)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
		defer cancel()
		_ = inbox.Delete(ctx) // The test has passed, even if it has deleted the inbox or the server has ended.
	})
	return shown
}

// Client returns the client of the run: of the server of RESTANTE_URL, or of one that is started for the run.
func Client(t testing.TB) *restante.Client {
	t.Helper()
	client, err := clientOfRun()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// SMTPAddr returns HOST:PORT of the SMTP server for the application under test.
func (i *Inbox) SMTPAddr() string { return i.client.SMTP().Addr() }

// Wait returns the next message that matches, oldest first; never one that this Inbox has returned before.
func (i *Inbox) Wait(t testing.TB, options ...restante.Option) *Message {
	t.Helper()
	return i.WaitN(t, 1, options...)[0]
}

// WaitN returns the next messages that match, oldest first, within one timeout.
func (i *Inbox) WaitN(t testing.TB, count int, options ...restante.Option) []*Message {
	t.Helper()
	found, err := i.WaitForMessages(t.Context(), count, limited(t, options)...)
	var timeout *restante.WaitTimeoutError
	if errors.As(err, &timeout) {
		i.timeouts = append(i.timeouts, timeout)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages := make([]*Message, len(found))
	for index, message := range found {
		messages[index] = &Message{message}
	}
	return messages
}

// ExpectNone waits, and fails the test if a message that matches arrives.
func (i *Inbox) ExpectNone(t testing.TB, within time.Duration, options ...restante.Option) {
	t.Helper()
	if err := i.ExpectNoMessage(t.Context(), within, options...); err != nil {
		t.Fatal(err)
	}
}

// limited ends a wait before `go test -timeout` ends the tests, so that the explanation is shown.
func limited(t testing.TB, options []restante.Option) []restante.Option {
	test, hasDeadline := t.(interface{ Deadline() (time.Time, bool) })
	if !hasDeadline {
		return options
	}
	deadline, isSet := test.Deadline()
	if !isSet {
		return options
	}
	return append([]restante.Option{restante.Limit(time.Until(deadline))}, options...)
}

// Code returns the one-time code of the message. If there is none, the failure shows the text and the numbers in it.
func (m *Message) Code(t testing.TB) string {
	t.Helper()
	code, err := m.Message.Code(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// Link returns the only link that contains a text, or the only link if the text is empty.
func (m *Message) Link(t testing.TB, contains string) string {
	t.Helper()
	link, err := m.Message.Link(contains)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// LinkFunc returns the only link for which a function returns true, for example [regexp.Regexp.MatchString].
func (m *Message) LinkFunc(t testing.TB, matches func(link string) bool) string {
	t.Helper()
	link, err := m.Message.LinkFunc(matches)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// Attachment returns the only attachment with a name, where * stands for any characters, or the only attachment if the
// name is empty. Otherwise the failure lists the names.
func (m *Message) Attachment(t testing.TB, name string) restante.Attachment {
	t.Helper()
	attachment, err := m.Message.Attachment(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return attachment
}

// Check fails the test if the checks of the server find an error in the message: a placeholder that nobody has
// filled, a link that leads nowhere, and more. The failure lists all problems with their lines. The checks with the
// names in ignore are left out. The test goes on.
func (m *Message) Check(t testing.TB, ignore ...string) {
	t.Helper()
	if err := m.Message.Check(t.Context(), ignore...); err != nil {
		t.Error(err)
	}
}

// TOTP returns the current code of an authenticator; see [restante.TOTP].
func TOTP(t testing.TB, secret string) string {
	t.Helper()
	code, err := restante.TOTP(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return code
}
