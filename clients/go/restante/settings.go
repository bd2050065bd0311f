// The settings of a client: from the code, else from the environment. A mistake is an error that names the setting.

package restante

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTimeout    = 30 * time.Second
	defaultSMTPPort   = 1025
	defaultMailDomain = "restante.example.com"
)

// SMTP is the address of the SMTP server to which the application under test sends its mail.
type SMTP struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// Addr returns HOST:PORT, for net/smtp.
func (s SMTP) Addr() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Config has the settings of a client. A zero field is taken from the environment.
type Config struct {
	// URL is the address of the server (RESTANTE_URL). Without one, the client starts its own server.
	URL string
	// APIKey is the key (RESTANTE_API_KEY).
	APIKey string
	// Timeout is how long a wait lasts (RESTANTE_TIMEOUT, in seconds); the default is 30 seconds.
	Timeout time.Duration
	// SMTP is the SMTP server of URL (RESTANTE_SMTP, HOST:PORT); the default is port 1025 of the same host.
	SMTP SMTP
	// MailDomain is the domain of its inboxes (RESTANTE_MAIL_DOMAIN).
	MailDomain string
	// MailpitURL is the base URL for a test helper of Mailpit (RESTANTE_MAILPIT_URL); the default is /mailpit below URL.
	MailpitURL string
	// ServerLog is the log file of a server that was started for this run. Its end is shown if the server has died.
	ServerLog string
}

// completed returns the settings with those of the environment.
func (c Config) completed() (Config, error) {
	c.URL = or(c.URL, os.Getenv("RESTANTE_URL"))
	c.APIKey = or(c.APIKey, os.Getenv("RESTANTE_API_KEY"))
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r < '!' || r > '~' }) {
		return c, mistake("RESTANTE_API_KEY contains a space or another character that no key has")
	}
	var err error
	if c.Timeout, err = timeout(c.Timeout); err != nil || c.URL == "" {
		return c, err
	}
	server, err := serverURL(c.URL)
	if err != nil {
		return c, err
	}
	c.URL = strings.TrimRight(c.URL, "/")
	c.MailDomain = or(c.MailDomain, os.Getenv("RESTANTE_MAIL_DOMAIN"), defaultMailDomain)
	c.MailpitURL = or(c.MailpitURL, os.Getenv("RESTANTE_MAILPIT_URL"), c.URL+"/mailpit")
	if c.SMTP == (SMTP{}) {
		c.SMTP, err = smtpAddress(server)
	}
	return c, err
}

func timeout(given time.Duration) (time.Duration, error) {
	text := os.Getenv("RESTANTE_TIMEOUT")
	switch {
	case given < 0:
		return 0, mistake("the timeout must not be negative: %s", given)
	case given > 0:
		return given, nil
	case text == "":
		return defaultTimeout, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0) || seconds > math.MaxInt32 {
		return 0, mistake("RESTANTE_TIMEOUT must be a number of seconds, not %q", text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func serverURL(text string) (*url.URL, error) {
	server, err := url.Parse(text)
	switch {
	case err != nil || server.Scheme != "http" && server.Scheme != "https":
		return nil, misaddressed(
			"the address of the server (RESTANTE_URL) must start with http:// or https://, not: %s", text)
	case server.User != nil:
		return nil, misaddressed("the address of the server must not contain a user or a password")
	case server.Hostname() == "" || server.Port() != "" && !isPort(server.Port()):
		return nil, misaddressed("the address of the server needs a host, and a port up to 65535: %s", text)
	}
	return server, nil
}

func smtpAddress(server *url.URL) (SMTP, error) {
	text := os.Getenv("RESTANTE_SMTP")
	if text == "" {
		return SMTP{server.Hostname(), defaultSMTPPort}, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || !isPort(port) {
		return SMTP{}, mistake("RESTANTE_SMTP must be HOST:PORT, not %q", text)
	}
	number, _ := strconv.Atoi(port) // isPort has checked it.
	return SMTP{host, number}, nil
}

func isPort(text string) bool {
	number, err := strconv.ParseUint(text, 10, 16)
	return err == nil && number > 0
}

func mistake(format string, values ...any) error {
	return &failure{text: fmt.Sprintf(format, values...)}
}

func misaddressed(format string, values ...any) error {
	return &UnreachableError{failure{text: fmt.Sprintf(format, values...)}}
}

// or returns the first value that is not empty.
func or(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
