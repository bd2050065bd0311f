//go:build windows

// Package processes names temporary directories after a process. On Windows, those of killed processes are left alone.
package processes

import (
	"os"
	"strconv"
	"time"
)

// Own is the id of this process.
func Own() string { return strconv.Itoa(os.Getpid()) }

// Prefix is the start of the names of directories of one kind.
func Prefix(kind string) string { return "restante-" + kind + "-go-" }

// RemoveAbandoned leaves everything as it is.
func RemoveAbandoned(string, time.Duration) {}
