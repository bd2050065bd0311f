//go:build go1.26

package restantetest

import (
	"flag"
	"testing"
)

// artifacts returns the directory for the messages of a failed test, if `go test -artifacts` keeps it.
func artifacts(t testing.TB) string {
	if kept := flag.Lookup("test.artifacts"); kept == nil || kept.Value.String() != "true" {
		return ""
	}
	return t.ArtifactDir()
}
