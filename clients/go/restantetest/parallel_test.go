package restantetest_test

import (
	"fmt"
	"net/smtp"
	"testing"
	"time"

	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)

// send is the application: it sends a message without TLS.
func send(server, to, subject, text string) error {
	session, err := smtp.Dial(server)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Mail("shop@app.example"); err != nil {
		return err
	}
	if err := session.Rcpt(to); err != nil {
		return err
	}
	data, err := session.Data()
	if err != nil {
		return err
	}
	fmt.Fprintf(data, "From: shop@app.example\r\nTo: %s\r\nSubject: %s\r\n\r\n%s\r\n", to, subject, text)
	return data.Close()
}

func TestForty(t *testing.T) {
	for number := range 40 {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			inbox := restantetest.New(t)
			code := fmt.Sprint(100_000 + number)
			sent := make(chan error, 1)
			go func() {
				sent <- send(inbox.SMTPAddr(), inbox.Address, "Confirm your account", "Your code is "+code+".")
			}()
			if found := inbox.Wait(t, restante.Subject("confirm")).Code(t); found != code {
				t.Errorf("found %s, not %s", found, code)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			inbox.ExpectNone(t, 10*time.Millisecond)
		})
	}
}

func TestTheInboxOfAPassedTestIsDeleted(t *testing.T) {
	var address string
	t.Run("inner", func(t *testing.T) { address = restantetest.New(t).Address })
	_, err := restantetest.Client(t).Inbox(t.Context(), address)
	if _, isMissing := err.(*restante.NotFoundError); !isMissing {
		t.Error(err)
	}
}
