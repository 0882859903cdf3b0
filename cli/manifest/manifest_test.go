package manifest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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
		"a template says so":                      {in: "kind: {{ .Values.kind }}\n", problems: []string{"in: document 1, line 1: "}},
		"a JSON scalar is told":                   {in: "[] 7", problems: []string{"in: document 2, line 1: is the single value 7, not an object"}},
		"a list in a list in a list":              {in: `{"kind":"List","apiVersion":"v1","items":[{"kind":"List","apiVersion":"v1","items":[{"kind":"ServiceList","apiVersion":"v1","items":[{}]}]}]}`, objects: []string{"Service@1:1"}},
		"a list in a list as YAML":                {in: "kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items: [{kind: A, apiVersion: v1}]\n", objects: []string{"A@1:1"}},
		"lists without end":                       {in: strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, 20) + strings.Repeat("]}", 20), problems: []string{"in: document 1, line 1: lists are nested more than 16 deep"}},
		"UTF-16 with its mark":                    {in: "\xff\xfek\x00i\x00n\x00d\x00:\x00A\x00\n\x00", problems: []string{"in: document 1, line 1: is a single value"}},
		"UTF-16 without a mark":                   {in: "k\x00i\x00n\x00", problems: []string{"in: looks like UTF-16 without a byte order mark"}},
		"Latin-1 in YAML is told and read":        {in: "kind: A\napiVersion: v1\nx: caf\xe9\n", objects: []string{"A@1:1"}, problems: []string{"in: document 1, line 3: holds bytes that are no UTF-8"}},
		"Latin-1 in JSON is told and read":        {in: "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"x\":\"\xe9\"}", objects: []string{"A@1:1"}, problems: []string{"in: document 1, line 1: holds bytes that are no UTF-8"}},
		"a key twice in YAML is told and read":    {in: "kind: A\napiVersion: v1\nx: 1\nx: 2\n", objects: []string{"A@1:1"}, problems: []string{"in: document 1, line 1: yaml: unmarshal errors:\n  line 4: key \"x\" already set in map; the last one was read"}},
		"a key that overrides a merged one":       {in: "kind: A\napiVersion: v1\nb: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n", objects: []string{"A@1:1"}},
		"a quote that is missing":                 {in: svc + "\n{\"kind\":\"A\n}\n---\nkind: B\napiVersion: v1\n", objects: []string{"Service@1:1", "B@3:5"}, problems: []string{"in: document 2, line 3: not JSON: '\\n' is not expected here"}},
		"a comma that is missing":                 {in: `{"kind":"A" "apiVersion":"v1"}`, problems: []string{"in: document 1, line 1: not JSON: '\"' stands where ',' is expected"}},
		"a comma too many":                        {in: `[` + svc + `,]`, objects: []string{"Service@1:1"}, problems: []string{"in: document 1, line 1: not JSON: ']' is not expected here"}},
		"an object in an array that is broken":    {in: `[{"kind" "A"},` + svc + `]`, objects: []string{"Service@1:1"}, problems: []string{"in: document 1, line 1: not JSON: "}},
		"a mistake inside an object has its line": {in: "{\"kind\":\"A\",\n\"b\":{\n\"c\":?}}\n---\nkind: B\napiVersion: v1\n", objects: []string{"B@2:5"}, problems: []string{"in: document 1, line 3: not JSON: '?' is not expected here"}},
		"a string that ends in backslashes":       {in: `{"a":"\\","b":"\\\"","kind":"A","apiVersion":"v1"}`, objects: []string{"A@1:1"}},
		"broken gzip is told":                     {in: "\x1f\x8bnot", problems: []string{"in: looks like gzip but is not: "}},
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

func TestUTF16IsReadAsWhatItSays(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var in []byte
		for _, unit := range utf16.Encode([]rune("\uFEFFkind: A\napiVersion: v1\nx: \U0001F600\n")) {
			in = order.AppendUint16(in, unit)
		}
		if objects, problems := read(string(in)); !slices.Equal(objects, []string{"A@1:1"}) || len(problems) > 0 {
			t.Errorf("%s endian: objects %q, problems %q", name, objects, problems)
		}
	}
}

