package restantetest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)

func TestCheckListsTheProblems(t *testing.T) {
	t.Parallel()
	inbox := restantetest.New(t)
	if err := send(inbox.SMTPAddr(), inbox.Address, "Welcome", "Hello {{name}}"); err != nil {
		t.Fatal(err)
	}
	mail := inbox.Wait(t)
	err := mail.Message.Check(t.Context())
	var failed *restante.ContentError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	for _, part := range []string{`the message "Welcome" from `, "\n  error placeholder: ", "Hello {{name}}"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	// This mailer writes no Date and no Message-ID.
	mail.Check(t, "placeholder", "headers")
}

func TestForwardSendsTheMessageAsItIs(t *testing.T) {
	t.Parallel()
	inbox, colleague := restantetest.New(t), restantetest.New(t)
	if err := send(inbox.SMTPAddr(), inbox.Address, "Welcome", "Hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := inbox.Wait(t).Forward(t.Context(), colleague.Address); err != nil {
		t.Fatal(err)
	}
	details, err := colleague.Wait(t, restante.Subject("Welcome"), restante.HeaderContains("Resent-From", inbox.ID)).
		Details(t.Context())
	if err != nil || details.From[0].Address != "shop@app.example" {
		t.Errorf("%v: %+v", err, details)
	}
}
