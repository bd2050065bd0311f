// A message: its code, links, attachments and details, and replying to it.

package restante

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Message is a message in an inbox.
type Message struct {
	MessageFields
	connection *connection
}

// Reply is the content of a reply.
type Reply struct {
	Text, HTML string
}

// numbers finds what looks like a code, for the error if there is none.
var numbers = regexp.MustCompile(`\b\d{4,10}\b`)

// maxNumbers is how many of them the error shows.
const maxNumbers = 5

// isMessage tells whether the JSON of a response is a message.
func isMessage(fields MessageFields) bool { return fields.ID != "" && fields.Links != nil }

// Code returns the code that a person would type: labelled digits, or a labelled code with letters such as LZDG-RMHF.
// If there is none, the error contains the text and the numbers in it; if there are several, it contains all of them.
func (m *Message) Code(ctx context.Context) (string, error) {
	return m.CodeFunc(ctx, func(Code) bool { return true })
}

// CodeFunc returns the only labelled code for which a function returns true, for a message with several codes.
func (m *Message) CodeFunc(ctx context.Context, matches func(code Code) bool) (string, error) {
	details, err := m.Details(ctx)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(slices.Clone(details.Codes), func(code Code) bool { return !matches(code) })
	if len(found) == 1 {
		return found[0].Code, nil
	}
	return "", m.codeError(details.Codes, len(found))
}

// codeError says what there is, if not exactly one code was found.
func (m *Message) codeError(codes []Code, found int) error {
	listed := ""
	for _, code := range codes {
		listed += fmt.Sprintf("\n  %s in the line: %s", code.Code, code.Line)
	}
	switch {
	case found > 1:
		return m.contentError("has %d codes. Choose one with CodeFunc:%s", found, listed)
	case len(codes) > 0:
		return m.contentError("has no code that matches, but:%s", listed)
	}
	text := or(m.Text, m.HTML)
	seen := numbers.FindAllString(text, -1)
	slices.Sort(seen)
	seen = slices.Compact(seen)
	unlabelled := ""
	if len(seen) > 0 {
		unlabelled = fmt.Sprintf(" Its numbers are not labelled as a code: %s. If one is the code, read it from the text.",
			strings.Join(seen[:min(len(seen), maxNumbers)], ", "))
	}
	return m.contentError("has no code.%s Its text:\n%s", unlabelled, text)
}

// LinkText returns the only link whose shown words contain a text, in any case.
func (m *Message) LinkText(ctx context.Context, contains string) (string, error) {
	details, err := m.Details(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	listed := ""
	for _, link := range details.Links {
		if strings.Contains(strings.ToLower(link.Text), strings.ToLower(contains)) {
			found = append(found, link.URL)
		}
		listed += "\n  " + link.URL
		if link.Text != "" {
			listed += fmt.Sprintf(" (%s)", link.Text)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", m.contentError("has %d links with the text %q. Exactly one is needed. Its links:%s",
		len(found), contains, or(listed, " none"))
}

// Link returns the only link that contains a text, or the only link if the text is empty. If there is not exactly one,
// the error lists the links.
func (m *Message) Link(contains string) (string, error) {
	wanted := ""
	if contains != "" {
		wanted = fmt.Sprintf(" that contain %q", contains)
	}
	return m.link(func(link string) bool { return strings.Contains(link, contains) }, wanted)
}

// LinkFunc returns the only link for which a function returns true, for example [regexp.Regexp.MatchString].
func (m *Message) LinkFunc(matches func(link string) bool) (string, error) {
	return m.link(matches, " that match the function")
}

func (m *Message) link(matches func(string) bool, wanted string) (string, error) {
	isExcluded := func(link string) bool { return !matches(link) }
	found := slices.DeleteFunc(slices.Clone(m.Links), isExcluded)
	if len(found) == 1 {
		return found[0], nil
	}
	listed := " none"
	if len(m.Links) > 0 {
		listed = "\n  " + strings.Join(m.Links, "\n  ")
	}
	return "", m.contentError("has %d links%s. Exactly one is needed. Its links:%s", len(found), wanted, listed)
}

func (m *Message) contentError(format string, values ...any) error {
	named := fmt.Sprintf("the message %q from %s ", m.Subject, m.From)
	story := "\n" + m.connection.dashboardLine(m.InboxID)
	return &ContentError{failure{text: named + fmt.Sprintf(format, values...) + story}}
}

// Details returns headers, envelope, all mailboxes, links with their text, and the list of attachments.
func (m *Message) Details(ctx context.Context) (Details, error) {
	return fetch(ctx, m.connection, request{method: http.MethodGet, path: messagePath(m.ID) + "/details"},
		func(details Details) bool { return details.ID != "" })
}

// Raw returns the bytes of the message as received.
func (m *Message) Raw(ctx context.Context) ([]byte, error) { return m.content(ctx, "raw") }

// Page returns the message as an HTML page: its HTML with embedded images, or its text.
func (m *Message) Page(ctx context.Context) (string, error) {
	page, err := m.content(ctx, "page")
	return string(page), err
}

func (m *Message) content(ctx context.Context, part string) ([]byte, error) {
	result, err := m.connection.call(ctx, request{method: http.MethodGet, path: messagePath(m.ID) + "/" + part})
	return result.body, err
}

// Reply replies to the sender from the inbox of the message, the way a mail client does.
func (m *Message) Reply(ctx context.Context, reply Reply) (Sent, error) {
	details, err := m.Details(ctx)
	if err != nil {
		return Sent{}, err
	}
	to := details.Envelope.From
	for _, mailbox := range slices.Concat(details.ReplyTo, details.From) {
		if mailbox.Address != "" {
			to = mailbox.Address
			break
		}
	}
	subject := details.header("Subject")
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	outgoing := Outgoing{To: to, Subject: subject, Text: reply.Text, HTML: reply.HTML, InReplyTo: m.ID}
	return send(ctx, m.connection, details.InboxID, outgoing)
}

// Forward forwards the message as it is to an address, from its inbox: for a look at it in a real mail client. The
// server must be allowed to send mail.
func (m *Message) Forward(ctx context.Context, to string) (Sent, error) {
	body := map[string]string{"to": to}
	return fetch(ctx, m.connection, request{method: http.MethodPost, path: messagePath(m.ID) + "/forward", body: body},
		func(sent Sent) bool { return sent.ID != "" })
}

// header returns the value of a header field, or nothing.
func (d Details) header(name string) string {
	for _, header := range d.Headers {
		if strings.EqualFold(header.Name, name) {
			return header.Value
		}
	}
	return ""
}

// Delete deletes the message.
func (m *Message) Delete(ctx context.Context) error {
	_, err := m.connection.call(ctx, request{method: http.MethodDelete, path: messagePath(m.ID)})
	return err
}
