package migration

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPlansAreAsStored guards the stored form: a plan that was approved must keep its hash over versions of Offramp. The
// last line of a file is that hash.
func TestPlansAreAsStored(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*PlanInput){"gateway": nil, "balancer": asLoadBalancer, "adopt": asAdopt, "static": asStatic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := mustPlan(t, planInput(edit))
			if plan.Strategy != "Adopt" {
				// What is applied, and what it loses, is held by the golden files of package gateway.
				plan.Objects, plan.Notes = nil, nil
			}
			text, err := json.MarshalIndent(plan, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := append(text, []byte("\n"+HashPlan(plan)+"\n")...)
			file := filepath.Join("testdata", "plan-"+name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; run the test with -update and read the change\n%s", file, got)
			}
		})
	}
}
