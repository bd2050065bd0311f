//go:build go1.26 && !windows

package restantetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTimelineOfAnAddressWithASlashIsAnArtifact(t *testing.T) {
	t.Parallel()
	slash := strings.Replace(failing, "New(t)", `InboxFor(t, "qa/ada@restante.example.com")`, 1)
	project := newProject(t, map[string]string{"failing/sign_up_test.go": slash})
	command := project.command("test", "-count=1", "-artifacts", "-outputdir", project.directory, "./...")
	output, _ := command.CombinedOutput()
	isFound := false
	_ = filepath.WalkDir(project.directory, func(path string, _ os.DirEntry, err error) error {
		isFound = isFound || filepath.Base(path) == "timeline-qa%2Fada.txt"
		return err
	})
	if !isFound || strings.Contains(string(output), "Cannot save") {
		t.Errorf("%s", output)
	}
	project.ended()
}

func TestTheMessagesOfAFailureAreArtifacts(t *testing.T) {
	t.Parallel()
	project := newProject(t, map[string]string{"failing/sign_up_test.go": failing})
	command := project.command("test", "-count=1", "-artifacts", "-outputdir", project.directory, "./...")
	output, err := command.CombinedOutput()
	if err == nil {
		t.Fatal("the test has passed")
	}
	found := map[string]string{}
	walked := filepath.WalkDir(project.directory, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), "mail-") {
			text, _ := os.ReadFile(path)
			found[filepath.Ext(path)] = string(text)
		}
		if strings.HasPrefix(filepath.Base(path), "timeline-") {
			text, _ := os.ReadFile(path)
			found["timeline"] = string(text)
		}
		return err
	})
	if walked != nil || !strings.Contains(found[".eml"], "Subject: Welcome") ||
		!strings.Contains(found["timeline"], "\n    http://") || !strings.Contains(found["timeline"], "/failures/") ||
		!strings.Contains(found[".html"], "482913") || !strings.Contains(found[".json"], `"otp": "482913"`) {
		t.Errorf("%v %v\n%s", walked, found, output)
	}
	project.ended()
}
