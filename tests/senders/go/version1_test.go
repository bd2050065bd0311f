package senders

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ses"
	"github.com/aws/aws-sdk-go-v2/service/ses/types"
)

// version1 is SES with the API of version 1. It has no attachments, so the application composes such a message.
func version1(t *testing.T) sdk {
	settings, err := config.LoadDefaultConfig(t.Context())
	sent(t, err)
	client := ses.NewFromConfig(settings)
	content := func(text string) *types.Content { return &types.Content{Data: aws.String(text)} }
	return sdk{
		simple: func(ctx context.Context, to, subject string) error {
			_, err := client.SendEmail(ctx, &ses.SendEmailInput{
				Source:      aws.String("shop@app.example"),
				Destination: &types.Destination{ToAddresses: []string{to}},
				Message:     &types.Message{Subject: content(subject), Body: &types.Body{Text: content("Hello")}},
			})
			return err
		},
		whole: func(ctx context.Context, to, cc, bcc string) error {
			_, err := client.SendRawEmail(ctx, &ses.SendRawEmailInput{
				RawMessage: &types.RawMessage{Data: composed(t, to, cc, bcc)},
			})
			return err
		},
	}
}

func composed(t *testing.T, to, cc, bcc string) []byte {
	var message bytes.Buffer
	parts := multipart.NewWriter(&message)
	word := func(text string) string { return mime.QEncoding.Encode("utf-8", text) }
	fmt.Fprintf(&message, "From: %s <shop@app.example>\r\nTo: %s <%s>\r\nCc: %s\r\nBcc: %s\r\n",
		word("Zoë"), word("Ada Lövelace"), to, cc, bcc)
	fmt.Fprintf(&message, "Reply-To: help@app.example\r\nSubject: %s\r\nX-Order: 4711\r\nMIME-Version: 1.0\r\n"+
		"Content-Type: multipart/mixed; boundary=%s\r\n\r\n", word(subject), parts.Boundary())
	add := func(contentType, disposition string, content []byte) {
		part, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type": {contentType}, "Content-Disposition": {disposition}, "Content-Id": {"<logo>"},
			"Content-Transfer-Encoding": {"base64"},
		})
		sent(t, err)
		fmt.Fprint(part, base64.StdEncoding.EncodeToString(content))
	}
	add("text/plain; charset=utf-8", "inline", []byte(text))
	add("text/html; charset=utf-8", "inline", []byte(html))
	add("image/png", "inline; filename=logo.png", image)
	named := mime.FormatMediaType("attachment", map[string]string{"filename": file})
	add("application/octet-stream", named, bytesOfFile)
	sent(t, parts.Close())
	return message.Bytes()
}
