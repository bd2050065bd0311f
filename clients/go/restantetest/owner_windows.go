//go:build windows

// Windows has no shell to keep a server, so each test process has its own, which stops with it.

package restantetest

import "github.com/restante/restante/clients/go/restante"

func serverOfRun() (restante.Config, error) {
	server, err := restante.StartServer(restante.ServerConfig{})
	if err != nil {
		return restante.Config{}, err
	}
	keep = server
	return server.Config(), nil
}

// keep holds the server's standard input open until this process ends.
var keep *restante.Server
