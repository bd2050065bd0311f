// A server for tests that this process starts: `restante serve --for-tests` has the ports, the preset and the data. It
// stops when this process ends, even if that is killed.

package restante

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	maxStart = 30 * time.Second
	maxStop  = 15 * time.Second
)

// ServerConfig has the settings of a server to start. It also gets the environment: RESTANTE_SMTP_LISTEN=127.0.0.1:1025
// sets a fixed port.
type ServerConfig struct {
	// APIKey is the key of its default project. By default it is RESTANTE_API_KEY, or a new one.
	APIKey string
	// DataDir is the directory of its data, which is kept. By default it is a temporary one, which is removed.
	DataDir string
	// Flags are additional flags of `restante serve --for-tests`.
	Flags []string
}

// Server is a server that this process has started.
type Server struct {
	config Config
	pid    int
	stdin  io.Closer
	ended  chan struct{}
	kill   func() error
	stop   func() error
}

// greeting is the line that the server prints when it is ready.
type greeting struct {
	URL        string
	SMTP       SMTP
	MailDomain string `json:"mail_domain"`
	MailpitURL string `json:"mailpit_url"`
	APIKey     string `json:"api_key"`
	Log        string
	PID        int
}

// StartServer starts a server. Close stops it; without that, it stops with this process.
func StartServer(config ServerConfig) (*Server, error) {
	program, err := program()
	if err != nil {
		return nil, notStarted(err)
	}
	arguments := append([]string{"serve", "--for-tests"}, config.Flags...)
	if config.DataDir != "" {
		arguments = append(arguments, "--data-dir", config.DataDir)
	}
	command := exec.Command(program, arguments...)
	if config.APIKey != "" {
		command.Env = append(os.Environ(), "RESTANTE_API_KEY="+config.APIKey)
	}
	server, err := start(command)
	if err != nil {
		return nil, notStarted(err)
	}
	return server, nil
}

// program returns the path of the server's program: that of RESTANTE_BIN, else `restante` on PATH.
func program() (string, error) {
	chosen := os.Getenv("RESTANTE_BIN")
	if chosen == "" {
		found, err := exec.LookPath("restante")
		if err != nil {
			err = errors.New("there is no Restante server to start: RESTANTE_BIN is not set, and `restante` is not on " +
				"PATH. Install it with `cargo install --locked restante` or from a release, or set RESTANTE_URL to a " +
				"running server")
		}
		return found, err
	}
	if _, err := os.Stat(chosen); err != nil {
		return "", fmt.Errorf("RESTANTE_BIN is set to a file that does not exist: %s", chosen)
	}
	return filepath.Abs(chosen)
}

func start(command *exec.Cmd) (*Server, error) {
	var reason bytes.Buffer
	command.Stderr = &reason
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(maxStart, func() { _ = command.Process.Kill() })
	line, _ := bufio.NewReader(stdout).ReadBytes('\n') // Without a line, its reason is on stderr.
	late.Stop()
	var said greeting
	if json.Unmarshal(line, &said) != nil || said.URL == "" || said.SMTP.Port == 0 {
		_ = command.Process.Kill()
		_ = command.Wait()
		if len(line) > 0 {
			text := strings.TrimSpace(string(line[:min(len(line), maxQuote)]))
			return nil, fmt.Errorf("the program in RESTANTE_BIN is not Restante. It printed: %s", text)
		}
		return nil, fmt.Errorf("the Restante server did not start: %s", or(strings.TrimSpace(reason.String()), "no reason"))
	}
	server := &Server{pid: said.PID, stdin: stdin, ended: make(chan struct{}), kill: command.Process.Kill}
	server.config = Config{
		URL: said.URL, APIKey: said.APIKey, MailDomain: said.MailDomain, SMTP: said.SMTP, ServerLog: said.Log,
		MailpitURL: or(said.MailpitURL, said.URL+"/mailpit"),
	}
	server.stop = sync.OnceValue(server.end)
	go func() {
		_ = command.Wait() // How it has ended is in its log.
		close(server.ended)
	}()
	return server, nil
}

func notStarted(err error) error {
	return &UnreachableError{failure{text: err.Error(), cause: err}}
}

// Config returns the settings of a client of this server.
func (s *Server) Config() Config { return s.config }

// PID is the id of its process.
func (s *Server) PID() int { return s.pid }

// Close stops the server gracefully, which removes its temporary data.
func (s *Server) Close() error { return s.stop() }

func (s *Server) end() error {
	_ = s.stdin.Close() // The server ends with its standard input.
	select {
	case <-s.ended:
		return nil
	case <-time.After(maxStop):
		return s.kill()
	}
}
