package inventory

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"offramp.dev/api/v1alpha1"
)

// reasonsPage is docs/reasons.md.
func reasonsPage() string {
	var b strings.Builder
	b.WriteString("# Reason codes of the inventory\n\n" +
		"Every finding of `kubectl offramp inventory` and of an EntryPoint's status has one of these codes. They are stable: a code is\n" +
		"never renamed and never gets another meaning. `Block` stops an entry point, `Ask` waits for a human's answer, `Inform` only\n" +
		"tells, `CleanUp` is a value that can be removed without moving anything. This page is generated from the code\n" +
		"(`go test ./inventory -run Reasons -update`).\n\n" +
		"| code | severity | meaning | way out |\n|---|---|---|---|\n")
	for _, d := range Reasons() {
		var severities []string
		for _, s := range d.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Code, strings.Join(severities, ", "), d.Meaning, d.WayOut)
	}
	return b.String()
}

func TestReasonsPageIsUpToDate(t *testing.T) {
	t.Parallel()
	compareGolden(t, "../docs/reasons.md", []byte(reasonsPage()))
}

func TestReasonsAreAllExplainedOnce(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			code, _ := strconv.Unquote(lit.Value)
			declared = append(declared, code)
		}
		return true
	})
	var explained []string
	for _, d := range Reasons() {
		explained = append(explained, d.Code)
		if len(d.Severities) == 0 || d.Meaning == "" || d.WayOut == "" || strings.Contains(d.Meaning+d.WayOut, "|") {
			t.Errorf("%s is not explained", d.Code)
		}
	}
	slices.Sort(declared)
	slices.Sort(explained)
	if !slices.Equal(declared, explained) {
		t.Errorf("declared %v\nexplained %v", declared, explained)
	}
}

// checkDocumented holds findings against the page: every code is on it, with that severity, and every finding says what to do.
func checkDocumented(t *testing.T, c Catalog) {
	t.Helper()
	all := slices.Clone(c.Findings)
	for _, e := range c.EntryPoints {
		all = append(all, e.Findings...)
		if e.Why == "" || e.Strategy == "" || e.Verdict == "" {
			t.Errorf("%s has strategy %q, verdict %q, why %q", e.Name, e.Strategy, e.Verdict, e.Why)
		}
	}
	docs := map[string][]v1alpha1.Severity{}
	for _, d := range Reasons() {
		docs[d.Code] = d.Severities
	}
	for _, f := range all {
		if !slices.Contains(docs[f.Reason], f.Severity) {
			t.Errorf("%s with severity %s is not documented", f.Reason, f.Severity)
		}
		if f.Object == "" || !strings.HasSuffix(f.Message, ".") || f.Fix == "" {
			t.Errorf("%+v does not name object, sentence and way out", f)
		}
	}
}
