//go:build !windows

// The process that runs the tests owns the server: the `go` that has started this process, else this process. A shell
// script starts the server, and stops it when the owner has ended.

package restantetest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/restante/restante/clients/go/internal/launch"
	"github.com/restante/restante/clients/go/restante"
)

//go:embed keep.sh
var keeper string

// process identifies a process: ids are used again.
type process struct {
	id            int
	name, started string
}

func serverOfRun() (restante.Config, error) {
	binary, err := launch.Binary()
	if err != nil {
		return restante.Config{}, err
	}
	owner, isKnown := processOf(os.Getppid())
	if !isKnown || owner.name != "go" {
		owner, _ = processOf(os.Getpid())
	}
	prefix := fmt.Sprintf("restante-run-%d-go", os.Getuid())
	removeAbandoned(filepath.Join(os.TempDir(), prefix))
	directory := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d-%s", prefix, owner.id, owner.started))
	return join(directory, func(directory string) error { return start(binary, directory, owner.id) })
}

func start(binary, directory string, owner int) error {
	arguments := []string{"-c", keeper, "restante", directory, strconv.Itoa(owner), binary}
	command := exec.Command("sh", append(arguments, launch.Arguments()...)...)
	command.Env = launch.Environment(filepath.Join(directory, "data"), "")
	command.Dir = directory
	command.SysProcAttr = launch.Detached()
	if err := command.Start(); err != nil {
		return err
	}
	return command.Process.Release()
}

// processOf describes a running process: from /proc, or by ps.
func processOf(id int) (process, bool) {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id)); err == nil {
		return processIn(id, string(stat))
	}
	text, err := exec.Command("ps", "-o", "lstart=,comm=", "-p", strconv.Itoa(id)).Output()
	const dateFields = 5
	fields := strings.Fields(string(text))
	if err != nil || len(fields) <= dateFields {
		return process{id: id}, false
	}
	started := strings.NewReplacer(":", "", "/", "").Replace(strings.Join(fields[:dateFields], ""))
	return process{id, filepath.Base(fields[dateFields]), started}, true
}

// processIn describes a process by what Linux says about it. Its name is in parentheses, and may contain some.
func processIn(id int, stat string) (process, bool) {
	const startedField = 19
	start, end := strings.IndexByte(stat, '('), strings.LastIndex(stat, ") ")
	if start < 0 || end < start {
		return process{id: id}, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= startedField {
		return process{id: id}, false
	}
	return process{id, stat[start+1 : end], fields[startedField]}, true
}

// removeAbandoned removes the directories of runs that have ended without doing so.
func removeAbandoned(prefix string) {
	directories, _ := filepath.Glob(prefix + "-*")
	for _, directory := range directories {
		parts := strings.Split(strings.TrimPrefix(directory, prefix+"-"), "-")
		id, err := strconv.Atoi(parts[0])
		info, statErr := os.Stat(directory)
		if err != nil || statErr != nil || time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		if owner, isRunning := processOf(id); !isRunning || owner.started != parts[len(parts)-1] {
			_ = os.RemoveAll(directory) // Another process may be removing it.
		}
	}
}

// isOwn tells whether a directory belongs to this user.
func isOwn(directory string) bool {
	info, err := os.Lstat(directory)
	if err != nil {
		return false
	}
	stat, isKnown := info.Sys().(*syscall.Stat_t)
	return isKnown && int(stat.Uid) == os.Getuid()
}
