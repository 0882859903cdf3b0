package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/cli"
)

const tree = "../examples/tree"

func TestPreflightEndsWithTheCodeThatAPipelineNeeds(t *testing.T) {
	t.Parallel()
	good, headless := service("web", `["192.0.2.1"]`), strings.Replace(service("dead", `["192.0.2.1"]`), `"spec":{`, `"spec":{"clusterIP":"None",`, 1)
	tests := map[string]struct {
		in   string
		args []string
		code int
		says string
	}{
		"a Service with the field depends":    {good, []string{"--target", "1.40"}, 2, "FieldNeedsGate"},
		"a mere warning depends, too":         {good, []string{"--target", "1.36"}, 2, "FieldWarns"},
		"dead data depends on nothing":        {headless, []string{"--target", "1.43"}, 0, "Dead data: 1."},
		"without the field nothing depends":   {service("web", `[]`), []string{"--target", "1.46"}, 0, "Nothing depends"},
		"a patch release is its minor":        {good, []string{"--target", "v1.43.1"}, 2, "FieldStops"},
		"a target between has earlier rules":  {good, []string{"--target", "1.42"}, 2, "what 1.40 takes away"},
		"another namespace is not asked for":  {good, []string{"--target", "1.43", "-n", "b"}, 0, "Nothing depends"},
		"its own namespace is":                {good, []string{"--target", "1.43", "-n", "a"}, 2, "FieldStops"},
		"all namespaces win":                  {good, []string{"--target", "1.43", "-n", "b", "-A"}, 2, "FieldStops"},
		"half a file is not an answer":        {good[:40], []string{"--target", "1.40"}, 1, "No Service could be read."},
		"a field of another type is no peace": {service("odd", `"192.0.2.1"`), []string{"--target", "1.40"}, 1, "FieldUnreadable"},
		"no target is an error":               {good, nil, 1, ""},
		"an old target is an error":           {good, []string{"--target", "1.30"}, 1, ""},
		"a target that is none is an error":   {good, []string{"--target", "soon"}, 1, ""},
		"a format that is none is an error":   {good, []string{"--target", "1.40", "-o", "pdf"}, 1, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, messages := call(t, tc.in, cli.Wiring{}, append([]string{"preflight", "-f", "-"}, tc.args...)...)
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d, want %d with %q; got\n%s%s", code, tc.code, tc.says, out, messages)
			}
			if tc.says == "" && !strings.HasPrefix(messages, "error: ") {
				t.Errorf("no error is told: %q", messages)
			}
		})
	}
}

func TestPreflightReadsAStreamAsItReadsAFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(tree, "apps", "web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, plain, _ := call(t, string(text), cli.Wiring{}, "preflight", "--target", "1.40", "-f", "-", "-o", "json")
	again, fromZip, _ := call(t, zipped.String(), cli.Wiring{}, "preflight", "--target", "1.40", "-f", "-", "-o", "json")
	if code != cli.ExitFindings || again != code || plain != fromZip || !strings.Contains(plain, `"file": "stdin"`) {
		t.Errorf("exit codes %d and %d; answers:\n%s\n%s", code, again, plain, fromZip)
	}
}

func TestATemplateInATreeIsPassedOverAndTold(t *testing.T) {
	t.Parallel()
	code, out, messages := call(t, "", cli.Wiring{}, "preflight", "--target", "1.40", "-f", tree, "-o", "json")
	if code != cli.ExitFindings || !strings.Contains(messages, "service.yaml: looks like a template: render it first") {
		t.Errorf("exit code %d, messages %s", code, messages)
	}
	var got struct {
		Complete bool
		Skipped  []struct{ File, Why string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || !got.Complete || len(got.Skipped) != 1 || !strings.HasSuffix(got.Skipped[0].Why, "line 8") {
		t.Errorf("got %+v, %v", got, err)
	}
	named, _, said := call(t, "", cli.Wiring{}, "preflight", "--target", "1.40", "-f", filepath.Join(tree, "chart", "templates", "service.yaml"))
	if named != cli.ExitError || !strings.Contains(said, "error: ") {
		t.Errorf("a template that was named itself: exit code %d, %s", named, said)
	}
}

func TestTextThatLooksLikeATemplateButIsDataIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.Replace(service("web", `["192.0.2.1"]`), `"metadata":{`, `"metadata":{"annotations":{"text":"{{ .Values }}"},`, 1)
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, messages := call(t, "", cli.Wiring{}, "preflight", "--target", "1.40", "-f", dir); code != cli.ExitFindings {
		t.Errorf("exit code %d: %s%s", code, out, messages)
	}
}

// sarifLog is what the schema of SARIF 2.1.0 requires, and what annotating services read.
type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name  string
				Rules []struct {
					ID                   string
					ShortDescription     struct{ Text string }
					DefaultConfiguration struct{ Level string }
				}
			}
		}
		AutomationDetails struct{ ID string }
		Invocations       []struct {
			ExecutionSuccessful        *bool
			ToolExecutionNotifications []struct {
				Level   string
				Message struct{ Text string }
			}
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Level     string
			Message   struct{ Text string }
			Locations []struct {
				PhysicalLocation *struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           struct{ StartLine int }
				}
				LogicalLocations []struct{ FullyQualifiedName string }
			}
			PartialFingerprints map[string]string
		}
	}
}

