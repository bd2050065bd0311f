// Requests to the server: the key, time limits, retries, and the error for each response.

package restante

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// requestGrace is how long a response may take, in addition to the time that the server itself waits.
	requestGrace   = 10 * time.Second
	connectTimeout = 5 * time.Second
	// maxRetry is how long a request that is not a wait is repeated.
	maxRetry           = 10 * time.Second
	minPause, maxPause = 50 * time.Millisecond, time.Second
	// maxRequest is the maximum length of a wait that the server allows in one request.
	maxRequest = 120 * time.Second
	maxQuote   = 200
	maxLogTail = 2_000
	// inboxFull is the error of 429 that does not pass.
	inboxFull = "recipient inbox is full"
	// maxFilters is the number of characters of filters in a header: each may take twelve bytes.
	maxFilters = 160
	// maxLabel is the number of characters of a label that the server keeps.
	maxLabel = 200
)

// request is one request below /v1.
type request struct {
	method, path string
	query        url.Values
	body         any
	// until is the deadline of a wait; other requests have none.
	until time.Time
	// label is that of an inbox.
	label string
	// filters is what only this client compares in a wait, and expectsNone that it expects no message.
	filters     string
	expectsNone bool
	// name is that of a wait, the same in all of its requests.
	name string
}

// held is how long the server may keep the request open.
func (r request) held() time.Duration {
	if r.until.IsZero() {
		return 0
	}
	return min(max(0, time.Until(r.until)), maxRequest)
}

// mayBeDoneTwice is true for everything but sending. An inbox that was created twice is one that nobody uses, and
// expires.
func (r request) mayBeDoneTwice() bool { return r.method != http.MethodPost || r.path == inboxesPath }

// target is the path with the query.
func (r request) target() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + r.query.Encode()
}

// remedies are what to do about some errors of the server, by their texts.
var remedies = map[string]string{
	"inbox not found":      "It was never created, has expired or was deleted, or belongs to another key",
	"message not found":    "It was deleted, its inbox has expired, or it belongs to another key",
	"recipient not found":  "No inbox has this address now: create it first",
	"domain not accepted":  "Start the server with --accept-domains and this domain",
	"invalid after":        "Pass the id of a message that is or was in this inbox",
	"invalid field: at":    "It is rcpt or data; bounce, drop and duplicate are only at data",
	"invalid field: reply": "It is one line such as 451 4.7.1 Come back later: 4xx with defer, 5xx with reject",
}

// outcome is the result of one attempt: a response, or the error without one.
type outcome struct {
	status int
	header http.Header
	body   []byte
	err    error
}

func (o outcome) isSuccess() bool { return o.status >= 200 && o.status < 300 }

// connection is the connection to one server with one key.
type connection struct {
	config Config
	client *http.Client
	closed context.Context
	close  context.CancelFunc
}

func newConnection(config Config) *connection {
	transport := newTransport()
	transport.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	transport.MaxIdleConnsPerHost = 32
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	closed, cancel := context.WithCancel(context.Background())
	stop := func() {
		cancel()
		transport.CloseIdleConnections()
	}
	return &connection{config, &http.Client{Transport: transport, CheckRedirect: stay}, closed, stop}
}