func TestWhatIsCutOffIsToldAndNotTakenForAWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, objects, problem string }{
		"YAML": {"kind: A\napiVersion: v1\n---\nkind: B\napiVersion: v1\nspec: {}\n", "A@1:1", "in: document 2, line 6: the document that begins at line 3 is cut off and was not used"},
		"JSON": {`{"kind":"A","apiVersion":"v1"}` + "\n" + `{"kind":"B","apiVersion":"v1","spec":{}}` + "\n", "A@1:1", "in: document 2, line 2: not JSON: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			_, _ = z.Write([]byte(tc.in[:len(tc.in)-9]))
			_ = z.Flush()
			objects, problems := read(zipped.String())
			if !slices.Equal(objects, []string{tc.objects}) || len(problems) == 0 || !strings.HasPrefix(problems[0], tc.problem) {
				t.Errorf("objects %q, problems %q; want %q and %q", objects, problems, tc.objects, tc.problem)
			}
		})
	}
}

// slowly hands out a byte at a time.
type slowly struct{ in io.Reader }

func (s slowly) Read(p []byte) (int, error) { return s.in.Read(p[:min(len(p), 1)]) }

func TestHowTheInputArrivesMakesNoDifference(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	in.WriteString(`{"apiVersion":"v1","items":[`)
	for i := range 3000 {
		fmt.Fprintf(&in, "%s\n{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"n%d\",\"x\":\"%s\"}}", strings.Repeat(",", min(i, 1)), i, strings.Repeat(`\"`, i%300))
	}
	in.WriteString(`],"kind":"List"}`)
	whole, _ := read(in.String())
	var dribbled []string
	r := manifest.Reader{
		Each: func(o manifest.Object) error {
			dribbled = append(dribbled, fmt.Sprintf("%s@%d:%d", o.Kind, o.Document, o.Line))
			return nil
		},
		Problem: func(e *manifest.Error) { t.Error(e) },
	}
	r.Stream("in", slowly{strings.NewReader(in.String())})
	if len(whole) != 3000 || !slices.Equal(whole, dribbled) || whole[2999] != "A@1:3001" {
		t.Errorf("%d and %d objects, the last %q; want 3000, the same, and the last at line 3001", len(whole), len(dribbled), whole[len(whole)-1])
	}
}

func TestHistoryIsLeftOutAndNothingElse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"both":                   {`{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{\"}"},"managedFields":[{"f":{}}],"name":"n"},"spec":{}}`, `{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":null},"managedFields":null,"name":"n"},"spec":{}}`},
		"in the other order":     {`{"metadata":{"managedFields":[1],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}}`, `{"metadata":{"managedFields":null,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}`},
		"none":                   {`{"spec":{"managedFields":[1]},"metadata":{"name":"n"}}`, `{"spec":{"managedFields":[1]},"metadata":{"name":"n"}}`},
		"no metadata":            {`{}`, `{}`},
		"metadata of other type": {`{"metadata":[{"managedFields":1}]}`, `{"metadata":[{"managedFields":1}]}`},
	}
	for name, tc := range tests {
		if got := string(manifest.WithoutHistory(nil, []byte(tc.in))); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
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
		"externalIPs: [010.0.0.5, '[a b]', ::ffff:192.0.2.1]\n", "!!binary x\n", "<<: [1]\n", "{{ x }}\n", "\xff\xfek\x00", "kind: A\napiVersion: v1\nx: \xe9\nx: 1\n", `[{"kind":"List","apiVersion":"v1","items":[{}]},]`,
		`{"metadata":{"managedFields":[],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"\""}},"kind":"A","apiVersion":"v1"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := manifest.Reader{
			Each: func(o manifest.Object) error {
				if o.Kind == "" || o.APIVersion == "" || o.Document < 1 || o.Line < 1 {
					t.Errorf("object without kind or place: %+v", o)
				}
				if json.Valid(o.JSON) && !json.Valid(manifest.WithoutHistory(nil, o.JSON)) {
					t.Errorf("without its history it is no JSON: %s", o.JSON)
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
