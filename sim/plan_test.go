package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli"
	"offramp.dev/migration"
)

// TestWhatThePlanPrintsIsWhatWasApplied walks the bundled cluster to its end, then holds what "plan -o yaml" prints of every
// entry point against the bytes of its recorded plan, and against every object that the walk applied.
func TestWhatThePlanPrintsIsWhatWasApplied(t *testing.T) {
	t.Parallel()
	objects, err := Demo()
	if err != nil {
		t.Fatal(err)
	}
	w, report := walkThrough(t, Options{Objects: objects})
	printed := map[string]string{}
	for _, e := range report.EntryPoints {
		ep := w.entryPoint(t, e.Name)
		if ep.Status.Record == "" {
			continue
		}
		texts := w.printedPlan(t, e.Name)
		plan := w.recordedPlan(t, ep)
		if len(texts) != len(plan.Objects) {
			t.Fatalf("%s: %d documents, the plan has %d objects", e.Name, len(texts), len(plan.Objects))
		}
		for i, text := range texts {
			if !bytes.Equal(text, plan.Objects[i]) {
				t.Errorf("%s: document %d is\n%s\nthe plan's object is\n%s", e.Name, i, text, plan.Objects[i])
			}
			if e.Outcome == Released {
				printed[objectName(t, text)] = string(text)
			}
		}
	}
	applied := w.appliedObjects(t)
	if len(printed) < 10 || !slices.Equal(sortedKeys(printed), sortedKeys(applied)) {
		t.Fatalf("printed %v\napplied %v", sortedKeys(printed), sortedKeys(applied))
	}
	for name, text := range printed {
		if applied[name] != text {
			t.Errorf("%s was printed as\n%s\nand applied as\n%s", name, text, applied[name])
		}
	}
}

// printedPlan is what the plugin prints, document by document, back as JSON.
func (w *world) printedPlan(t *testing.T, name string) [][]byte {
	t.Helper()
	admin, ok := w.admin.(client.WithWatch)
	if !ok {
		t.Fatal("the admin's client cannot watch")
	}
	var out, messages bytes.Buffer
	wiring := cli.Wiring{
		Now:     func() time.Time { return w.now },
		Connect: func(cli.ConnectOptions) (*cli.Connection, error) { return &cli.Connection{Client: admin}, nil },
	}
	code := cli.Run(t.Context(), []string{"plan", name, "-o", "yaml"}, cli.IOStreams{In: strings.NewReader(""), Out: &out, Err: &messages}, wiring)
	if code == cli.ExitError || !strings.Contains(out.String(), w.entryPoint(t, name).Status.PlanHash) {
		t.Fatalf("plan %s: exit code %d: %s%s", name, code, out.String(), messages.String())
	}
	var documents [][]byte
	for _, document := range strings.Split(out.String(), "---\n")[1:] {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != "null" {
			documents = append(documents, text)
		}
	}
	return documents
}

func (w *world) recordedPlan(t *testing.T, ep *v1alpha1.EntryPoint) *migration.Plan {
	t.Helper()
	record := &v1alpha1.MigrationRecord{}
	if err := w.admin.Get(t.Context(), nameKey(ep.Status.Record), record); err != nil {
		t.Fatal(err)
	}
	plan := &migration.Plan{}
	if err := migration.DecodeDocument(record.Spec.Plans[len(record.Spec.Plans)-1].Plan, plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// appliedObjects are the target objects as the controller stated them, by name; those of walks that were undone are gone.
func (w *world) appliedObjects(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, text := range w.server.store.applied {
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(canonical, []byte(`"`+v1alpha1.LabelEntryPoint+`"`)) {
			out[objectName(t, canonical)] = string(canonical)
		}
	}
	return out
}

func objectName(t *testing.T, text []byte) string {
	t.Helper()
	var object struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s/%s", object.Kind, object.Metadata.Namespace, object.Metadata.Name)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