// newTransport returns a copy of the default one. If a mock of HTTP or a tracer has replaced that, the new one has Go's
// settings.
func newTransport() *http.Transport {
	if usual, isTransport := http.DefaultTransport.(*http.Transport); isTransport {
		return usual.Clone()
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// fetch sends a request and decodes the JSON of its response. Another server that answers at this address has other
// fields, or no JSON.
func fetch[T any](ctx context.Context, c *connection, request request, isValid func(T) bool) (T, error) {
	var value T
	body, err := c.call(ctx, request)
	if err != nil {
		return value, err
	}
	return decode(c, request, body, isValid)
}

func decode[T any](c *connection, request request, answer outcome, isValid func(T) bool) (T, error) {
	var value T
	if json.Unmarshal(answer.body, &value) != nil || !isValid(value) {
		return value, c.foreign(request, answer)
	}
	return value, nil
}

// call sends a request, and repeats it until there is a final response, or the time is up: at the deadline, it is sent
// for the last time. A wait that has found nothing gets 408, or 429 at its deadline.
func (c *connection) call(ctx context.Context, request request) (outcome, error) {
	start, deadline := time.Now(), request.until
	if deadline.IsZero() {
		deadline = start.Add(min(maxRetry, c.config.Timeout))
	}
	for isRepeated := false; ; isRepeated = true {
		isLast := !time.Now().Before(deadline)
		result, err := c.attempt(ctx, request)
		// After 404, an earlier attempt has deleted it.
		isDeleted := isRepeated && request.method == http.MethodDelete && result.status == http.StatusNotFound
		if err != nil || result.isSuccess() || isDeleted || hasFoundNothing(request, result, isLast) {
			return result, err
		}
		if isLast || !mayRepeat(request, result) {
			return result, c.errorOf(request, result)
		}
		c.pause(ctx, result, time.Since(start), time.Until(deadline))
	}
}

// hasFoundNothing tells whether a wait has looked and found no message. The server looks before it counts the waits, so
// one with 429 has looked, too.
func hasFoundNothing(request request, result outcome, isLast bool) bool {
	_, isOurs := said(result.body)
	isEmpty := isOurs && result.status == http.StatusRequestTimeout || isLast && result.status == http.StatusTooManyRequests
	return isEmpty && !request.until.IsZero()
}

// mayRepeat tells whether to repeat a failed request: if it may not be done twice, only if the server cannot have
// carried it out.
func mayRepeat(request request, result outcome) bool {
	switch result.status {
	case 0:
		return request.mayBeDoneTwice() || isUnsent(result.err)
	case http.StatusTooManyRequests:
		said, _ := said(result.body)
		return said != inboxFull
	case http.StatusServiceUnavailable:
		return request.mayBeDoneTwice()
	}
	return false
}

func isUnsent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// attempt sends a request once. It returns an error only if the context has ended or the client was closed.
func (c *connection) attempt(ctx context.Context, request request) (outcome, error) {
	if c.closed.Err() != nil {
		return outcome{}, ErrClosed
	}
	held := request.held()
	if !request.until.IsZero() {
		// For zero, the server would return 404, as for an inbox that has ended.
		milliseconds := max(1, int(math.Ceil(float64(held)/float64(time.Millisecond))))
		request.query.Set("timeout", strconv.Itoa(milliseconds))
	}
	limited, cancel := context.WithTimeout(ctx, held+requestGrace)
	defer cancel()
	defer context.AfterFunc(c.closed, cancel)()
	result := c.send(limited, request)
	switch {
	case result.err == nil:
		return result, nil
	case c.closed.Err() != nil:
		return result, ErrClosed
	case ctx.Err() != nil:
		return result, fmt.Errorf("restante: %s %s was cancelled: %w", request.method, request.path, context.Cause(ctx))
	}
	return result, nil
}

func (c *connection) send(ctx context.Context, request request) outcome {
	sent, err := c.encoded(ctx, request)
	if err != nil {
		return outcome{err: err}
	}
	response, err := c.client.Do(sent)
	if err != nil {
		return outcome{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return outcome{err: err}
	}
	return outcome{status: response.StatusCode, header: response.Header, body: body}
}

func (c *connection) encoded(ctx context.Context, request request) (*http.Request, error) {
	address := c.config.URL + "/v1" + request.target()
	var body io.Reader
	if request.body != nil {
		text, err := json.Marshal(request.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, request.method, address, body)
	if err != nil {
		return nil, err
	}
	if c.config.APIKey != "" {
		sent.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	setText(sent.Header, "X-Restante-Label", request.label, maxLabel)
	setText(sent.Header, "X-Restante-Wait", request.name, maxFilters)
	setText(sent.Header, "X-Restante-Filters", request.filters, maxFilters)
	if request.expectsNone {
		sent.Header.Set("X-Restante-Expects", "none")
	}
	return sent, nil
}

// errorOf returns the error for a failed attempt.
func (c *connection) errorOf(request request, result outcome) error {
	if result.status == 0 {
		return c.unreachable(result.err)
	}
	said, isOurs := said(result.body)
	if !isOurs && !isOfProxy(result.status) {
		return c.foreign(request, result)
	}
	text := fmt.Sprintf("%s /v1%s: %d %s", request.method, request.target(), result.status, said)
	if remedy, isKnown := remedies[said]; isKnown {
		text += ". " + remedy
	}
	common := failure{text: text, status: result.status}
	switch result.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return &InvalidRequestError{common}
	case http.StatusUnauthorized:
		common.text += ". " + c.config.URL + " does not accept the API key: set RESTANTE_API_KEY to a key of this server. " +
			"`restante serve` prints one at its first start"
		return &UnauthorizedError{common}
	case http.StatusNotFound:
		return &NotFoundError{common}
	}
	return &common
}

// isOfProxy tells whether a proxy in front of the server gives this status with its own text.
func isOfProxy(status int) bool {
	switch status {
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (c *connection) unreachable(cause error) error {
	reason := reasonOf(cause)
	text := fmt.Sprintf("cannot connect to Restante at %s (%s). Start it with `restante serve` and set RESTANTE_URL "+
		"to the address that it prints, or unset RESTANTE_URL to start a server for the run", c.config.URL, reason)
	if c.config.ServerLog != "" {
		text = fmt.Sprintf("the server of this run does not answer at %s (%s). %s",
			c.config.URL, reason, lastLines(c.config.ServerLog))
	}
	return &UnreachableError{failure{text: text, cause: cause}}
}

// reasonOf returns the innermost text: the outer ones repeat the URL.
func reasonOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

func (c *connection) foreign(request request, result outcome) error {
	found := or(strings.TrimSpace(quoted(result.body)), "nothing")
	text := fmt.Sprintf("another server than Restante answers at %s. It answered %s /v1%s with %d %s\n"+
		"Is RESTANTE_URL right?", c.config.URL, request.method, request.path, result.status, found)
	return &UnreachableError{failure{text: text, status: result.status}}
}

// said returns the error text of the server; for the response of something else, its start and false.
func said(body []byte) (string, bool) {
	var answer struct {
		Error *string `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error == nil {
		return or(strings.TrimSpace(quoted(body)), "no text"), false
	}
	return *answer.Error, true
}

func quoted(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), maxQuote)]), "")
}

// lastLines returns the end of a log, as a sentence.
func lastLines(path string) string {
	log, err := os.ReadFile(path)
	if err != nil {
		return "Its log is gone: " + path
	}
	end := strings.TrimSpace(strings.ToValidUTF8(string(log[max(0, len(log)-maxLogTail):]), ""))
	return "Its last log lines:\n" + or(end, "(none)")
}

// pause waits before the next attempt: a tenth of the time so far, within limits and with jitter, or as long as the
// server requests.
func (c *connection) pause(ctx context.Context, result outcome, waited, left time.Duration) {
	growing := min(max(waited/10, minPause), maxPause)
	pause := time.Duration(float64(growing) * (0.5 + rand.Float64()/2))
	if seconds, err := strconv.Atoi(result.header.Get("Retry-After")); err == nil && seconds >= 0 &&
		result.status == http.StatusServiceUnavailable {
		pause = time.Duration(seconds) * time.Second
	}
	timer := time.NewTimer(min(pause, left))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-c.closed.Done():
	}
}

// dashboardLine is the line of an error that links to an inbox in the dashboard.
func (c *connection) dashboardLine(inbox string) string {
	return "Dashboard: " + c.config.URL + "/inboxes/" + url.PathEscape(inbox)
}

// setText sets a header to the start of a text, in UTF-8 with percent signs, if there is one.
func setText(header http.Header, name, text string, most int) {
	if characters := []rune(text); len(characters) > 0 {
		header.Set(name, url.PathEscape(string(characters[:min(len(characters), most)])))
	}
}
