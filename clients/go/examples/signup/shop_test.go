package signup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)

func TestSignUp(t *testing.T) {
	t.Parallel()
	inbox := restantetest.New(t)
	shop := start(t, inbox.SMTPAddr())

	get(t, shop+"/sign-up?email="+url.QueryEscape(inbox.Address))

	mail := inbox.Wait(t, restante.Subject("confirm"))
	if page := get(t, mail.Link(t, "/confirm")); page != "Welcome, "+inbox.Address {
		t.Error(page)
	}
}

func TestSignUpWithTheCode(t *testing.T) {
	t.Parallel()
	inbox := restantetest.New(t)
	shop := start(t, inbox.SMTPAddr())

	get(t, shop+"/sign-up?email="+url.QueryEscape(inbox.Address))

	code := inbox.Wait(t).Code(t)
	page := get(t, shop+"/code?email="+url.QueryEscape(inbox.Address)+"&code="+code)
	if page != "Welcome, "+inbox.Address {
		t.Error(page)
	}
}

// start starts the application with an SMTP server, and returns its address.
func start(t *testing.T, smtp string) string {
	shop := &Shop{SMTP: smtp}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	shop.URL = server.URL
	return server.URL
}

func get(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", address, response.StatusCode, page, err)
	}
	return string(page)
}
