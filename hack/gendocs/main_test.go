package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestOnlyTheTextBetweenTheMarkersIsReplaced(t *testing.T) {
	t.Parallel()
	got, err := splice([]byte("by hand\n"+begin+"\nold\n"+end+"\nmore by hand\n"), "new\n")
	if want := "by hand\n" + begin + "\nnew\n" + end + "\nmore by hand\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAPageWithoutMarkersIsAnError(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", begin} {
		if _, err := splice([]byte(page), "new"); err == nil {
			t.Errorf("%q was accepted", page)
		}
	}
}

func TestATableSaysTypeLimitsAndRules(t *testing.T) {
	t.Parallel()
	var c crd
	err := yaml.Unmarshal([]byte(`
spec:
  names: {kind: Thing, shortNames: [th]}
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            required: [list]
            properties:
              list: {type: array, minItems: 1, maxItems: 3, description: "a|b\nlist.", items: {type: integer, enum: [50, 100]}}
              rows: {type: array, items: {type: object, properties: {at: {type: string, format: date-time}}}}
            x-kubernetes-validations: [{rule: "true", message: "never so"}]
`), &c)
	if err != nil {
		t.Fatal(err)
	}
	got := generated(c, "kind: Thing\n")
	for _, want := range []string{
		"| `spec.list` | list of integer | yes | 1 to 3 items; each: `50`, `100` | a\\|b list. |", "| `spec.rows[].at` | time |  |",
		"- `spec`: never so", "```yaml\nkind: Thing\n```", "short name `th`",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
