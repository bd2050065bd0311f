//go:build !windows

package restante_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/restante/restante/clients/go/restante"
)

// isKilled is set in a process that starts a server and is killed.
const isKilled = "TEST_IS_KILLED"

func TestTheNextServerRemovesTheDirectoryOfAKilledProcess(t *testing.T) {
	if os.Getenv(isKilled) != "" {
		start(t)
		fmt.Println("started")
		select {}
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	running := start(t)
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), isKilled+"=1")
	output, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "started\n" {
		t.Fatal(line, err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if found := directories(t, folder); len(found) != 2 {
		t.Fatal(found)
	}
	// The server of the killed process may be writing until it has seen the end.
	for deadline := time.Now().Add(time.Minute); len(directories(t, folder)) > 1; {
		if time.Now().After(deadline) {
			t.Fatal("left: ", directories(t, folder))
		}
		if err := start(t).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(directories(t, folder)[0], "data")); err != nil {
		t.Error(err)
	}
	if err := running.Close(); err != nil {
		t.Error(err)
	}
	if found := directories(t, folder); len(found) != 0 {
		t.Error(found)
	}
}

func start(t *testing.T) *restante.Server {
	t.Helper()
	server, err := restante.StartServer(restante.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func directories(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "restante-server-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
