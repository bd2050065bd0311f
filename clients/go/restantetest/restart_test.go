//go:build restart

package restantetest_test

import (
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"testing"
	"time"

	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)

// TestThroughARestart is forty tests, in whose middle tests/restart/run restarts PostgreSQL.
func TestThroughARestart(t *testing.T) {
	for number := range 40 {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			// The last clean-up, after those that delete the inboxes.
			t.Cleanup(func() {
				if !t.Failed() {
					note(t, number, began)
				}
			})
			for round := range 3 {
				code := fmt.Sprint(100_000 + number*10 + round)
				inbox := restantetest.New(t)
				sent := make(chan error, 1)
				go func() { sent <- sendUntilAccepted(inbox.SMTPAddr(), inbox.Address, code) }()
				if found := inbox.Wait(t, restante.Subject("confirm")).Code(t); found != code {
					t.Errorf("found %s, not %s", found, code)
				}
				if err := <-sent; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// sendUntilAccepted is the application. As a mail server does, it repeats what was not accepted for now.
func sendUntilAccepted(server, to, code string) error {
	for {
		err := send(server, to, "Confirm your account", "Your code is "+code+".")
		var refused *textproto.Error
		if err == nil || errors.As(err, &refused) && refused.Code >= 500 {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// note appends the test that has passed, and its times, to the file that tests/restart/run watches.
func note(t *testing.T, number int, began time.Time) {
	passed, err := os.OpenFile(os.Getenv("PASSED"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer passed.Close()
	fmt.Fprintln(passed, number, began.UnixMilli(), time.Now().UnixMilli())
}
