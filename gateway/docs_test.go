package gateway_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"offramp.dev/gateway"
)

const page = "../docs/gateway.md"

// reasonTable and profileTable are the generated parts of the page.
func reasonTable() string {
	out := "| code | severity | meaning | way out |\n|---|---|---|---|\n"
	for _, r := range gateway.Reasons() {
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.Code, r.Severity, r.Meaning, r.WayOut)
	}
	return out
}

func profileTable() string {
	profiles := gateway.Profiles()
	names := []string{}
	for name := range profiles {
		names = append(names, name)
	}
	slices.Sort(names)
	out := "| implementation | controller | profile | routes | `spec.addresses` becomes | traffic policy | status from | remarks | read in |\n" +
		"|---|---|---|---|---|---|---|---|---|\n"
	for _, name := range names {
		p := profiles[name]
		cells := []string{
			p.Implementation, "`" + name + "`", string(p.Binding), strings.Join(p.Routes, ", "), p.Addresses, p.TrafficPolicy, p.Status, remarks(p), p.Source,
		}
		out += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return out
}

func remarks(p gateway.Profile) string {
	out := []string{}
	for remark, holds := range map[string]bool{
		"shares one data plane":                     p.Merges,
		"turns `spec.addresses` into `externalIPs`": p.WritesExternalIPs,
		"makes dual-stack Services where it can":    p.PrefersDualStack,
	} {
		if holds {
			out = append(out, remark)
		}
	}
	slices.Sort(out)
	if p.Remark != "" {
		out = append(out, p.Remark)
	}
	return strings.Join(out, "; ")
}

// replaced puts text between the markers of a generated part.
func replaced(t *testing.T, doc, part, text string) string {
	t.Helper()
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end: "+part+" -->\n"
	before, rest, found := strings.Cut(doc, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part %q", page, part)
	}
	return before + begin + text + end + after
}

func write(t *testing.T, text string) {
	t.Helper()
	docs, err := os.OpenRoot("../docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(docs.WriteFile("gateway.md", []byte(text), 0o600), docs.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestThePageListsEveryReasonAndProfile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := replaced(t, replaced(t, string(data), "reasons", reasonTable()), "profiles", profileTable())
	if *update {
		write(t, want)
		return
	}
	if string(data) != want {
		t.Errorf("%s is not what the code says: go test ./gateway -update", page)
	}
}

func TestEveryFindingOfTheGoldenPairsHasARowOfItsSeverity(t *testing.T) {
	t.Parallel()
	rows, met := map[string]gateway.Reason{}, map[string]bool{}
	for _, r := range gateway.Reasons() {
		if _, twice := rows[r.Code]; twice || r.Meaning == "" || r.WayOut == "" {
			t.Errorf("row %q", r.Code)
		}
		rows[r.Code] = r
	}
	for _, file := range goldenInputs(t) {
		for _, f := range gateway.Convert(readInput(t, file)).Findings {
			met[f.Reason] = true
			if rows[f.Reason].Severity != f.Severity {
				t.Errorf("%s: %s is %s, the table says %q", file, f.Reason, f.Severity, rows[f.Reason].Severity)
			}
		}
	}
	if len(met) < 12 {
		t.Errorf("the golden pairs meet %d reasons only", len(met))
	}
}
