// The part of an application that sends mail.

package scenarios

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strconv"
	"strings"
)

const boundary = "part-of-the-message"

// compose writes the message of a step.
func compose(step map[string]any) []byte {
	from, to := sender(step), text(step, "to")
	var message strings.Builder
	header := func(name, value string) { fmt.Fprintf(&message, "%s: %s\r\n", name, value) }
	header("From", from)
	header("To", to)
	header("Subject", text(step, "subject"))
	for name, value := range object(step["headers"]) {
		header(name, value.(string))
	}
	header("MIME-Version", "1.0")
	kind := "alternative"
	if step["attachments"] != nil {
		kind = "mixed"
	}
	header("Content-Type", fmt.Sprintf("multipart/%s; boundary=%q", kind, boundary))
	message.WriteString("\r\n")
	part := func(disposition, content string) {
		fmt.Fprintf(&message, "--%s\r\n%sContent-Transfer-Encoding: base64\r\n\r\n%s\r\n", boundary, disposition, content)
	}
	if body, html := text(step, "text"), text(step, "html"); body != "" || html == "" {
		part("Content-Type: text/plain; charset=utf-8\r\n", encode(body))
	}
	if html := text(step, "html"); html != "" {
		part("Content-Type: text/html; charset=utf-8\r\n", encode(html))
	}
	for _, item := range list(step["attachments"]) {
		attachment := object(item)
		part(fmt.Sprintf("Content-Type: %s\r\nContent-Disposition: attachment; filename=%q\r\n",
			attachment["content_type"], attachment["filename"]), attachment["base64"].(string))
	}
	fmt.Fprintf(&message, "--%s--\r\n", boundary)
	return []byte(message.String())
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func sender(step map[string]any) string {
	if from := text(step, "from"); from != "" {
		return from
	}
	return "sender@app.example"
}

// deliver sends a message without TLS, and returns the reply that decided.
func deliver(server string, step map[string]any) (string, error) {
	err := submit(server, step)
	var refused *textproto.Error
	switch {
	case err == nil:
		return "250", nil
	case errors.As(err, &refused):
		return strconv.Itoa(refused.Code) + " " + refused.Msg, nil
	}
	return "", err
}

func submit(server string, step map[string]any) error {
	from, err := mail.ParseAddress(sender(step))
	if err != nil {
		return err
	}
	session, err := smtp.Dial(server)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Mail(from.Address); err != nil {
		return err
	}
	if err := session.Rcpt(text(step, "to")); err != nil {
		return err
	}
	data, err := session.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write(compose(step)); err != nil {
		return err
	}
	return data.Close()
}

// deliverOverTLS fails to send a message, because the certificate is not trusted.
func deliverOverTLS(server, to string) error {
	session, err := smtp.Dial(server)
	if err != nil {
		return err
	}
	defer session.Close()
	host, _, _ := strings.Cut(server, ":")
	var untrusted *tls.CertificateVerificationError
	if err := session.StartTLS(&tls.Config{ServerName: host}); !errors.As(err, &untrusted) {
		return fmt.Errorf("the certificate for the mail to %s was trusted: %w", to, err)
	}
	return nil
}

func text(step map[string]any, name string) string {
	value, _ := step[name].(string)
	return value
}
