// The timeline of an inbox in the report of a failed test.

package restantetest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/restante/restante/clients/go/restante"
)

// maxEvents is the maximum number of events in the test's output, the last ones.
const maxEvents = 20

// inShort has a line for each of the last events, or nothing. The artifact has the commands of SMTP, too.
func inShort(address string, events []restante.InboxEvent) string {
	if len(events) == 0 {
		return ""
	}
	shown := events[max(0, len(events)-maxEvents):]
	lines := []string{fmt.Sprintf("\ntimeline of %s, the last %d events:", address, len(shown))}
	for _, event := range shown {
		lines = append(lines, fmt.Sprintf("  %s %s", event.At.Local().Format("15:04:05.000"), event.Text))
	}
	return strings.Join(lines, "\n")
}

// saveTimeline writes all events to a directory, with the commands of SMTP sessions.
func saveTimeline(directory, inbox string, events []restante.InboxEvent) error {
	if len(events) == 0 {
		return nil
	}
	var text strings.Builder
	for _, event := range events {
		fmt.Fprintf(&text, "%s %s\n", event.At.Format("2006-01-02T15:04:05.000Z07:00"), event.Text)
		if event.Failure != "" {
			fmt.Fprintf(&text, "    %s\n", event.Failure)
		}
		for _, exchange := range event.Commands {
			command, reply := exchange.Command, exchange.Reply
			if command == "" {
				command = "(connected)"
			}
			if reply == "" {
				reply = "(none)"
			}
			fmt.Fprintf(&text, "    %s → %s\n", command, reply)
		}
	}
	// The id of an inbox is the start of its address, which may contain a slash.
	path := filepath.Join(directory, "timeline-"+url.PathEscape(inbox)+".txt")
	return os.WriteFile(path, []byte(text.String()), 0o600)
}
