// Package restante is a client for Restante, a temporary inbox service for end-to-end tests. A test creates an inbox,
// the application under test sends a message to it, and the test waits for the message with its code and links.
//
// In tests, use the package restantetest, which starts a server for the run and fails tests with the explanation.
package restante

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// Client is a client of one server with one key. It may be used by several goroutines.
type Client struct {
	connection *connection
	config     Config
	server     *Server
}

// New returns a client with these settings and those of the environment. Without a URL it starts its own server,
// which Close stops.
func New(config Config) (*Client, error) {
	config, err := config.completed()
	if err != nil {
		return nil, err
	}
	if config.URL != "" {
		return newClient(config, nil), nil
	}
	server, err := StartServer(ServerConfig{APIKey: config.APIKey})
	if err != nil {
		return nil, err
	}
	timeout := config.Timeout
	config = server.Config()
	config.Timeout = timeout
	return newClient(config, server), nil
}

func newClient(config Config, server *Server) *Client {
	return &Client{newConnection(config), config, server}
}

// URL is the address of the server.
func (c *Client) URL() string { return c.config.URL }

// SMTP is the SMTP server for the application under test.
func (c *Client) SMTP() SMTP { return c.config.SMTP }

// MailDomain is the domain of the inboxes that CreateInbox makes.
func (c *Client) MailDomain() string { return c.config.MailDomain }

// MailpitURL is the base URL for a test helper of Mailpit.
func (c *Client) MailpitURL() string { return c.config.MailpitURL }

// Close cancels the open waits, closes the connections, and stops the server if this client has started it.
func (c *Client) Close() error {
	c.connection.close()
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}

// Health returns if the server answers.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return fetch(ctx, c.connection, request{method: http.MethodGet, path: "/health"},
		func(health Health) bool { return health.Status != "" })
}

// CreateOption is an option of [Client.CreateInbox].
type CreateOption func(*request)

// Label is shown with the inbox in the dashboard and in errors, for example the name of a test.
func Label(text string) CreateOption { return func(r *request) { r.label = text } }

// CreateInbox creates an inbox with its own address.
func (c *Client) CreateInbox(ctx context.Context, options ...CreateOption) (*Inbox, error) {
	request := request{method: http.MethodPost, path: inboxesPath}
	for _, option := range options {
		option(&request)
	}
	return c.found(ctx, request)
}

// Inbox finds an inbox by its id or its address.
func (c *Client) Inbox(ctx context.Context, idOrAddress string) (*Inbox, error) {
	if strings.Contains(idOrAddress, "@") {
		query := url.Values{"address": {idOrAddress}}
		return c.found(ctx, request{method: http.MethodGet, path: inboxesPath, query: query})
	}
	return c.found(ctx, request{method: http.MethodGet, path: inboxPath(idOrAddress)})
}

// InboxFor returns the inbox of a fixed address, for example that of a seeded user, and creates it if there is none.
// The first wait starts after the newest message that is there now. A label replaces an earlier one.
func (c *Client) InboxFor(ctx context.Context, address string, options ...CreateOption) (*Inbox, error) {
	request := request{method: http.MethodPut, path: inboxPath(address)}
	for _, option := range options {
		option(&request)
	}
	inbox, err := c.found(ctx, request)
	if err != nil {
		return nil, err
	}
	newest, err := inbox.list(ctx, url.Values{"limit": {"1"}})
	if err != nil {
		return nil, err
	}
	if len(newest) > 0 {
		inbox.position.last = newest[0].ID
	}
	return inbox, nil
}

// Message finds a message by its id.
func (c *Client) Message(ctx context.Context, id string) (*Message, error) {
	fields, err := fetch(ctx, c.connection, request{method: http.MethodGet, path: messagePath(id)}, isMessage)
	if err != nil {
		return nil, err
	}
	return &Message{fields, c.connection}, nil
}

func (c *Client) found(ctx context.Context, request request) (*Inbox, error) {
	fields, err := fetch(ctx, c.connection, request,
		func(inbox InboxFields) bool { return inbox.ID != "" && inbox.Address != "" })
	if err != nil {
		return nil, err
	}
	return &Inbox{
		InboxFields: fields, connection: c.connection, timeout: c.config.Timeout, label: request.label,
	}, nil
}

const inboxesPath = "/inboxes"

func inboxPath(id string) string   { return inboxesPath + "/" + url.PathEscape(id) }
func messagePath(id string) string { return "/messages/" + url.PathEscape(id) }
