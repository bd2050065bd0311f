// The summary of a CI job on GitHub: a section for each wait of a failed test that timed out, with the explanation.

package restantetest

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/restante/restante/clients/go/restante"
)

var (
	// fence could end the block that a section has for the text.
	fence = regexp.MustCompile("`{4,}")
	// markup are the characters to which Markdown and HTML give a meaning.
	markup = regexp.MustCompile("[\\\\`*_\\[\\]<>#|&]")
)

// noteInJobSummary adds a section to the job's summary, if there is one. It is an addition: the output of the test has
// the same, so it never fails the test.
func noteInJobSummary(title string, timeout *restante.WaitTimeoutError) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer file.Close()
	cause, link := "", ""
	if timeout.Explanation != nil {
		cause = oneLine(timeout.Explanation.Summary)
	}
	if timeout.Link != "" {
		link = "[What happened during this wait](<" + timeout.Link + ">)\n\n"
	}
	text := fence.ReplaceAllString(timeout.Error(), "```")
	// In one call, because the packages of a run append to the same file.
	fmt.Fprintf(file, "### No mail: %s\n\n%s\n\n%s````text\n%s\n````\n\n", oneLine(title), cause, link, text)
}

// oneLine returns a text of a mail or a test on one line, without markup.
func oneLine(text string) string {
	return markup.ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(found string) string {
		return fmt.Sprintf("&#%d;", found[0])
	})
}
