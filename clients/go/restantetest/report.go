// What a failed test shows of its mail: a list in its output, and the messages among its artifacts.

package restantetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/restante/restante/clients/go/restante"
)

const (
	cleanupTime = 3 * time.Second
	// maxMessages is the maximum number of messages of an inbox that are shown, newest first.
	maxMessages = 10
)

// reportFailure shows the messages of the inbox if the test has failed.
func (i *Inbox) reportFailure(t testing.TB) {
	if !t.Failed() {
		return
	}
	for _, timeout := range i.timeouts {
		reportWait(t, timeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	messages, err := i.latest(ctx)
	if err != nil {
		fmt.Fprintf(t.Output(), "Cannot read the mail of %s: %v\n", i.Address, err)
		return
	}
	// A server of an earlier version has no timeline.
	events, _ := i.Events(ctx)
	fmt.Fprintln(t.Output(), listed(ctx, i.Address, messages)+inShort(i.Address, events))
	if folder := artifacts(t); folder != "" {
		if err := errors.Join(save(ctx, folder, messages), saveTimeline(folder, i.ID, events)); err != nil {
			fmt.Fprintf(t.Output(), "Cannot save the mail of %s: %v\n", i.Address, err)
		}
	}
}

// reportWait adds a wait that timed out to the attributes of the test, which reports in JUnit's format have as
// properties, and to the summary of the CI job.
func reportWait(t testing.TB, timeout *restante.WaitTimeoutError) {
	if timeout.Explanation != nil {
		t.Attr("why-no-mail-came", strings.Join(strings.Fields(timeout.Explanation.Summary), " "))
	}
	if timeout.Link != "" {
		t.Attr("what-happened-during-the-wait", timeout.Link)
	}
	noteInJobSummary(t.Name(), timeout)
}

func (i *Inbox) latest(ctx context.Context) ([]*restante.Message, error) {
	var messages []*restante.Message
	for message, err := range i.Messages(ctx) {
		if err != nil {
			return nil, err
		}
		if messages = append(messages, message); len(messages) == maxMessages {
			break
		}
	}
	return messages, nil
}

// listed is the list of messages with what a test reads from them.
func listed(ctx context.Context, address string, messages []*restante.Message) string {
	lines := []string{fmt.Sprintf("mail of %s, newest first (%d):", address, len(messages))}
	for _, message := range messages {
		at := message.ReceivedAt.Local().Format("15:04:05.000")
		lines = append(lines, fmt.Sprintf("  %q from %s at %s", message.Subject, message.From, at))
		// Without its details, the message is still shown.
		details, _ := message.Details(ctx)
		for _, code := range details.Codes {
			lines = append(lines, "    code "+code.Code)
		}
		for _, link := range message.Links {
			lines = append(lines, "    link "+link)
		}
	}
	return strings.Join(lines, "\n")
}

// save writes each message to a directory: as received, as a page, and what a test reads from it.
func save(ctx context.Context, directory string, messages []*restante.Message) error {
	for _, message := range messages {
		raw, err := message.Raw(ctx)
		page, pageErr := message.Page(ctx)
		fields, jsonErr := json.MarshalIndent(message.MessageFields, "", "  ")
		if err := errors.Join(err, pageErr, jsonErr); err != nil {
			return err
		}
		// The id of a message is a safe name for a file; a subject is not.
		path := filepath.Join(directory, "mail-"+filepath.Base(message.ID))
		safe := []byte(nothingRemote + page)
		for extension, content := range map[string][]byte{".eml": raw, ".html": safe, ".json": fields} {
			if err := os.WriteFile(path+extension, content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingRemote keeps a saved page from loading content and from running scripts.
const nothingRemote = `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" ` +
	`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`
