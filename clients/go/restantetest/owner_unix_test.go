//go:build !windows

package restantetest

import (
	"os"
	"testing"
)

func TestAProcessIsDescribedByItsNameAndItsStart(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for stat, wanted := range map[string]process{
		"7 (go)" + rest:           {7, "go", "4711"},
		"7 (a (b) c)" + rest:      {7, "a (b) c", "4711"},
		"7 (go) S 1 2":            {id: 7},
		"7 (go":                   {id: 7},
		"7 go) S":                 {id: 7},
		"":                        {id: 7},
		"7 (" + rest + " (no end": {id: 7},
	} {
		if found, isKnown := processIn(7, stat); found != wanted || isKnown != (wanted.started != "") {
			t.Errorf("%q: %+v, %t", stat, found, isKnown)
		}
	}
	if own, isKnown := processOf(os.Getpid()); !isKnown || own.started == "" {
		t.Errorf("%+v", own)
	}
}
