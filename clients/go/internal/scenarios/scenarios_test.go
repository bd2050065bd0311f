package scenarios_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/restante/restante/clients/go/internal/scenarios"
	"github.com/restante/restante/clients/go/restante"
)

// What every client must do, against the real server.
func TestScenarios(t *testing.T) {
	text, err := os.ReadFile("../../../scenarios.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Scenarios []scenarios.Scenario }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	shared, err := restante.StartServer(restante.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, scenario := range file.Scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			if err := scenarios.Play(t.Context(), scenario, shared, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}
