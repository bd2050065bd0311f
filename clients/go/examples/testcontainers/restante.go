// Package container starts Restante in a container, for an application that runs in a container too.
package container

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strconv"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/restante/restante/clients/go/restante"
)

const (
	httpPort = "8025/tcp"
	smtpPort = "1025/tcp"
)

// Container is a server in a container.
type Container struct {
	*testcontainers.DockerContainer
	// Client is a client of the server.
	Client *restante.Client
}

// Start starts an image of Restante. With network.WithNetwork, other containers of that network reach its SMTP server
// at the alias and port 1025.
func Start(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*Container, error) {
	// The ports of a container are often reachable from other machines, so each has its own key.
	key := "rst_live_" + rand.Text()
	settings := map[string]string{
		"RESTANTE_API_KEY":        key,
		"RESTANTE_OUTBOUND":       "off",
		"RESTANTE_ACCEPT_DOMAINS": "*",
		// net/smtp would not trust the server's certificate.
		"RESTANTE_SMTP_STARTTLS": "off",
	}
	all := append([]testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(httpPort, smtpPort),
		testcontainers.WithEnv(settings),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/v1/health").WithPort(httpPort)),
	}, options...)
	started, err := testcontainers.Run(ctx, image, all...)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, started, key)
	if err != nil {
		return nil, errors.Join(err, started.Terminate(ctx))
	}
	return &Container{started, client}, nil
}

func connect(ctx context.Context, started *testcontainers.DockerContainer, key string) (*restante.Client, error) {
	url, err := started.PortEndpoint(ctx, httpPort, "http")
	if err != nil {
		return nil, err
	}
	smtp, err := started.PortEndpoint(ctx, smtpPort, "")
	if err != nil {
		return nil, err
	}
	host, text, err := net.SplitHostPort(smtp)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	return restante.New(restante.Config{URL: url, APIKey: key, SMTP: restante.SMTP{Host: host, Port: port}})
}
