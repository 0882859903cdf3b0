package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// outputFlag adds -o with the formats that the command knows.
func outputFlag(command *cobra.Command, into *string, formats ...string) {
	command.Flags().StringVarP(into, "output", "o", formats[0], "output format: "+strings.Join(formats, ", "))
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	run := command.RunE
	command.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(formats, *into) {
			return fmt.Errorf("-o %s: no such format; use one of %s", *into, strings.Join(formats, ", "))
		}
		return run(c, args)
	}
}

// encode writes an answer as JSON or YAML. JSON is indented, ends in a line break and escapes nothing that JSON need not.
func (a *app) encode(format string, answer any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(answer); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	out := text.Bytes()
	if format == "yaml" {
		converted, err := yaml.JSONToYAML(out)
		if err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
		out = converted
	}
	return a.print(string(out))
}

// print writes to standard output; a closed pipe is an error, not a crash.
func (a *app) print(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// table lines up columns. Cells are cleaned: text of tenants must not steer the terminal.
type table struct {
	text   bytes.Buffer
	writer *tabwriter.Writer
}

func newTable(header ...string) *table {
	t := &table{}
	t.writer = tabwriter.NewWriter(&t.text, 0, 8, 3, ' ', 0)
	t.row(header...)
	return t
}

func (t *table) row(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		if clean[i] = oneLine(cell); clean[i] == "" {
			clean[i] = "-"
		}
	}
	_, _ = fmt.Fprintln(t.writer, strings.Join(clean, "\t"))
}

// String is the finished table, without blanks at line ends.
func (t *table) String() string {
	_ = t.writer.Flush()
	var out strings.Builder
	for line := range strings.Lines(t.text.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// indented is the finished table below a heading.
func (t *table) indented() string {
	var out strings.Builder
	for line := range strings.Lines(t.String()) {
		out.WriteString("  " + line)
	}
	return out.String()
}

// oneLine makes text of strangers printable in one line of a terminal: control characters, escape sequences and
// direction marks become a question mark.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		default:
			return '?'
		}
	}, strings.TrimSpace(text))
}

// few joins the first of a list and says how many more there are.
func few(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s +%d", strings.Join(list[:most], ","), len(list)-most)
}
