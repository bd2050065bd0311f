// The client of a run: of the server of RESTANTE_URL, or of one that all packages of a `go test` share.

package restantetest

import (
	"os"
	"regexp"
	"strconv"
	"sync"

	"github.com/restante/restante/clients/go/restante"
)

// build finds the directory of one `go test`, which builds the tests of all packages there, and runs them.
var build = regexp.MustCompile(`(go-build\d+)[/\\]b\d+[/\\]`)

// server is kept, because it ends when its standard input is closed.
var server *restante.Server

// clientOfRun returns the client of this process. It is not closed: the process ends with its tests.
var clientOfRun = sync.OnceValues(func() (*restante.Client, error) {
	if os.Getenv("RESTANTE_URL") != "" {
		return restante.New(restante.Config{})
	}
	var shared []string
	if run := build.FindStringSubmatch(os.Args[0]); run != nil {
		// The parent is `go test`, which ends after the tests of all packages.
		shared = []string{"--shared", run[1], "--owner", strconv.Itoa(os.Getppid())}
	}
	var err error
	if server, err = restante.StartServer(restante.ServerConfig{Flags: shared}); err != nil {
		return nil, err
	}
	return restante.New(server.Config())
})
