// A server that this process starts: on free ports, with temporary data. It stops even if this process is killed.

package restante

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/restante/restante/clients/go/internal/launch"
	"github.com/restante/restante/clients/go/internal/processes"
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
	// Flags are additional flags of `restante serve`.
	Flags []string
}

// Server is a server that this process has started.
type Server struct {
	config    Config
	pid       int
	directory string
	stdin     io.Closer
	ended     chan struct{}
	kill      func() error
	stop      func() error
}

// StartServer starts a server. Close stops it; without that, it stops with this process.
func StartServer(config ServerConfig) (*Server, error) {
	binary, err := launch.Binary()
	if err != nil {
		return nil, notStarted(err)
	}
	prefix := processes.Prefix("server")
	processes.RemoveAbandoned(prefix, 0)
	directory, err := os.MkdirTemp("", fmt.Sprintf("%s%s-", prefix, processes.Own()))
	if err != nil {
		return nil, notStarted(err)
	}
	server, err := start(binary, directory, config)
	if err != nil {
		_ = os.RemoveAll(directory) // The cause is more important.
		return nil, notStarted(err)
	}
	return server, nil
}

func start(binary, directory string, config ServerConfig) (*Server, error) {
	path := filepath.Join(directory, "server.log")
	log, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(binary, launch.Arguments(config.Flags...)...)
	command.Env = launch.Environment(or(config.DataDir, filepath.Join(directory, "data")), config.APIKey)
	command.Stderr = log
	// Ctrl-C is for the tests, which still need the server when they clean up.
	command.SysProcAttr = launch.Detached()
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
	server := &Server{
		directory: directory, stdin: stdin, pid: command.Process.Pid,
		ended: make(chan struct{}), kill: command.Process.Kill,
	}
	server.stop = sync.OnceValue(server.end)
	greeting, err := greet(command, stdout, config.APIKey, path)
	go func() {
		_ = command.Wait() // How it has ended is in its log.
		close(server.ended)
	}()
	if err != nil {
		_ = command.Process.Kill()
		<-server.ended
		return nil, err
	}
	server.config = Config{
		URL: greeting.URL, APIKey: greeting.APIKey, MailDomain: greeting.MailDomain, ServerLog: path,
		SMTP:       SMTP{greeting.SMTP.Host, greeting.SMTP.Port},
		MailpitURL: or(greeting.MailpitURL, greeting.URL+"/mailpit"),
	}
	return server, nil
}

func greet(command *exec.Cmd, stdout io.Reader, apiKey, log string) (launch.Greeting, error) {
	late := time.AfterFunc(maxStart, func() { _ = command.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return launch.Greeting{}, fmt.Errorf("the Restante server did not start. %s", lastLines(log))
	}
	return launch.Read(line, apiKey)
}

func notStarted(err error) error {
	return &UnreachableError{failure{text: err.Error(), cause: err}}
}

// Config returns the settings of a client of this server.
func (s *Server) Config() Config { return s.config }

// PID is the id of its process.
func (s *Server) PID() int { return s.pid }

// Close stops the server gracefully, and removes its temporary data.
func (s *Server) Close() error { return s.stop() }

func (s *Server) end() error {
	err := s.stdin.Close() // The server ends with its standard input.
	select {
	case <-s.ended:
	case <-time.After(maxStop):
		err = s.kill()
		<-s.ended
	}
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(s.directory))
}
