package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"offramp.dev/cli"
	"offramp.dev/inventory"
)

// TestDocsSayWhatThePluginSays runs every command of a console block and compares what it prints, standard output first;
// -update writes the pages anew.
func TestDocsSayWhatThePluginSays(t *testing.T) {
	t.Chdir("..")
	for _, page := range []string{"preflight.md", "cli.md"} {
		path := filepath.Join("docs", page)
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		want := string(text)
		if page == "preflight.md" {
			want = between(t, want, "<!-- effects: go test ./cli -run Docs -update -->\n", "<!-- end -->", effectsTable())
		}
		golden(t, path, transcripts(t, want))
	}
}

func between(t *testing.T, text, begin, end, inside string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the page lacks %s ... %s", begin, end)
	}
	return before + begin + inside + end + after
}

func effectsTable() string {
	var out strings.Builder
	out.WriteString("| effect | level | depends | meaning | way out |\n|---|---|---|---|---|\n")
	for _, d := range inventory.Effects() {
		depends := "no"
		if d.Depends {
			depends = "yes"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", d.Effect, d.Level, depends, d.Meaning, d.WayOut)
	}
	return out.String()
}

// transcripts fills in what each command prints, and its exit code where that is not 0.
func transcripts(t *testing.T, page string) string {
	t.Helper()
	const fence, prompt = "```console\n", "$ kubectl-offramp "
	var out strings.Builder
	for rest := page; ; {
		before, block, found := strings.Cut(rest, fence)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		block, after, closed := strings.Cut(block, "```\n")
		command, _, _ := strings.Cut(block, "\n")
		line, ours := strings.CutPrefix(command, prompt)
		if !closed || !ours {
			t.Fatalf("a console block does not begin with %q: %s", prompt, block)
		}
		code, said, messages := call(t, "", cli.Wiring{Version: "dev"}, strings.Fields(line)...)
		out.WriteString(fence + command + "\n" + strings.ReplaceAll(messages+said, "\r\n", "\n"))
		if code != cli.ExitOK {
			fmt.Fprintf(&out, "(exit code %d)\n", code)
		}
		out.WriteString("```\n")
		rest = after
	}
}
