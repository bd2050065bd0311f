// Package senders sends mail with Amazon's SDK for Go, which is given the server by the variables that it knows.
package senders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)

const (
	subject = "Grüße 🐌"
	text    = "Your code is 482913."
	html    = `<p>Grüße <img src="cid:logo"> <a href="https://app.example/in">in</a>`
	file    = "größe.bin"
)

var (
	image       = []byte("\x89PNG\r\n\x1a\n")
	bytesOfFile = everyByte()
)

func everyByte() []byte {
	all := []byte("a\nb\r\nc\rd")
	for value := range 256 {
		all = append(all, byte(value))
	}
	return all
}

// sdk is one version of the API. Version 1 has no batch, and its templates are not answered.
type sdk struct {
	simple   func(ctx context.Context, to, subject string) error
	whole    func(ctx context.Context, to, cc, bcc string) error
	batch    func(ctx context.Context, to []string) error
	template func(ctx context.Context, to, variables string) error
}

// TestMain starts the server that rejects mail for other domains.
func TestMain(m *testing.M) {
	os.Setenv("RESTANTE_ACCEPT_DOMAINS", "shop.example")
	os.Exit(m.Run())
}

func TestVersion2(t *testing.T) {
	check(t, version2, map[string]func(*testing.T, sdk){
		"plain": plain, "whole": whole, "batch": batch, "template": template, "refused": refused, "retry": retry,
	})
}

func TestVersion1(t *testing.T) {
	check(t, version1, map[string]func(*testing.T, sdk){
		"plain": plain, "whole": whole, "refused": refused, "retry": retry,
	})
}

func check(t *testing.T, connect func(*testing.T) sdk, cases map[string]func(*testing.T, sdk)) {
	server := restantetest.Client(t).URL()
	t.Setenv("AWS_ENDPOINT_URL_SESV2", server+"/send/ses")
	t.Setenv("AWS_ENDPOINT_URL_SES", server+"/send/ses")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	made := connect(t)
	for name, run := range cases {
		t.Run(name, func(t *testing.T) { run(t, made) })
	}
}

func plain(t *testing.T, sdk sdk) {
	inbox := restantetest.New(t)
	sent(t, sdk.simple(t.Context(), inbox.Address, "Plain"))
	mail := inbox.Wait(t)
	if mail.Subject != "Plain" || mail.Text != "Hello" || mail.HTML != "" {
		t.Errorf("%+v", mail.MessageFields)
	}
}

func whole(t *testing.T, sdk sdk) {
	to, cc, bcc := restantetest.New(t), restantetest.New(t), restantetest.New(t)
	sent(t, sdk.whole(t.Context(), to.Address, cc.Address, bcc.Address))
	for _, inbox := range []*restantetest.Inbox{to, cc, bcc} {
		mail := inbox.Wait(t)
		details, err := mail.Details(t.Context())
		sent(t, err)
		if mail.Subject != subject || mail.OTP != "482913" || mail.Link(t, "/in") != "https://app.example/in" {
			t.Errorf("%+v", mail.MessageFields)
		}
		equal(t, "via", details.Envelope.Via, "ses")
		equal(t, "from", mailbox(details.From), "Zoë <shop@app.example>")
		equal(t, "to", mailbox(details.To), "Ada Lövelace <"+to.Address+">")
		equal(t, "cc", mailbox(details.Cc), " <"+cc.Address+">")
		equal(t, "reply-to", mailbox(details.ReplyTo), " <help@app.example>")
		equal(t, "own header", header(details, "X-Order"), "4711")
		if slices.ContainsFunc(details.Headers, func(one restante.Header) bool {
			return strings.EqualFold(one.Name, "Bcc") || strings.Contains(one.Value, bcc.Address)
		}) {
			t.Errorf("the blind copy is in the header: %+v", details.Headers)
		}
		attachments(t, mail)
	}
}

func attachments(t *testing.T, mail *restantetest.Message) {
	found, err := mail.Attachments(t.Context())
	sent(t, err)
	equal(t, "number of attachments", len(found), 2)
	for _, one := range found {
		name, content := one.Filename, bytesOfFile
		wanted := file
		if one.Inline {
			name, content, wanted = one.ContentID, image, "logo"
		}
		equal(t, "name", name, wanted)
		if !bytes.Equal(one.Content, content) {
			t.Errorf("%s has other bytes: %q", name, one.Content)
		}
	}
}

func batch(t *testing.T, sdk sdk) {
	one, other := restantetest.New(t), restantetest.New(t)
	sent(t, sdk.batch(t.Context(), []string{one.Address, other.Address}))
	// An entry has no subject of its own: it is a variable of the template.
	for number, inbox := range []*restantetest.Inbox{one, other} {
		variables := fmt.Sprintf(`{"template":"{{subject}}","variables":{"subject":"Batch %d"}}`, number)
		equal(t, "text", inbox.Wait(t).Text, variables)
	}
}

func template(t *testing.T, sdk sdk) {
	inbox := restantetest.New(t)
	sent(t, sdk.template(t.Context(), inbox.Address, `{"code": "482913"}`))
	var shown struct {
		Template  string
		Variables map[string]string
	}
	sent(t, json.Unmarshal([]byte(inbox.Wait(t).Text), &shown))
	equal(t, "template", shown.Template, "welcome")
	equal(t, "variable", shown.Variables["code"], "482913")
}

func refused(t *testing.T, sdk sdk) {
	inbox := restantetest.New(t)
	err := sdk.simple(t.Context(), inbox.ID+"@elsewhere.example", "Refused")
	var response *http.ResponseError
	if !errors.As(err, &response) || response.HTTPStatusCode() != 400 {
		t.Fatal(err)
	}
	contains(t, err.Error(), "MessageRejected", "relay not permitted")
	explanation, err := inbox.Explain(t.Context())
	sent(t, err)
	contains(t, explanation.Summary, "@elsewhere.example was rejected", "550 5.7.1")
}

// retry shows the SDK's own retry.
func retry(t *testing.T, sdk sdk) {
	inbox := restantetest.New(t)
	_, err := inbox.SetFaults(t.Context(), restante.Fault{At: "data", Do: "defer"})
	sent(t, err)
	sent(t, sdk.simple(t.Context(), inbox.Address, "Again"))
	equal(t, "subject", inbox.Wait(t).Subject, "Again")
	faults, err := inbox.Faults(t.Context())
	sent(t, err)
	equal(t, "deferred", faults[0].Used, 1)
}

func mailbox(all []restante.Mailbox) string {
	if len(all) != 1 {
		return ""
	}
	return all[0].Name + " <" + all[0].Address + ">"
}

func header(details restante.Details, name string) string {
	for _, one := range details.Headers {
		if strings.EqualFold(one.Name, name) {
			return one.Value
		}
	}
	return ""
}

func sent(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in: %s", part, text)
		}
	}
}

func equal[T comparable](t *testing.T, what string, found, wanted T) {
	t.Helper()
	if found != wanted {
		t.Errorf("%s: %v, not %v", what, found, wanted)
	}
}
