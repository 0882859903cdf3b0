package manifest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"offramp.dev/cli/manifest"
)

// read returns what is handed out as "Kind@document:line" and what is reported.
func read(in string) (objects, problems []string) {
	r := manifest.Reader{
		Each: func(o manifest.Object) error {
			objects = append(objects, fmt.Sprintf("%s@%d:%d", o.Kind, o.Document, o.Line))
			return nil
		},
		Problem: func(e *manifest.Error) { problems = append(problems, e.Error()) },
	}
	r.Stream("in", strings.NewReader(in))
	return objects, problems
}

func TestStream(t *testing.T) {
	t.Parallel()
	const svc = `{"apiVersion":"v1","kind":"Service"}`
	tests := map[string]struct {
		in       string
		objects  []string
		problems []string
	}{
		"an empty input holds nothing":             {in: ""},
		"white space holds nothing":                {in: " \n\t\n"},
		"comments and directives hold nothing":     {in: "# hello\n%YAML 1.2\n---\n# more\n"},
		"one YAML document":                        {in: "apiVersion: v1\nkind: Service\n", objects: []string{"Service@1:1"}},
		"two documents, the second at its marker":  {in: "apiVersion: v1\nkind: A\n---\nkind: B\napiVersion: v1\n", objects: []string{"A@1:1", "B@2:3"}},
		"an empty document is not counted":         {in: "---\n---\nkind: A\napiVersion: v1\n---\n", objects: []string{"A@1:2"}},
		"text behind the marker belongs to it":     {in: "--- # first\n{kind: A, apiVersion: v1}\n--- {kind: B, apiVersion: v1}\n", objects: []string{"A@1:1", "B@2:3"}},
		"three dots end a document":                {in: "kind: A\napiVersion: v1\n...\nkind: B\napiVersion: v1\n", objects: []string{"A@1:1", "B@2:3"}},
		"dashes inside a line are text":            {in: "kind: A\napiVersion: v1\nx: |\n  ---\n  y\n", objects: []string{"A@1:1"}},
		"a values file is no object":               {in: "replicas: 3\nservice:\n  kind: LoadBalancer\n"},
		"an object without apiVersion is skipped":  {in: "kind: Service\n"},
		"a YAML list is taken apart":               {in: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n", objects: []string{"A@1:1", "B@1:1"}},
		"items take the kind of a typed list":      {in: "apiVersion: v1\nkind: ServiceList\nitems: [{metadata: {name: a}}]\n", objects: []string{"Service@1:1"}},
		"a YAML sequence of objects":               {in: "- {apiVersion: v1, kind: A}\n", objects: []string{"A@1:1"}},
		"a list whose items are null":              {in: "apiVersion: v1\nkind: List\nitems:\n", objects: []string{"List@1:1"}},
		"JSON":                                     {in: svc, objects: []string{"Service@1:1"}},
		"JSON values in a row":                     {in: svc + "\n" + svc + svc, objects: []string{"Service@1:1", "Service@2:2", "Service@3:2"}},
		"JSON list with the kind behind its items": {in: "{\"apiVersion\":\"v1\",\n\"items\":[\n" + svc + ",\n" + svc + "],\"kind\":\"List\"}", objects: []string{"Service@1:3", "Service@1:4"}},
		"typed JSON list with its kind in front":   {in: `{"kind":"ServiceList","apiVersion":"v1","items":[{"metadata":{}}]}`, objects: []string{"Service@1:1"}},
		"typed JSON list with its kind behind":     {in: `{"apiVersion":"v1","items":[{"metadata":{}}],"kind":"ServiceList"}`, objects: []string{"Service@1:1"}},
		"an object with a field items is no list":  {in: `{"kind":"ConfigMap","apiVersion":"v1","items":[1,2]}`, objects: []string{"ConfigMap@1:1"}},
		"a JSON array":                             {in: "[" + svc + "," + svc + "]", objects: []string{"Service@1:1", "Service@1:1"}},
		"JSON documents between markers":           {in: svc + "\n---\n" + svc + "\n---\nkind: A\napiVersion: v1\n", objects: []string{"Service@1:1", "Service@2:2", "A@3:4"}},
		"kind is found behind nested values":       {in: `{"metadata":{"a":["}",{"kind":"no"}],"b":"\"kind\""},"n":-1.5e3,"t":true,"kind":"A","apiVersion":"v1"}`, objects: []string{"A@1:1"}},
		"a byte order mark is skipped":             {in: "\uFEFFkind: A\napiVersion: v1\n", objects: []string{"A@1:1"}},
		"kind that is a number is none":            {in: "{\"kind\":7,\"apiVersion\":\"v1\"}"},
		"a scalar is reported":                     {in: "hello\n", problems: []string{"in: document 1, line 1: is a single value, not an object"}},
		"broken YAML does not hide its neighbours": {
			in:       "kind: A\napiVersion: v1\n---\nkind: [\n---\nkind: B\napiVersion: v1\n",
			objects:  []string{"A@1:1", "B@3:5"},
			problems: []string{"in: document 2, line 3: "},
		},
		"broken JSON does not hide what follows": {
			in:       svc + "\n{\"kind\":\n---\nkind: B\napiVersion: v1\n",
			objects:  []string{"Service@1:1", "B@3:4"},
			problems: []string{"in: document 2, line 3: not JSON: "},
		},
		"cut off JSON keeps the whole items": {
			in:       `{"apiVersion":"v1","items":[` + svc + `,{"kind":"Serv`,
			objects:  []string{"Service@1:1"},
			problems: []string{"in: document 1, line 1: not JSON: "},
		},
		"a template says so":    {in: "kind: {{ .Values.kind }}\n", problems: []string{"in: document 1, line 1: "}},
		"a JSON scalar is told": {in: "[] 7", problems: []string{"in: document 2, line 1: is a float64, not an object"}},
		"broken gzip is told":   {in: "\x1f\x8bnot", problems: []string{"in: looks like gzip but is not: "}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, problems := read(tc.in)
			if !slices.Equal(objects, tc.objects) {
				t.Errorf("objects %q, want %q", objects, tc.objects)
			}
			if len(problems) != len(tc.problems) {
				t.Fatalf("problems %q, want %q", problems, tc.problems)
			}
			for i := range problems {
				if !strings.HasPrefix(problems[i], tc.problems[i]) {
					t.Errorf("problem %q, want prefix %q", problems[i], tc.problems[i])
				}
			}
		})
	}
}

