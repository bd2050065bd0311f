//go:build !windows

package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAProcessIsDescribedByItsNameAndItsStart(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for stat, wanted := range map[string]Process{
		"7 (go)" + rest:           {7, "go", "4711"},
		"7 (a (b) c)" + rest:      {7, "a (b) c", "4711"},
		"7 (go) S 1 2":            {ID: 7},
		"7 (go":                   {ID: 7},
		"7 go) S":                 {ID: 7},
		"":                        {ID: 7},
		"7 (" + rest + " (no end": {ID: 7},
	} {
		if found, isKnown := in(7, stat); found != wanted || isKnown != (wanted.Started != "") {
			t.Errorf("%q: %+v, %t", stat, found, isKnown)
		}
	}
	if own := Own(); own.ID != os.Getpid() || own.Started == "" {
		t.Errorf("%+v", own)
	}
}

func TestAStartByPsIsTheSameInEveryTimeZone(t *testing.T) {
	var described []Process
	for _, zone := range []string{"UTC", "Pacific/Kiritimati"} {
		t.Setenv("TZ", zone)
		process, isKnown := byPs(os.Getpid())
		if !isKnown {
			t.Fatal(zone, "ps does not know this process")
		}
		described = append(described, process)
	}
	if described[0] != described[1] {
		t.Error(described)
	}
}

func TestOnlyDirectoriesOfProcessesThatHaveEndedAreRemoved(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	own, prefix := Own(), Prefix("run")
	dead := fmt.Sprintf("%s%d-4711", prefix, ended.Process.Pid)
	reused := fmt.Sprintf("%s%d-4711", prefix, own.ID)
	kept := []string{
		prefix + own.String(), prefix + own.String() + "-17", prefix + "notes", prefix + "4711", prefix + "4711-",
		strings.Replace(dead, "-go-", "-go-1", 1), "restante-notes",
	}
	for _, name := range append(kept, dead, reused) {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	RemoveAbandoned(prefix, time.Hour)
	if found := names(t, folder); len(found) != len(kept)+2 {
		t.Error("a new directory was removed:", found)
	}
	RemoveAbandoned(prefix, 0)
	slices.Sort(kept)
	if found := names(t, folder); !slices.Equal(found, kept) {
		t.Errorf("found %q, not %q", found, kept)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
