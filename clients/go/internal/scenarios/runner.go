// Package scenarios plays clients/scenarios.json, whose format clients/README.md describes, with the client for Go.
package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/restante/restante/clients/go/restante"
)

// Scenario is one scenario of the file.
type Scenario struct {
	Name  string           `json:"name"`
	Flags []string         `json:"flags"`
	Steps []map[string]any `json:"steps"`
}

// run is one run of a scenario.
type run struct {
	ctx      context.Context
	scenario Scenario
	mutex    sync.Mutex
	server   *restante.Server
	fixed    restante.ServerConfig
	clients  []*restante.Client
	work     sync.WaitGroup
}

// Play runs a scenario. `data` is a directory for the its own data server.
func Play(ctx context.Context, scenario Scenario, shared *restante.Server, data string) error {
	run := &run{ctx: ctx, scenario: scenario, server: shared}
	if scenario.Flags != nil {
		if err := run.startServer(data); err != nil {
			return err
		}
		defer func() { _ = run.server.Close() }()
	}
	defer func() {
		run.work.Wait()
		for _, client := range run.clients {
			_ = client.Close()
		}
	}()
	client, err := run.client(restante.Config{})
	if err != nil {
		return err
	}
	return run.steps(scenario.Steps, &names{values: map[string]any{"": client}})
}

// startServer starts the scenario's own server. At a restart, no other server must have taken its ports.
func (r *run) startServer(data string) error {
	listen := []string{"--http-listen", freePort(), "--smtp-listen", freePort()}
	r.fixed = restante.ServerConfig{DataDir: data, Flags: append(listen, r.scenario.Flags...)}
	server, err := restante.StartServer(r.fixed)
	r.server = server
	return err
}

func (r *run) restart(kill bool) error {
	config := r.server.Config()
	if kill {
		process, err := os.FindProcess(r.server.PID())
		if err != nil {
			return err
		}
		_ = process.Kill() // The server may have ended; Close waits for it.
	}
	_ = r.server.Close()
	r.fixed.APIKey = config.APIKey
	server, err := restante.StartServer(r.fixed)
	if err == nil {
		r.server = server
	}
	return err
}

func (r *run) client(config restante.Config) (*restante.Client, error) {
	own := r.server.Config()
	own.ServerLog = ""
	if config.URL != "" {
		own.URL = config.URL
	}
	if config.APIKey != "" {
		own.APIKey = config.APIKey
	}
	if own.Timeout = config.Timeout; own.Timeout == 0 {
		own.Timeout = defaultTimeout
	}
	client, err := restante.New(own)
	if err == nil {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.clients = append(r.clients, client)
	}
	return client, err
}

func (r *run) steps(steps []map[string]any, names *names) error {
	for _, step := range steps {
		if err := r.step(step, names); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) step(step map[string]any, names *names) error {
	result, err := r.result(step, names)
	if wanted := object(step["error"]); wanted != nil {
		if err == nil {
			return fmt.Errorf("%v: no error, but %v", step, result)
		}
		if noted := r.noteText(step, err); noted != nil {
			return noted
		}
		if text := mistaken(err, names.filled(wanted).(map[string]any)); text != "" {
			return fmt.Errorf("%v: %s", step, text)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w", step, err)
	}
	if name, isNamed := step["as"].(string); isNamed {
		names.set(name, result)
	}
	if wanted, isExpected := step["expect"]; isExpected {
		if found := jsonOf(result); !matches(found, names.filled(wanted)) {
			return fmt.Errorf("%v: found %v", step, found)
		}
	}
	return nil
}

// noteText notes an error text for a reader; clients/error-texts collects them.
func (r *run) noteText(step map[string]any, failure error) error {
	path := os.Getenv("ERROR_TEXTS")
	if path == "" {
		return nil
	}
	line, err := json.Marshal(map[string]any{"scenario": r.scenario.Name, "step": step, "text": failure.Error()})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

func (r *run) result(step map[string]any, names *names) (any, error) {
	switch step["do"] {
	case "start":
		return r.start(stepsOf(step), names), nil
	case "parallel":
		return nil, r.parallel(step, names)
	}
	given := maps.Clone(step)
	for _, name := range []string{"as", "expect", "error"} {
		delete(given, name)
	}
	return r.do(names.filled(given).(map[string]any), names)
}

func stepsOf(step map[string]any) []map[string]any {
	var steps []map[string]any
	for _, one := range list(step["steps"]) {
		steps = append(steps, object(one))
	}
	return steps
}

// start runs steps in parallel with the following ones; the result receives how they end.
func (r *run) start(steps []map[string]any, names *names) chan error {
	ended := make(chan error, 1)
	r.work.Go(func() { ended <- r.steps(steps, names) })
	return ended
}

func (r *run) parallel(step map[string]any, parent *names) error {
	var started []chan error
	for index := range int(step["times"].(float64)) {
		own := &names{parent: parent, values: map[string]any{"index": fmt.Sprint(index)}}
		started = append(started, r.start(stepsOf(step), own))
	}
	for _, ended := range started {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// untilWaitsAreOpen returns when one more wait gets 429.
func (r *run) untilWaitsAreOpen(names *names) error {
	inbox, err := names.get("").(*restante.Client).CreateInbox(r.ctx)
	if err != nil {
		return err
	}
	config := r.server.Config()
	address := strings.Join([]string{config.URL, "v1", "inboxes", inbox.ID, "messages", "wait?timeout=1"}, "/")
	for {
		request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+config.APIKey)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil || response.StatusCode == http.StatusTooManyRequests {
			return err
		}
	}
}
