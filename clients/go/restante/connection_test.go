package restante

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAClientDoesNotNeedTheDefaultTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(answer, inboxJSON)
	}))
	t.Cleanup(server.Close)
	usual := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = usual })
	// As mocks of HTTP do.
	http.DefaultTransport = &script{answers: []answer{reply(404)}}
	client, err := New(Config{URL: server.URL, APIKey: "rst_live_secret"})
	if err != nil {
		t.Fatal(err)
	}
	if inbox, err := client.Inbox(t.Context(), "k3v9"); err != nil || inbox.ID != "k3v9" {
		t.Error(inbox, err)
	}
}
