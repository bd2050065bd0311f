package restante_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/restante/restante/clients/go/restante"
)

func TestTheDashboardShowsTheLabel(t *testing.T) {
	t.Parallel()
	server, err := restante.StartServer(restante.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := restante.New(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	label := "sign up › Grüße 100%"
	inbox, err := client.CreateInbox(t.Context(), restante.Label(label+strings.Repeat("🐌", 300)))
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	browser := http.Client{Jar: jar}
	form := url.Values{"secret": {server.Config().APIKey}, "next": {"/inboxes/" + inbox.ID}}
	signIn, _ := http.NewRequest(http.MethodPost, client.URL()+"/sign-in", strings.NewReader(form.Encode()))
	signIn.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	signIn.Header.Set("Origin", client.URL())
	response, err := browser.Do(signIn)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(page), label+"🐌") {
		t.Errorf("%v: no label in %s", err, page)
	}
}
