//go:build !windows

package restantetest_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watched is a program for RESTANTE_BIN that keeps a pipe open until the server has ended.
const watched = `#!/bin/sh
exec 9<>"$WATCHED/alive"
exec "$WATCHED_BIN" "$@"
`

const passing = `package %s
import (
	"fmt"
	"testing"
	"github.com/restante/restante/clients/go/restantetest"
)
func TestInbox(t *testing.T) {
	restantetest.New(t)
	fmt.Println("server", restantetest.Client(t).URL())
}
`

const failing = `package failing
import (
	"fmt"
	"net/smtp"
	"testing"
	"time"
	"github.com/restante/restante/clients/go/restante"
	"github.com/restante/restante/clients/go/restantetest"
)
func TestSignUp(t *testing.T) {
	inbox := restantetest.New(t)
	session, err := smtp.Dial(inbox.SMTPAddr())
	if err != nil { t.Fatal(err) }
	session.Mail("shop@app.example")
	session.Rcpt(inbox.Address)
	data, _ := session.Data()
	fmt.Fprint(data, "Subject: Welcome\r\n\r\nYour code is 482913: https://app.example/c/1\r\n")
	if err := data.Close(); err != nil { t.Fatal(err) }
	inbox.Wait(t, restante.Subject("confirm"), restante.Timeout(300*time.Millisecond))
}
`

// project is a user's module.
type project struct {
	t         *testing.T
	directory string
	alive     *os.File
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	module, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	files["go.mod"] = "module shop\ngo 1.25\nrequire github.com/restante/restante/clients/go v0.0.0\n" +
		"replace github.com/restante/restante/clients/go => " + module + "\n"
	files["watched.sh"] = watched
	for name, text := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(directory, "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alive.Close() })
	return &project{t, directory, alive}
}

func (p *project) command(arguments ...string) *exec.Cmd {
	command := exec.Command("go", arguments...)
	command.Dir = p.directory
	command.Env = append(os.Environ(), "WATCHED="+p.directory, "WATCHED_BIN="+os.Getenv("RESTANTE_BIN"),
		"RESTANTE_BIN="+filepath.Join(p.directory, "watched.sh"), "RESTANTE_URL=",
		"TMPDIR="+filepath.Join(p.directory, "tmp"))
	return command
}

// ended waits until every server has ended, which must leave no directory.
func (p *project) ended() {
	p.t.Helper()
	if err := p.alive.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.ReadAll(p.alive); err != nil {
		p.t.Fatal("a server is still running: ", err)
	}
	left, err := filepath.Glob(filepath.Join(p.directory, "tmp", "restante-*", "*-*"))
	if err != nil || len(left) > 0 {
		p.t.Error("left: ", left, err)
	}
}

func TestAllPackagesShareOneServerThatEndsWithThem(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"cart", "mail"} {
		files[name+"/inbox_test.go"] = strings.Replace(passing, "%s", name, 1)
	}
	project := newProject(t, files)
	// One after another, so that no package has the server open between them.
	output, err := project.command("test", "-p=1", "-count=1", "-v", "./...").CombinedOutput()
	servers := regexp.MustCompile(`server http\S+`).FindAllString(string(output), -1)
	if err != nil || len(servers) != 2 || servers[0] != servers[1] {
		t.Errorf("%v\n%s", err, output)
	}
	project.ended()
}

func TestAFailureShowsTheExplanationAndTheMail(t *testing.T) {
	t.Parallel()
	project := newProject(t, map[string]string{"failing/sign_up_test.go": failing})
	summary := filepath.Join(project.directory, "summary.md")
	command := project.command("test", "-count=1", "-v", "./...")
	command.Env = append(command.Env, "GITHUB_STEP_SUMMARY="+summary)
	output, err := command.CombinedOutput()
	if err == nil {
		t.Fatal("the test has passed")
	}
	for _, part := range []string{
		"sign_up_test.go:19: no message with subject \"confirm\" arrived at",
		"within 0.3 s.",
		"Expected subject \"confirm\"; arrived: \"Welcome",
		"not: subject",
		"What happened during this wait: http://",
		" (TestSignUp), until the run ends\n",
		"mail of ",
		"code 482913",
		"link https://app.example/c/1",
		"timeline of ",
		"A wait of 0.3 s started.",
		"=== ATTR  TestSignUp what-happened-during-the-wait http://",
		"=== ATTR  TestSignUp why-no-mail-came Expected subject \"confirm\"; arrived: ",
	} {
		if !strings.Contains(string(output), part) {
			t.Errorf("%q is not in:\n%s", part, output)
		}
	}
	section, err := os.ReadFile(summary)
	for _, part := range []string{
		"### No mail: TestSignUp\n\nExpected subject", "\n````text\nno message with subject", "[What happened",
	} {
		if err != nil || !strings.Contains(string(section), part) {
			t.Errorf("%q is not in: %v\n%s", part, err, section)
		}
	}
	project.ended()
}
