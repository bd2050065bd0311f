//go:build !windows

// Package processes names temporary directories after a process, so that a later process can remove those of processes
// that were killed.
package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Process identifies a process: ids are used again.
type Process struct {
	ID            int
	Name, Started string
}

// String is the form in the name of a directory.
func (p Process) String() string { return fmt.Sprintf("%d-%s", p.ID, p.Started) }

// Own describes this process.
func Own() Process {
	own, _ := Of(os.Getpid())
	return own
}

// Of describes a running process: from /proc, or by ps.
func Of(id int) (Process, bool) {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id)); err == nil {
		return in(id, string(stat))
	}
	return byPs(id)
}

// byPs describes a process by what ps says about it: in one language and one time zone, so that the processes of one
// user agree about a start.
func byPs(id int) (Process, bool) {
	ps := exec.Command("ps", "-o", "lstart=,comm=", "-p", strconv.Itoa(id))
	ps.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	text, err := ps.Output()
	const dateFields = 5
	fields := strings.Fields(string(text))
	if err != nil || len(fields) <= dateFields {
		return Process{ID: id}, false
	}
	started := strings.NewReplacer(":", "", "/", "").Replace(strings.Join(fields[:dateFields], ""))
	return Process{id, filepath.Base(fields[dateFields]), started}, true
}

// in describes a process by what Linux says about it. Its name is in parentheses, and may contain some.
func in(id int, stat string) (Process, bool) {
	const startedField = 19
	start, end := strings.IndexByte(stat, '('), strings.LastIndex(stat, ") ")
	if start < 0 || end < start {
		return Process{ID: id}, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= startedField {
		return Process{ID: id}, false
	}
	return Process{id, stat[start+1 : end], fields[startedField]}, true
}

// Prefix is the start of the names of this user's directories of one kind; a Process follows. Process ids have a
// meaning only within their namespace: another container may share the directory for temporary files.
func Prefix(kind string) string {
	namespace := "0"
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		namespace = regexp.MustCompile(`\D`).ReplaceAllString(link, "")
	}
	return fmt.Sprintf("restante-%s-%d-go-%s-", kind, os.Getuid(), namespace)
}

// RemoveAbandoned removes the directories with a prefix whose process has ended, if they are older than an age.
func RemoveAbandoned(prefix string, age time.Duration) {
	directories, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, directory := range directories {
		parts := strings.Split(strings.TrimPrefix(filepath.Base(directory), prefix), "-")
		id, err := strconv.Atoi(parts[0])
		info, statErr := os.Stat(directory)
		if err != nil || len(parts) < 2 || parts[1] == "" || statErr != nil || time.Since(info.ModTime()) < age {
			continue
		}
		if owner, isRunning := Of(id); !isRunning || owner.Started != parts[1] {
			_ = os.RemoveAll(directory) // Another process may be removing it.
		}
	}
}
