// Package launch says how a server for tests is started: which program, with which arguments and environment, and what
// it prints when it is ready.
package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Greeting is the line that the server prints when it is ready.
type Greeting struct {
	URL        string `json:"url"`
	MailDomain string `json:"mail_domain"`
	// MailpitURL is empty without a listener for Mailpit's API.
	MailpitURL string `json:"mailpit_url"`
	// APIKey is empty if the key was given to the server.
	APIKey string `json:"api_key"`
	PID    int    `json:"pid"`
	SMTP   struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	} `json:"smtp"`
}

// defaults differ from those of `restante serve`: free ports, more waits, and no TLS, because net/smtp would not trust
// the server's certificate.
var defaults = map[string]string{
	"RESTANTE_HTTP_LISTEN":         "127.0.0.1:0",
	"RESTANTE_SMTP_LISTEN":         "127.0.0.1:0",
	"RESTANTE_MAILPIT_LISTEN":      "127.0.0.1:0",
	"RESTANTE_SMTP_STARTTLS":       "off",
	"RESTANTE_SMTP_PLAINTEXT_AUTH": "true",
	"RESTANTE_WAITS_PER_KEY":       "128",
}

// notPassedOn would connect the server to the data or the URL of another one.
var notPassedOn = []string{"RESTANTE_DATABASE", "RESTANTE_BASE_URL", "RESTANTE_DATA_DIR"}

// Binary returns the path of the server's program: that of RESTANTE_BIN, else `restante` on PATH.
func Binary() (string, error) {
	if chosen := os.Getenv("RESTANTE_BIN"); chosen != "" {
		if _, err := os.Stat(chosen); err != nil {
			return "", fmt.Errorf("RESTANTE_BIN is set to a file that does not exist: %s", chosen)
		}
		return filepath.Abs(chosen)
	}
	found, err := exec.LookPath("restante")
	if err != nil {
		return "", errors.New("there is no Restante server to start: RESTANTE_BIN is not set, and `restante` is not " +
			"on PATH. Install it with `cargo install --locked restante` or from a release, or set RESTANTE_URL to a " +
			"running server")
	}
	return found, nil
}

// Arguments are those of the server's program.
func Arguments(flags ...string) []string {
	arguments := []string{"serve", "--print-json", "--exit-with-stdin"}
	if mayOpenMailpit(flags) {
		arguments = append(arguments, "--mailpit-api=open")
	}
	return append(arguments, flags...)
}

// mayOpenMailpit is whether helpers for Mailpit, which have no key, may read mail: only on this machine.
func mayOpenMailpit(flags []string) bool {
	set := maps.Clone(defaults)
	maps.Copy(set, given())
	address := set["RESTANTE_HTTP_LISTEN"]
	isLocal := strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "[::1]")
	isSet := func(flag string) bool {
		return strings.HasPrefix(flag, "--http-listen") || strings.HasPrefix(flag, "--mailpit-api")
	}
	return isLocal && set["RESTANTE_MAILPIT_API"] == "" && !slices.ContainsFunc(flags, isSet)
}

// Environment is this process's environment for a server with its data in a directory. An empty key means that of the
// environment, or a new one.
func Environment(dataDir, apiKey string) []string {
	set := maps.Clone(defaults)
	maps.Copy(set, given())
	if set["RESTANTE_OUTBOUND"] == "" && set["RESTANTE_RELAY"] == "" {
		// A test must not send mail to the internet by mistake.
		set["RESTANTE_OUTBOUND"] = "off"
	}
	if set["RESTANTE_OUTBOUND"] == "off" && set["RESTANTE_ACCEPT_DOMAINS"] == "" {
		// It listens on loopback and never sends, so it can accept mail to every address of the application.
		set["RESTANTE_ACCEPT_DOMAINS"] = "*"
	}
	set["RESTANTE_DATA_DIR"] = dataDir
	if apiKey != "" {
		set["RESTANTE_API_KEY"] = apiKey
	}
	environment := make([]string, 0, len(set))
	for name, value := range set {
		environment = append(environment, name+"="+value)
	}
	return environment
}

// given is what is passed on of this process's environment. An empty setting counts as absent.
func given() map[string]string {
	set := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, found := strings.Cut(variable, "=")
		isEmptySetting := value == "" && strings.HasPrefix(name, "RESTANTE_")
		if found && name != "" && !isEmptySetting && !slices.Contains(notPassedOn, name) {
			set[name] = value
		}
	}
	return set
}

// Read returns the greeting in a line that the program has printed.
func Read(line []byte, apiKey string) (Greeting, error) {
	var greeting Greeting
	if json.Unmarshal(line, &greeting) != nil || greeting.URL == "" || greeting.SMTP.Port == 0 {
		text := strings.TrimSpace(string(line[:min(len(line), 200)]))
		return greeting, fmt.Errorf("the program in RESTANTE_BIN is not Restante. It printed: %s", text)
	}
	if greeting.APIKey == "" {
		greeting.APIKey = apiKey
	}
	if greeting.APIKey == "" {
		greeting.APIKey = os.Getenv("RESTANTE_API_KEY")
	}
	return greeting, nil
}
