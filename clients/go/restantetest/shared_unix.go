//go:build !windows

// A server in a directory that all packages of a run know: the first one starts it, the others wait for it.

package restantetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/restante/restante/clients/go/internal/launch"
	"github.com/restante/restante/clients/go/restante"
)

const (
	maxStart = 30 * time.Second
	poll     = 5 * time.Millisecond
	// abandonedAfter is how long the directory of a run is kept after its end, if the run was not able to remove it.
	abandonedAfter = time.Minute
	greetingFile   = "server.json"
	logFile        = "server.log"
	endedFile      = "ended"
)

// join returns the server in a directory, which the first caller starts. The others wait until it is ready.
func join(directory string, start func(directory string) error) (restante.Config, error) {
	err := os.Mkdir(directory, 0o700)
	switch {
	case err == nil:
		if err = start(directory); err != nil {
			return restante.Config{}, errors.Join(err, os.RemoveAll(directory))
		}
	case !errors.Is(err, os.ErrExist):
		return restante.Config{}, err
	case !isOwn(directory):
		return restante.Config{}, fmt.Errorf("%s belongs to another user: remove it, or set TMPDIR", directory)
	}
	for deadline := time.Now().Add(maxStart); time.Now().Before(deadline); time.Sleep(poll) {
		if config, isReady, err := read(directory); isReady || err != nil {
			return config, err
		}
	}
	return restante.Config{}, fmt.Errorf("the Restante server did not start within %s. %s", maxStart, logOf(directory))
}

// read returns the server in a directory, and whether it is ready.
func read(directory string) (restante.Config, bool, error) {
	_, err := os.Stat(filepath.Join(directory, endedFile))
	hasEnded := err == nil
	line, err := os.ReadFile(filepath.Join(directory, greetingFile))
	isWhole := err == nil && bytes.HasSuffix(line, []byte("\n"))
	switch {
	case hasEnded && !isWhole:
		return restante.Config{}, false, fmt.Errorf("the Restante server did not start. %s", logOf(directory))
	case !isWhole:
		return restante.Config{}, false, nil
	}
	greeting, err := launch.Read(line, "")
	if err != nil {
		return restante.Config{}, false, err
	}
	return restante.Config{
		URL: greeting.URL, APIKey: greeting.APIKey, MailDomain: greeting.MailDomain,
		SMTP:       restante.SMTP{Host: greeting.SMTP.Host, Port: greeting.SMTP.Port},
		MailpitURL: greeting.MailpitURL,
		ServerLog:  filepath.Join(directory, logFile),
	}, true, nil
}

func logOf(directory string) string {
	log, err := os.ReadFile(filepath.Join(directory, logFile))
	if err != nil {
		return "It has no log."
	}
	return "Its log:\n" + strings.TrimSpace(string(log))
}
