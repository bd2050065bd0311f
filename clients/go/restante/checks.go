// The checks of a message: placeholders that nobody has filled, links that lead nowhere, and more.

package restante

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Checks are the results of the checks of a message.
type Checks struct {
	// Problems are what the checks have found, the errors first.
	Problems []Problem `json:"problems"`
	// HTML is how many mail clients support the HTML, or nil without HTML.
	HTML *HTMLSupport `json:"html"`
}

// Problem is a problem of a message.
type Problem struct {
	// Check is the name of the check: placeholder, link, text_part, image, size, headers, unsubscribe, html_support or
	// accessibility.
	Check string `json:"check"`
	// Severity is error if no good message has the problem, and warning if a good one may have it.
	Severity string `json:"severity"`
	// Detail is what is wrong, as a sentence.
	Detail string `json:"detail"`
	// Part is header, text or html, or empty if something is missing.
	Part string `json:"part"`
	// Line is the number of the line in this part, or 0.
	Line int `json:"line"`
	// Source is the start of that line.
	Source string `json:"source"`
}

// HTMLSupport is how many mail clients support the HTML and CSS of a message.
type HTMLSupport struct {
	// SupportPercent is the average over the features that the message uses.
	SupportPercent int `json:"support_percent"`
}

// Checks returns what the server's checks find in the message.
func (m *Message) Checks(ctx context.Context) (Checks, error) {
	return fetch(ctx, m.connection, request{method: http.MethodGet, path: messagePath(m.ID) + "/checks"},
		func(checks Checks) bool { return checks.Problems != nil })
}

// Check returns a [*ContentError] if the checks find an error in the message. The text lists all problems with their
// lines, also the warnings. The checks with the names in ignore are left out.
func (m *Message) Check(ctx context.Context, ignore ...string) error {
	checks, err := m.Checks(ctx)
	if err != nil {
		return err
	}
	isIgnored := func(problem Problem) bool { return slices.Contains(ignore, problem.Check) }
	problems := slices.DeleteFunc(checks.Problems, isIgnored)
	if !slices.ContainsFunc(problems, func(problem Problem) bool { return problem.Severity == "error" }) {
		return nil
	}
	var listed strings.Builder
	for _, problem := range problems {
		listed.WriteString("\n  " + problem.String())
	}
	return m.contentError("has %s:%s", numbered(len(problems)), listed.String())
}

// String returns the problem with its line, if it has one.
func (p Problem) String() string {
	text := fmt.Sprintf("%s %s: %s", p.Severity, p.Check, p.Detail)
	if p.Line == 0 {
		return text
	}
	return fmt.Sprintf("%s (%s, line %d: %s)", text, p.Part, p.Line, strings.TrimSpace(p.Source))
}

func numbered(problems int) string {
	if problems == 1 {
		return "1 problem"
	}
	return fmt.Sprintf("%d problems", problems)
}
