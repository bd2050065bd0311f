//go:build !windows

// The process that runs the tests owns the server: the `go` that has started this process, else this process. A shell
// script starts the server, and stops it when the owner has ended.

package restantetest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/restante/restante/clients/go/internal/launch"
	"github.com/restante/restante/clients/go/internal/processes"
	"github.com/restante/restante/clients/go/restante"
)

//go:embed keep.sh
var keeper string

func serverOfRun() (restante.Config, error) {
	binary, err := launch.Binary()
	if err != nil {
		return restante.Config{}, err
	}
	owner, isKnown := processes.Of(os.Getppid())
	if !isKnown || owner.Name != "go" {
		owner = processes.Own()
	}
	prefix := processes.Prefix("run")
	processes.RemoveAbandoned(prefix, abandonedAfter)
	directory := filepath.Join(os.TempDir(), prefix+owner.String())
	return join(directory, func(directory string) error { return start(binary, directory, owner.ID) })
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

// isOwn tells whether a directory belongs to this user.
func isOwn(directory string) bool {
	info, err := os.Lstat(directory)
	if err != nil {
		return false
	}
	stat, isKnown := info.Sys().(*syscall.Stat_t)
	return isKnown && int(stat.Uid) == os.Getuid()
}