func sarif(t *testing.T, stdin string, args ...string) sarifLog {
	t.Helper()
	_, out, _ := call(t, stdin, cli.Wiring{Version: "dev"}, append([]string{"preflight", "-o", "sarif"}, args...)...)
	var log sarifLog
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if strings.Contains(out, ": null") || len(log.Runs) != 1 || log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "sarif-schema-2.1.0.json") {
		t.Fatalf("no SARIF 2.1.0:\n%s", out)
	}
	return log
}

func TestSARIFHasWhatTheSchemaAsksFor(t *testing.T) {
	t.Parallel()
	run := sarif(t, "", "--target", "1.40", "-f", tree).Runs[0]
	ids := []string{}
	for _, rule := range run.Tool.Driver.Rules {
		if slices.Contains(ids, rule.ID) || rule.ShortDescription.Text == "" || !sarifLevel(rule.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", rule)
		}
		ids = append(ids, rule.ID)
	}
	if run.Tool.Driver.Name == "" || !strings.HasSuffix(run.AutomationDetails.ID, "/") || len(run.Results) != 4 {
		t.Errorf("driver %q, id %q, %d results", run.Tool.Driver.Name, run.AutomationDetails.ID, len(run.Results))
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(ids) || ids[r.RuleIndex] != r.RuleID || r.Message.Text == "" || !sarifLevel(r.Level) {
			t.Errorf("result %+v", r)
		}
		prints[r.PartialFingerprints["offrampObject/v1"]] = true
	}
	if len(prints) != len(run.Results) {
		t.Errorf("%d fingerprints for %d results", len(prints), len(run.Results))
	}
}

func sarifLevel(level string) bool {
	return slices.Contains([]string{"none", "note", "warning", "error"}, level)
}

