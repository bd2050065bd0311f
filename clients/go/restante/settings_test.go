package restante

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const secret = "rst_live_secret00000000000000000000"

func TestAMistakeInASettingIsAnErrorThatNamesIt(t *testing.T) {
	for _, test := range []struct{ name, value string }{
		{"RESTANTE_URL", "the server"},
		{"RESTANTE_URL", "http://"},
		{"RESTANTE_URL", "http://localhost:99999"},
		{"RESTANTE_URL", "http://[::1"},
		{"RESTANTE_URL", "http://exa\x01mple:1"},
		{"RESTANTE_API_KEY", secret + "\n"},
		{"RESTANTE_API_KEY", "“" + secret},
		{"RESTANTE_TIMEOUT", "soon"},
		{"RESTANTE_TIMEOUT", "NaN"},
		{"RESTANTE_TIMEOUT", "-1"},
		{"RESTANTE_SMTP", "localhost:99999"},
		{"RESTANTE_SMTP", "localhost:smtp"},
		{"RESTANTE_SMTP", "localhost"},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Setenv("RESTANTE_URL", "http://localhost:8025")
			t.Setenv("RESTANTE_API_KEY", secret)
			t.Setenv(test.name, test.value)
			_, err := New(Config{})
			named := test.name
			if named == "RESTANTE_URL" {
				named = test.value
			}
			wantError[Error](t, err, named)
			if strings.Contains(err.Error(), "secret") {
				t.Error("it shows the key:", err)
			}
		})
	}
}

func TestANegativeTimeIsAnError(t *testing.T) {
	_, _, inbox := scripted(t, reply(500))
	_, err := New(Config{URL: "http://localhost:1", Timeout: -time.Second})
	wantError[Error](t, err, "negative")
	_, err = inbox.WaitForMessage(t.Context(), Timeout(-2*time.Second))
	wantError[Error](t, err, "negative")
	wantError[Error](t, inbox.ExpectNoMessage(t.Context(), -time.Second), "negative")
}

func TestTheSettingsOfTheEnvironment(t *testing.T) {
	t.Setenv("RESTANTE_URL", "http://mail.test:8025/")
	t.Setenv("RESTANTE_TIMEOUT", "1.5")
	client, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	found := fmt.Sprint(client.URL(), client.SMTP().Addr(), client.MailDomain(), client.config.Timeout)
	if found != fmt.Sprint("http://mail.test:8025", "mail.test:1025", "restante.example.com", 1500*time.Millisecond) {
		t.Error(found)
	}
	t.Setenv("RESTANTE_SMTP", "[::1]:2525")
	if client, err = New(Config{}); err != nil || client.SMTP() != (SMTP{"::1", 2525}) {
		t.Error(client, err)
	}
}

func TestAnotherServerIsUnreachable(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
	}{
		{200, "<!doctype html><title>Shop</title>"},
		{200, `{"name": "shop"}`},
		{200, "[1, 2]"},
		{200, "null"},
		{204, ""},
		{302, ""},
		{401, "<h1>Who are you?</h1>"},
		{404, "<h1>Not found: shop</h1>"},
		{501, "<h1>Unsupported method</h1>"},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			shop := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
				answer.WriteHeader(test.status)
				_, _ = answer.Write([]byte(test.body))
			}))
			defer shop.Close()
			client, err := New(Config{URL: shop.URL, APIKey: secret})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.CreateInbox(t.Context())
			wantError[*UnreachableError](t, err, shop.URL, fmt.Sprint(test.status), test.body)
		})
	}
}

func TestAProgramThatIsNotRestante(t *testing.T) {
	for script, part := range map[string]string{
		"echo Hello":            "not Restante",
		"echo '{}'":             "not Restante",
		"echo 5":                "not Restante",
		"echo disk is full >&2": "disk is full",
	} {
		t.Run(script, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "restante")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("RESTANTE_BIN", program)
			t.Setenv("RESTANTE_URL", "")
			_, err := New(Config{})
			wantError[*UnreachableError](t, err, part)
		})
	}
}

func TestNoServerToStart(t *testing.T) {
	t.Setenv("RESTANTE_URL", "")
	t.Setenv("RESTANTE_BIN", "")
	t.Setenv("PATH", "")
	_, err := New(Config{})
	wantError[*UnreachableError](t, err, "RESTANTE_BIN", "cargo install", "RESTANTE_URL")
	t.Setenv("RESTANTE_BIN", "/does/not/exist")
	_, err = New(Config{})
	wantError[*UnreachableError](t, err, "/does/not/exist")
}

func TestTheLogOfTheOwnServerIsInTheErrorWhenItHasDied(t *testing.T) {
	t.Setenv("RESTANTE_URL", "")
	// In a directory of its own, because the next start of any server removes those of killed ones.
	t.Setenv("TMPDIR", t.TempDir())
	client, err := New(Config{Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.server.kill(); err != nil {
		t.Fatal(err)
	}
	<-client.server.ended
	if err := os.WriteFile(client.config.ServerLog, []byte("the disk is full"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateInbox(t.Context())
	wantError[*UnreachableError](t, err, "the disk is full")
	if strings.Contains(err.Error(), "restante serve") {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
