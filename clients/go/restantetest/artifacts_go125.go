//go:build !go1.26

package restantetest

import "testing"

// artifacts returns no directory: tests have one from Go 1.26 on.
func artifacts(testing.TB) string { return "" }