func TestSARIFNamesFilesBelowTheRootAndTellsWhatWasPassedOver(t *testing.T) {
	t.Parallel()
	run := sarif(t, "", "--target", "1.40", "-f", tree).Runs[0]
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		if at == nil || at.Region.StartLine < 1 || at.ArtifactLocation.URIBaseID != "%SRCROOT%" {
			t.Fatalf("location %+v", at)
		}
		if u, err := url.Parse(at.ArtifactLocation.URI); err != nil || u.IsAbs() || strings.Contains(u.Path, `\`) {
			t.Errorf("uri %q", at.ArtifactLocation.URI)
		}
	}
	passed := false
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		passed = passed || strings.Contains(n.Message.Text, "template")
	}
	if !*run.Invocations[0].ExecutionSuccessful || !passed {
		t.Errorf("invocation %+v", run.Invocations[0])
	}
}

func TestSARIFPointsAtTheFieldAndSurvivesMovedLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "web site.yaml")
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: a}\nspec:\n  ports: [{port: 80}]\n  externalIPs: [192.0.2.1]\n"
	prints := []string{}
	for moved, want := range []int{6, 8} {
		if err := os.WriteFile(path, []byte(strings.Repeat("# a line\n", 2*moved)+text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := sarif(t, "", "--target", "1.43", "-f", path).Runs[0].Results[0]
		at := r.Locations[0].PhysicalLocation
		if at.Region.StartLine != want || !strings.HasSuffix(at.ArtifactLocation.URI, "web%20site.yaml") || !strings.HasPrefix(at.ArtifactLocation.URI, "file:///") {
			t.Errorf("location %+v, want line %d", at, want)
		}
		prints = append(prints, r.PartialFingerprints["offrampObject/v1"])
	}
	if prints[0] != prints[1] {
		t.Error("the fingerprint moved with the line")
	}
}

func TestSARIFOfHalfAnInputIsNoSuccess(t *testing.T) {
	t.Parallel()
	run := sarif(t, service("web", `["192.0.2.1"]`)+"\n{", "--target", "1.40", "-f", "-").Runs[0]
	if *run.Invocations[0].ExecutionSuccessful || run.Invocations[0].ToolExecutionNotifications[0].Level != "error" {
		t.Errorf("invocation %+v", run.Invocations[0])
	}
	if at := run.Results[0].Locations[0]; at.PhysicalLocation != nil || at.LogicalLocations[0].FullyQualifiedName != "Service a/web" {
		t.Errorf("a stream is no file: %+v", at)
	}
}

// junitSuites is what continuous integration reads.
type junitSuites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			File    string    `xml:"file,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnitCountsWhatItHolds(t *testing.T) {
	t.Parallel()
	hostile := service("esc", `["192.0.2.1"]`) + strings.Replace(service("b", `["192.0.2.2"]`), `"a"`, `"\u0000<a>&\u001b]]>"`, 1)
	tests := map[string]struct {
		stdin                           string
		args                            []string
		tests, failures, errors, passed int
	}{
		"a tree with a template": {"", []string{"--target", "1.40", "-f", tree}, 6, 3, 0, 1},
		"half an input":          {service("web", `["192.0.2.1"]`) + "\n{", []string{"--target", "1.40", "-f", "-"}, 3, 1, 1, 0},
		"nothing to tell":        {service("web", `[]`), []string{"--target", "1.36", "-f", "-"}, 2, 0, 0, 0},
		"hostile text":           {hostile, []string{"--target", "1.40", "-f", "-"}, 4, 2, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out, _ := call(t, tc.stdin, cli.Wiring{}, append([]string{"preflight", "-o", "junit"}, tc.args...)...)
			var got junitSuites
			if err := xml.Unmarshal([]byte(out), &got); err != nil || !strings.HasPrefix(out, "<?xml") {
				t.Fatalf("%v in\n%s", err, out)
			}
			if got.Tests != tc.tests || got.Failures != tc.failures || got.Errors != tc.errors || got.Skipped != tc.passed {
				t.Errorf("got %d tests, %d failures, %d errors, %d skipped; want %+v\n%s", got.Tests, got.Failures, got.Errors, got.Skipped, tc, out)
			}
			failures, names := 0, map[string]bool{}
			for _, c := range got.Suites[0].Cases {
				if c.Failure != nil {
					failures++
				}
				names[c.Class+" "+c.Name] = true
			}
			if failures != got.Failures || len(names) != got.Tests {
				t.Errorf("%d failures and %d names among the cases", failures, len(names))
			}
		})
	}
}

func TestCellsOfCSVCannotBecomeFormulas(t *testing.T) {
	t.Parallel()
	hostile := strings.Replace(service("web", `["=1+1\"", "@SUM(A1)", "+1", "-1", "\t=2"]`), `"namespace"`, `"annotations":{"offramp.dev/hostnames":"=cmd|' /C calc'!A0"},"namespace"`, 1)
	for _, args := range [][]string{{"inventory"}, {"preflight", "--target", "1.40"}, {"inventory", "--conflicts"}} {
		_, out, _ := call(t, hostile, cli.Wiring{}, append(args, "-f", "-", "-o", "csv")...)
		if strings.Count(out, "\n") != strings.Count(out, "\r\n") {
			t.Errorf("%v: a line does not end in CRLF:\n%q", args, out)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.IndexAny(cell, "=+-@\t\r") == 0 {
					t.Errorf("%v: the cell %q begins a formula", args, cell)
				}
			}
		}
	}
}

