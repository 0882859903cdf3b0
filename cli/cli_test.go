package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"offramp.dev/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// call runs one command line and returns exit code, standard output and standard error.
func call(t *testing.T, stdin string, w cli.Wiring, args ...string) (code int, out, messages string) {
	t.Helper()
	var o, e bytes.Buffer
	if w.Now == nil {
		w.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	}
	code = cli.Run(context.Background(), args, cli.IOStreams{In: strings.NewReader(stdin), Out: &o, Err: &e}, w)
	return code, o.String(), e.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}

func TestInventoryOfFiles(t *testing.T) {
	t.Parallel()
	codes := map[string]int{"mixed": cli.ExitError, "nothing": cli.ExitOK, "shapes": cli.ExitFindings}
	for name, want := range codes {
		for _, format := range []string{"table", "wide", "json", "yaml", "csv", "markdown"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				t.Parallel()
				base := filepath.Join("testdata", "inventory", name)
				code, out, _ := call(t, "", cli.Wiring{}, "inventory", "-f", base+".in.yaml", "-o", format)
				if code != want {
					t.Errorf("exit code %d, want %d", code, want)
				}
				golden(t, base+"."+format+".golden", out)
			})
		}
	}
}

func TestStdinAndFileGiveTheSameAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "inventory", "shapes.in.yaml")
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	_, fromFile, _ := call(t, "", cli.Wiring{}, "inventory", "-f", path, "-o", "json")
	_, fromStdin, _ := call(t, string(text), cli.Wiring{}, "inventory", "-f", "-", "-o", "json")
	if strings.ReplaceAll(fromFile, path, "stdin") != fromStdin {
		t.Errorf("answers differ:\n%s\n%s", fromFile, fromStdin)
	}
}

// service is one manifest with the given name and, in JSON, the given externalIPs.
func service(name, ips string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":"a"},`+
		`"spec":{"selector":{"a":"b"},"ports":[{"port":80,"protocol":"TCP"}],"externalIPs":%s}}`, name, ips)
}

