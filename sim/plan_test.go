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

// TestWhatThePlanPrintsIsWhatTheWalkMade walks the bundled cluster to its end, then holds what "plan -o yaml" prints of every
// entry point against the bytes of its recorded plan, and against every object that the walk made.
func TestWhatThePlanPrintsIsWhatTheWalkMade(t *testing.T) {
	t.Parallel()
	objects, err := Demo()
	if err != nil {
		t.Fatal(err)
	}
	w, report := walkThrough(t, Options{Objects: objects})
	printed := map[string]any{}
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
				printed[objectName(t, text)] = parsed(t, text)
			}
		}
	}
	made := w.madeObjects(t)
	if len(printed) < 10 || !slices.Equal(sortedKeys(printed), sortedKeys(made)) {
		t.Fatalf("printed %v\nmade %v", sortedKeys(printed), sortedKeys(made))
	}
	for name, want := range printed {
		if missing := lacks(made[name], want, name); missing != "" {
			t.Errorf("%s is not as it was printed: %s", name, missing)
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

// madeObjects are what the controller made in the cluster, by name, as the API server holds it now.
func (w *world) madeObjects(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	for kind, objects := range w.server.store.cache.objects {
		for _, object := range objects {
			if _, ours := object.GetLabels()[v1alpha1.LabelEntryPoint]; !ours || kind.Group == v1alpha1.GroupVersion.Group {
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			out[kind.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = parsed(t, text)
		}
	}
	return out
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// lacks names the first value that was printed and that the live object does not hold; what the server added is no matter.
func lacks(live, want any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if key == "apiVersion" || key == "kind" {
				continue // Typed objects do not repeat them.
			}
			if missing := lacks(l[key], w[key], path+"."+key); missing != "" {
				return missing
			}
		}
		return ""
	case []any:
		l, _ := live.([]any)
		if len(l) != len(w) {
			return fmt.Sprintf("%s has %d items, not %d", path, len(l), len(w))
		}
		for i := range w {
			if missing := lacks(l[i], w[i], fmt.Sprintf("%s[%d]", path, i)); missing != "" {
				return missing
			}
		}
		return ""
	default:
		if live != want {
			return fmt.Sprintf("%s is %v, not %v", path, live, want)
		}
		return ""
	}
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

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
