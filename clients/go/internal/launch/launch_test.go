package launch

import (
	"maps"
	"strings"
	"testing"
)

const relay = "smtp://127.0.0.1:2525"

// environmentWith returns the settings of a server that is started with these variables.
func environmentWith(t *testing.T, settings map[string]string) map[string]string {
	for _, name := range []string{"OUTBOUND", "RELAY", "ACCEPT_DOMAINS"} {
		t.Setenv("RESTANTE_"+name, "")
	}
	for name, value := range settings {
		t.Setenv("RESTANTE_"+name, value)
	}
	found := map[string]string{}
	for _, variable := range Environment("/tmp/data", "") {
		name, value, _ := strings.Cut(variable, "=")
		if setting, isSetting := strings.CutPrefix(name, "RESTANTE_"); isSetting {
			found[setting] = value
		}
	}
	return found
}

func TestItSendsNoMailUnlessAskedAndThenAcceptsEveryDomain(t *testing.T) {
	for name, test := range map[string]struct{ settings, expected map[string]string }{
		"empty settings count as absent": {nil, map[string]string{"OUTBOUND": "off", "ACCEPT_DOMAINS": "*"}},
		"a relay":                        {map[string]string{"RELAY": relay}, map[string]string{"RELAY": relay}},
		"a relay that is not used": {
			map[string]string{"RELAY": relay, "OUTBOUND": "off"},
			map[string]string{"RELAY": relay, "OUTBOUND": "off", "ACCEPT_DOMAINS": "*"},
		},
		"off": {
			map[string]string{"OUTBOUND": "off"}, map[string]string{"OUTBOUND": "off", "ACCEPT_DOMAINS": "*"},
		},
		"direct": {map[string]string{"OUTBOUND": "direct"}, map[string]string{"OUTBOUND": "direct"}},
		"chosen domains": {
			map[string]string{"ACCEPT_DOMAINS": "a.example"},
			map[string]string{"OUTBOUND": "off", "ACCEPT_DOMAINS": "a.example"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := environmentWith(t, test.settings)
			maps.DeleteFunc(found, func(name, _ string) bool {
				return name != "OUTBOUND" && name != "RELAY" && name != "ACCEPT_DOMAINS"
			})
			if !maps.Equal(found, test.expected) {
				t.Error(found)
			}
		})
	}
}

func TestItDoesNotGetTheDataOrTheURLOfAnotherOneOrEmptySettings(t *testing.T) {
	found := environmentWith(t, map[string]string{
		"DATABASE": "postgres://db.example/mail", "DATA_DIR": "/var/lib", "BASE_URL": "https://m.example",
		"SMTP_STARTTLS": "", "WAITS_PER_KEY": "", "API_KEY": "",
	})
	for name, expected := range map[string]string{
		"DATABASE": "", "BASE_URL": "", "API_KEY": "", "DATA_DIR": "/tmp/data", "SMTP_STARTTLS": "off",
		"WAITS_PER_KEY": "128",
	} {
		if value, isSet := found[name]; value != expected || isSet != (expected != "") {
			t.Errorf("%s: %q, %t", name, value, isSet)
		}
	}
}