func TestAMistakeInYAMLNamesTheLineOfTheFile(t *testing.T) {
	t.Parallel()
	_, problems := read("kind: A\napiVersion: v1\n---\nkind: B\na: b: c\n")
	if len(problems) != 1 || !strings.Contains(problems[0], "line 5") {
		t.Errorf("problems %q, want one that says line 5", problems)
	}
}

func TestATemplateNamesTheWayOut(t *testing.T) {
	t.Parallel()
	_, problems := read("kind: {{ .Values.kind }}\n")
	if len(problems) != 1 || !strings.Contains(problems[0], "helm template") {
		t.Errorf("problems %q, want one that names helm template", problems)
	}
}

func TestProblemsAreNotReportedForEver(t *testing.T) {
	t.Parallel()
	_, problems := read(strings.Repeat("kind: [\n---\n", 5000))
	if len(problems) != 101 || !strings.Contains(problems[100], "too many problems") {
		t.Errorf("got %d problems, last %q; want 100 and a last word", len(problems), problems[len(problems)-1])
	}
}

func TestAnErrorOfTheCallerIsReportedAtTheObject(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such thing")
	var got *manifest.Error
	r := manifest.Reader{Each: func(manifest.Object) error { return cause }, Problem: func(e *manifest.Error) { got = e }}
	r.Stream("in", strings.NewReader("\n\nkind: A\napiVersion: v1\n"))
	if !errors.Is(got, cause) || got.Document != 1 {
		t.Errorf("got %v, want %v at document 1", got, cause)
	}
}

func TestPathsReadFilesDirectoriesAndStdin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("kind: Zipped\napiVersion: v1\n"))
	_ = z.Close()
	write(t, filepath.Join(dir, "b", "x.yaml.gz"), zipped.String())
	write(t, filepath.Join(dir, "a.yml"), "kind: Plain\napiVersion: v1\n")
	write(t, filepath.Join(dir, "README.md"), "kind: [\n")
	var kinds, problems []string
	r := manifest.Reader{
		Each:    func(o manifest.Object) error { kinds = append(kinds, o.Kind); return nil },
		Problem: func(e *manifest.Error) { problems = append(problems, e.Error()) },
	}
	stdin := strings.NewReader("kind: Piped\napiVersion: v1\n")
	if err := r.Paths(context.Background(), []string{dir, "-", filepath.Join(dir, "absent")}, stdin); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Plain", "Zipped", "Piped"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %q, want %q", kinds, want)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], "absent") {
		t.Errorf("problems %q, want one that names the absent path", problems)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", "kind: A\napiVersion: v1\n---\nkind: [\n", `{"apiVersion":"v1","items":[{"kind":"A"},{}],"kind":"ServiceList"}`,
		"{\"a\":1}\n---\n- 1\n", "\x1f\x8b\x08", "\uFEFF---", "a: &a [*a]\n", "? [a]\n: b\n", "{\"items\" : [", "%YAML\n--- |\n x\n", "1: 2\n",
		"externalIPs: [010.0.0.5, '[a b]', ::ffff:192.0.2.1]\n", "!!binary x\n", "<<: [1]\n", "{{ x }}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := manifest.Reader{
			Each: func(o manifest.Object) error {
				if o.Kind == "" || o.APIVersion == "" || o.Document < 1 || o.Line < 1 {
					t.Errorf("object without kind or place: %+v", o)
				}
				return nil
			},
			Problem: func(e *manifest.Error) {
				if e.Source != "in" || e.Err == nil {
					t.Errorf("problem without source or cause: %+v", e)
				}
			},
		}
		r.Stream("in", strings.NewReader(in))
	})
}