func manyAddresses(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"198.18.%d.%d"`, i/256, i%256)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestBadInputIsToldAndTheRestIsStillReported(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		code int
		out  string
		err  string
	}{
		"malformed YAML":               {"kind: [\n---\n" + service("good", `["192.0.2.1"]`), 1, "a/good", "stdin: document 1, line 1"},
		"malformed JSON":               {service("good", `["192.0.2.1"]`) + "\n{", 1, "a/good", "stdin: document 2, line 2"},
		"an unknown kind":              {`{"apiVersion":"x/v1","kind":"Y"}` + service("good", `["192.0.2.1"]`), 2, "a/good", ""},
		"5,000 addresses":              {service("many", manyAddresses(5000)), 2, "TooManyAddresses", ""},
		"leading zeros":                {service("zero", `["010.0.0.5"]`), 2, "NonCanonicalAddress", ""},
		"a bracket and a space":        {service("bracket", `["[a b]"]`), 2, "BadAddress", ""},
		"IPv4 mapped into IPv6":        {service("mapped", `["::ffff:192.0.2.1"]`), 2, "NonCanonicalAddress", ""},
		"a name of 253 characters":     {service(strings.Repeat("n", 253), `["192.0.2.1"]`), 2, strings.Repeat("n", 253), ""},
		"a number for an address":      {service("number", `[7]`), 1, "Undecodable", "Service a/number: spec.externalIPs"},
		"a string for the list":        {service("text", `"192.0.2.1"`), 1, "Undecodable", "Service a/text: spec.externalIPs"},
		"an object for the list":       {service("object", `{"a":"b"}`), 1, "Undecodable", "Service a/object: spec.externalIPs"},
		"a Service without a name":     {service("", `["192.0.2.1"]`), 1, `"entryPoints": []`, "metadata.name"},
		"metadata that is a list":      {`{"apiVersion":"v1","kind":"Service","metadata":[]}`, 1, `"entryPoints": []`, "metadata"},
		"escape sequences in a value":  {service("esc", `["\u001b[2J"]`), 2, "BadAddress", ""},
		"the field as null":            {service("null", `null`), 0, `"withExternalIPs": 0`, ""},
		"an empty list":                {service("empty", `[]`), 0, `"withExternalIPs": 0`, ""},
		"the field in another case":    {strings.Replace(service("case", `["192.0.2.1"]`), "externalIPs", "ExternalIPs", 1), 0, `"entryPoints": []`, ""},
		"the same Service given twice": {service("twice", `["192.0.2.1"]`) + service("twice", `["192.0.2.1"]`), 2, "a/twice", "DuplicateService"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, messages := call(t, tc.in, cli.Wiring{}, "inventory", "-f", "-", "-o", "json")
			if code != tc.code {
				t.Errorf("exit code %d, want %d; messages:\n%s", code, tc.code, messages)
			}
			if !json.Valid([]byte(out)) || strings.Contains(out, ": null") {
				t.Errorf("standard output is not JSON alone, or holds null:\n%s", out)
			}
			if !strings.Contains(out, tc.out) || !strings.Contains(messages, tc.err) {
				t.Errorf("want %q in the answer and %q in the messages; got\n%s\n%s", tc.out, tc.err, out, messages)
			}
		})
	}
}

func TestTextOfTenantsDoesNotSteerTheTerminalInAnyFormat(t *testing.T) {
	t.Parallel()
	hostile := "x\u001b[2J\u009b31m\u007f\u202e\U000e0041\u2028z"
	value, _ := json.Marshal([]string{hostile})
	for command, formats := range map[string][]string{
		"inventory":               {"table", "wide", "json", "yaml", "csv", "markdown"},
		"preflight --target 1.40": {"table", "json", "yaml", "csv", "markdown", "sarif", "junit"},
	} {
		for _, format := range formats {
			t.Run(command+" as "+format, func(t *testing.T) {
				t.Parallel()
				args := append(strings.Fields(command), "-f", "-", "-o", format)
				code, out, messages := call(t, service("esc", string(value)), cli.Wiring{}, args...)
				if code != cli.ExitFindings || out == "" {
					t.Errorf("exit code %d and %d bytes, want an answer: %s", code, len(out), messages)
				}
				if strings.ContainsAny(out+messages, "\x1b\u009b\x7f") || format != "yaml" && strings.ContainsAny(out, "\u202e\U000e0041\u2028") {
					t.Errorf("control characters came through: %q %q", out, messages)
				}
			})
		}
	}
}

func TestWhatATenantWroteStaysTheSameInJSONAndYAML(t *testing.T) {
	t.Parallel()
	hostile := "x\u001b[2J\u009b31m\u007f\u202e\U000e0041\u2028 <&> é z"
	value, _ := json.Marshal([]string{hostile})
	for _, format := range []string{"json", "yaml"} {
		_, out, _ := call(t, service("esc", string(value)), cli.Wiring{}, "inventory", "-f", "-", "-o", format)
		var got struct {
			EntryPoints []struct{ Addresses []string }
		}
		if err := yaml.Unmarshal([]byte(out), &got); format == "yaml" && err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &got); format == "json" && err != nil {
			t.Fatal(err)
		}
		if len(got.EntryPoints) != 1 || !slices.Equal(got.EntryPoints[0].Addresses, []string{hostile}) {
			t.Errorf("-o %s: %+q, want %q", format, got, hostile)
		}
	}
}

func TestOneLongNameDoesNotWidenTheTable(t *testing.T) {
	t.Parallel()
	_, out, _ := call(t, service(strings.Repeat("n", 5000), `["192.0.2.50"]`), cli.Wiring{}, "inventory", "-f", "-")
	for line := range strings.Lines(out) {
		if len(line) > 1000 {
			t.Errorf("a line of %d characters: %.80s", len(line), line)
		}
	}
}

func TestDNSIsSwitchedWithASpaceOrAnEqualsSign(t *testing.T) {
	t.Parallel()
	for _, flag := range [][]string{{"--dns", "off"}, {"--dns=off"}} {
		args := append([]string{"inventory", "-f", "-"}, flag...)
		if code, _, messages := call(t, service("web", `["192.0.2.50"]`), cli.Wiring{}, args...); code != cli.ExitFindings {
			t.Errorf("%q: exit code %d: %s", flag, code, messages)
		}
	}
}

func TestFiltersChooseByMember(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "inventory", "shapes.in.yaml")
	tests := map[string]struct {
		args     []string
		services int
		points   int
		code     int
	}{
		"everything":             {nil, 4, 4, cli.ExitFindings},
		"all namespaces":         {[]string{"-A", "-n", "shop"}, 4, 4, cli.ExitFindings},
		"one namespace":          {[]string{"-n", "shop"}, 1, 1, cli.ExitFindings},
		"a label":                {[]string{"-l", "team=b"}, 1, 1, cli.ExitFindings},
		"a label and none":       {[]string{"-l", "team=b", "-n", "shop"}, 0, 0, cli.ExitOK},
		"a selector that is bad": {[]string{"-l", "a=b=c"}, 0, 0, cli.ExitError},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, _ := call(t, "", cli.Wiring{}, append([]string{"inventory", "-f", path, "-o", "json"}, tc.args...)...)
			if code != tc.code {
				t.Fatalf("exit code %d, want %d", code, tc.code)
			}
			var got struct {
				Summary struct{ Services, EntryPoints int }
			}
			if code != cli.ExitError && json.Unmarshal([]byte(out), &got) != nil {
				t.Fatalf("no JSON: %s", out)
			}
			if got.Summary.Services != tc.services || got.Summary.EntryPoints != tc.points {
				t.Errorf("got %+v, want %d Services in %d entry points", got.Summary, tc.services, tc.points)
			}
		})
	}
}

func TestWrongCommandLinesEndInOneMessage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"an unknown command": {"fly"}, "an unknown flag": {"inventory", "--fly"}, "an unknown format": {"inventory", "-f", "-", "-o", "xml"},
		"a file without -f": {"inventory", "x.yaml"}, "a missing file": {"inventory", "-f", "absent.yaml"}, "no goal": {"advance", "x"},
		"nothing to rehearse": {"rehearse"}, "plan of nothing": {"plan", "a/b", "-f", "-"}, "no name": {"why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, messages := call(t, "", cli.Wiring{}, args...)
			if code != cli.ExitError || !strings.HasPrefix(messages, "error: ") {
				t.Errorf("exit code %d, messages %q; want 1 and an error", code, messages)
			}
		})
	}
}

func TestAMissingNameIsToldBeforeAClusterIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"plan", "why", "probe", "pause", "resume", "retry", "export", "snapshot export"} {
		_, _, messages := call(t, "", cli.Wiring{}, strings.Fields(command)...)
		if !strings.HasPrefix(messages, "error: NAME is missing: ") {
			t.Errorf("%s: %s", command, messages)
		}
	}
	if _, _, messages := call(t, "", cli.Wiring{}, "rollback"); !strings.HasPrefix(messages, "error: name the entry points, or select them") {
		t.Errorf("rollback: %s", messages)
	}
	if _, _, messages := call(t, "", cli.Wiring{}, "why", "a", "b"); messages != "error: one NAME is taken, 2 are given\n" {
		t.Errorf("two names: %s", messages)
	}
}

func TestFilesAreOfferedOnlyWhereTheyCouldBeLookedAt(t *testing.T) {
	t.Parallel()
	w := cli.Wiring{Connect: func(cli.ConnectOptions) (*cli.Connection, error) { return nil, errors.New("closed") }}
	for command, offered := range map[string]bool{
		"inventory": true, "preflight --target 1.40": true, "plan x": true, "get": false, "why x": false, "pause x": false, "rollback x": false,
	} {
		_, _, messages := call(t, "", w, strings.Fields(command)...)
		if got := strings.HasSuffix(messages, "(to look at files, use -f)\n"); got != offered || !strings.Contains(messages, "no cluster to look at: closed") {
			t.Errorf("%s: %s", command, messages)
		}
	}
}

func TestATemplateInATreeIsPassedOverByEveryCommandThatReadsFiles(t *testing.T) {
	t.Parallel()
	var walked int
	w := cli.Wiring{Rehearse: func(_ context.Context, o cli.RehearseOptions) (*cli.Rehearsal, error) {
		walked = len(o.Objects)
		return &cli.Rehearsal{}, nil
	}}
	for _, command := range []string{"plan shop/web", "rehearse"} {
		code, _, messages := call(t, "", w, append(strings.Fields(command), "-f", tree)...)
		if code != cli.ExitOK || !strings.Contains(messages, "service.yaml: looks like a template: render it first") {
			t.Errorf("%s: exit code %d, messages %s", command, code, messages)
		}
	}
	if walked == 0 {
		t.Error("nothing of the tree was rehearsed")
	}
}

func TestRehearseTellsWhatCame(t *testing.T) {
	t.Parallel()
	answer := &cli.Rehearsal{Report: map[string]string{"kind": "RehearsalReport"}, Sent: 30, Walks: []cli.Walk{
		{Name: "a", Strategy: "Gateway", Outcome: "Released"},
		{Name: "b", Strategy: "Gateway", Outcome: "Undone"},
		{Name: "c", Strategy: "Gateway", Outcome: "Blocked", Why: "somebody else"},
		{Name: "d", Strategy: "None", Outcome: "CleanUp"},
	}}
	held := &cli.Rehearsal{Walks: []cli.Walk{{Name: "a", Strategy: "Gateway", Outcome: "Held"}}}
	tests := map[string]struct {
		answer *cli.Rehearsal
		args   []string
		code   int
		last   string
	}{
		"the demo ends in its line":     {answer, []string{"--demo"}, 0, "demo: entry points 4, released 1, undone 1, blocked 1, requests 30, lost 0"},
		"JSON is the report alone":      {answer, []string{"--demo", "-o", "json"}, 0, "}"},
		"a held walk is a finding":      {held, []string{"-f", "-"}, 2, ""},
		"a lost request is a finding":   {&cli.Rehearsal{Lost: 1}, []string{"-f", "-"}, 2, ""},
		"the demo takes no files":       {answer, []string{"--demo", "-f", "-"}, 1, ""},
		"the demo takes no more words":  {answer, []string{"--demo", "x"}, 1, ""},
		"faults need a list of faults":  {answer, []string{"--demo", "--fault", "x"}, 1, ""},
		"manifests that cannot be read": {answer, []string{"-f", "absent"}, 1, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := cli.Wiring{Rehearse: func(context.Context, cli.RehearseOptions) (*cli.Rehearsal, error) { return tc.answer, nil }}
			code, out, messages := call(t, "", w, append([]string{"rehearse"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, messages)
			}
			if lines := strings.Split(strings.TrimSpace(out), "\n"); tc.last != "" && lines[len(lines)-1] != tc.last {
				t.Errorf("last line %q, want %q", lines[len(lines)-1], tc.last)
			}
		})
	}
}

func TestPlanFromFilesSaysWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "inventory", "shapes.in.yaml")
	for _, name := range []string{"shop/web", "infra/dns", "office/printer", "legacy/db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out, _ := call(t, "", cli.Wiring{}, "plan", name, "-f", path)
			if !strings.Contains(out, "Not known here") {
				t.Errorf("nothing is unknown:\n%s", out)
			}
			golden(t, filepath.Join("testdata", "plan-"+strings.ReplaceAll(name, "/", "-")+".golden"), out)
		})
	}
}