func TestMarkdownHoldsTextOfTenantsStill(t *testing.T) {
	t.Parallel()
	hostile := service("web", `["[x](https://evil.example) @everyone <img src=x> | a | b\u0060\u0060", "**b** #1 www.evil.example"]`)
	for _, args := range [][]string{{"inventory"}, {"preflight", "--target", "1.40"}} {
		_, out, _ := call(t, hostile, cli.Wiring{}, append(args, "-f", "-", "-o", "markdown")...)
		columns := 0
		for line := range strings.Lines(out) {
			plain, _ := withoutCode(strings.ReplaceAll(line, `\|`, ""))
			for _, bad := range []string{"@", "<", "](", "://", "www.", "**b", "#1"} {
				if strings.Contains(plain, bad) {
					t.Errorf("%v: %q stands outside code in %q", args, bad, line)
				}
			}
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); columns == 0 {
				columns = n
			} else if n != columns {
				t.Errorf("%v: a cell ended its column: %q", args, line)
			}
		}
	}
}

// withoutCode removes code spans: a run of backticks closes the run of the same length.
func withoutCode(line string) (plain string, closed bool) {
	var out strings.Builder
	for {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			return out.String() + line, true
		}
		out.WriteString(line[:at])
		rest := strings.TrimLeft(line[at:], "`")
		fence := line[at : len(line)-len(rest)]
		end := closing(rest, fence)
		if end < 0 {
			return out.String() + rest, false
		}
		line = rest[end+len(fence):]
	}
}

func closing(text, fence string) int {
	for at := 0; at < len(text); at++ {
		if text[at] != '`' {
			continue
		}
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == len(fence) {
			return at
		}
		at += run - 1
	}
	return -1
}

func TestInputThatCannotBeReadIsNotCalledEmpty(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "No Service was read, because the input could not be", "wide": "Nothing is known.", "json": `"complete": false`,
		"yaml": "complete: false", "markdown": "No Service was read",
	} {
		code, out, messages := call(t, "kind: [", cli.Wiring{}, "inventory", "-f", "-", "-o", format)
		if code != cli.ExitError || !strings.Contains(out, want) || strings.Contains(out, "0 of 0") || !strings.Contains(messages, "stdin: document 1") {
			t.Errorf("%s: exit code %d\n%s%s", format, code, out, messages)
		}
	}
}

func TestConflictsAreShownAlone(t *testing.T) {
	t.Parallel()
	other := strings.Replace(service("web", `["192.0.2.1"]`), `"namespace":"a"`, `"namespace":"b"`, 1)
	both := service("web", `["192.0.2.1"]`) + other
	for format, want := range map[string]string{
		"table": "192.0.2.1", "wide": "held by a/web, b/web", "json": `"kind": "ConflictReport"`, "csv": "a/web b/web", "markdown": "# Conflicts",
	} {
		code, out, messages := call(t, both, cli.Wiring{}, "inventory", "--conflicts", "-f", "-", "-o", format)
		if code != cli.ExitFindings || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, want %q in\n%s%s", format, code, want, out, messages)
		}
	}
	if code, out, _ := call(t, service("web", `["192.0.2.1"]`), cli.Wiring{}, "inventory", "--conflicts", "-f", "-"); code != cli.ExitOK {
		t.Errorf("one Service alone: exit code %d\n%s", code, out)
	}
	if code, out, _ := call(t, both+service("c", `["192.0.2.9"]`), cli.Wiring{}, "inventory", "--conflicts", "-n", "z", "-f", "-"); code != cli.ExitOK {
		t.Errorf("another namespace: exit code %d\n%s", code, out)
	}
}

func TestTheReleasesAndFormatsAreCompleted(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string][]string{
		"--target": {"1.36", "1.40", "1.43", "1.46"}, "-o": {"table", "json", "yaml", "csv", "markdown", "sarif", "junit"},
	} {
		_, out, _ := call(t, "", cli.Wiring{}, "__complete", "preflight", flag, "")
		if got := strings.Fields(out); !slices.Equal(got[:min(len(want), len(got))], want) {
			t.Errorf("%s: completed %q, want %q", flag, got, want)
		}
	}
}

func TestPreflightOfAClusterNamesObjectsAndNoFiles(t *testing.T) {
	t.Parallel()
	w, _ := cluster(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.50"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cilium-config"}, Data: map[string]string{"kube-proxy-replacement": "true"},
	})
	code, out, messages := call(t, "", w, "preflight", "--target", "1.40", "-o", "sarif")
	if code != cli.ExitFindings || strings.Contains(out, "physicalLocation") || !strings.Contains(out, `"ruleId": "FieldUpToDatapath"`) {
		t.Errorf("exit code %d: %s%s", code, out, messages)
	}
}
