package gateway_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"offramp.dev/gateway"
)

var update = flag.Bool("update", false, "write testdata/*.out.yaml from what Convert says now")

// golden is an Output as the files hold it.
type golden struct {
	Objects  []map[string]any `json:"objects,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
	Findings []any            `json:"findings,omitempty"`
}

func readInput(t *testing.T, file string) gateway.Input {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	in := gateway.Input{}
	if err := yaml.UnmarshalStrict(data, &in); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return in
}

func render(t *testing.T, out gateway.Output) []byte {
	t.Helper()
	g := golden{Notes: out.Notes}
	for _, o := range out.Objects {
		g.Objects = append(g.Objects, o.Object)
	}
	for _, f := range out.Findings {
		g.Findings = append(g.Findings, f)
	}
	data, err := yaml.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func goldenInputs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("want at least 14 golden pairs, found %d (%v)", len(files), err)
	}
	return files
}

func TestConvertMatchesTheGoldenPairs(t *testing.T) {
	t.Parallel()
	for _, file := range goldenInputs(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			t.Parallel()
			got := render(t, gateway.Convert(readInput(t, file)))
			name := strings.TrimSuffix(file, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(name, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(filepath.Clean(name))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("differs from %s (write it anew with -update):\n%s", name, got)
			}
		})
	}
}

func TestConvertTwiceIsTheSameAndLeavesTheInputAlone(t *testing.T) {
	t.Parallel()
	for _, file := range goldenInputs(t) {
		in, untouched := readInput(t, file), readInput(t, file)
		first, second := gateway.Convert(in), gateway.Convert(in)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: the second conversion differs", file)
		}
		if !reflect.DeepEqual(in, untouched) {
			t.Errorf("%s: the input was changed", file)
		}
	}
}

func TestConvertDoesNotDependOnTheOrderOfTheInput(t *testing.T) {
	t.Parallel()
	in := readInput(t, "testdata/two-services-one-name.in.yaml")
	turned := readInput(t, "testdata/two-services-one-name.in.yaml")
	turned.Services[0], turned.Services[1] = turned.Services[1], turned.Services[0]
	turned.Services = append(turned.Services, turned.Services[0])
	turned.Hostnames = append(turned.Hostnames, turned.Hostnames...)
	if !reflect.DeepEqual(gateway.Convert(in), gateway.Convert(turned)) {
		t.Error("the order, or a repeated entry, changed the output")
	}
}
