// The errors, one type for each cause. No error contains the API key.

package restante

import (
	"errors"
	"time"
)

// Error is implemented by all errors of this package, except those of a cancelled context.
type Error interface {
	error
	// Status is the HTTP status, or 0 if the error is not a response of the server.
	Status() int
}

// ErrClosed is the error of a call on a closed client, and of the calls that closing it has cancelled.
var ErrClosed error = &failure{text: "the client was closed"}

// failure is an error without its own type, and the part that all types have in common.
type failure struct {
	text   string
	status int
	cause  error
}

func (f *failure) Error() string { return f.text }

// Status is the HTTP status, or 0 if the error is not a response of the server.
func (f *failure) Status() int { return f.status }

// Unwrap returns the cause of the error, or nil.
func (f *failure) Unwrap() error { return f.cause }

// WaitTimeoutError means that no matching message arrived in time. Its text contains the server's explanation, the
// messages that arrived instead, and what was rejected.
type WaitTimeoutError struct {
	failure
	// Filters are the filters of the wait, by their names in the API.
	Filters map[string]any
	// Waited is how long the wait lasted.
	Waited time.Duration
	// Explanation is the server's explanation, or nil if it could not be read.
	Explanation *Explanation
	// Link is the address of the page about this wait, or empty if the server has none.
	Link string
}

// UnexpectedMessageError means that a message arrived unexpectedly.
type UnexpectedMessageError struct {
	failure
	// Received is the message.
	Received *Message
}

// ContentError means that a message has no code, or not exactly one link that matches.
type ContentError struct{ failure }

// NotFoundError means that there is no such inbox, message or recipient for this key. If an inbox has expired or was
// deleted during a wait, the text says so.
type NotFoundError struct{ failure }

// UnauthorizedError means that the API key is missing or wrong.
type UnauthorizedError struct{ failure }

// InvalidRequestError means that the server does not accept the request.
type InvalidRequestError struct{ failure }

// UnreachableError means that no server answers at the address, that another server than Restante does, or that a
// server could not be started.
type UnreachableError struct{ failure }

// plain reports whether err was made by this package.
func plain(err error) bool {
	var known Error
	return errors.As(err, &known)
}
