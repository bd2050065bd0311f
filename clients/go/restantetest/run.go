// The client of a run: of the server of RESTANTE_URL, or of one that all packages of a `go test` share.

package restantetest

import (
	"os"
	"sync"

	"github.com/restante/restante/clients/go/restante"
)

// clientOfRun returns the client of this process. It is not closed: the process ends with its tests.
var clientOfRun = sync.OnceValues(func() (*restante.Client, error) {
	if os.Getenv("RESTANTE_URL") != "" {
		return restante.New(restante.Config{})
	}
	config, err := serverOfRun()
	if err != nil {
		return nil, err
	}
	return restante.New(config)
})
