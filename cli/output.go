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
	"unicode/utf16"
	"unicode/utf8"

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

// encode writes an answer as JSON or YAML. JSON is indented and ends in a line break. It escapes what a terminal would act
// upon, and nothing else that JSON need not.
func (a *app) encode(format string, answer any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(answer); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if format != "yaml" {
		return a.print(escaped(text.String(), jsonEscape))
	}
	out, err := toYAML(text.Bytes())
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return a.print(string(out))
}

// toYAML converts JSON. YAML refuses control characters that JSON may hold as they are (DEL, C1), and one in a tenant's
// text must not cost the answer: they are escaped, and the value stays the same.
func toYAML(text []byte) ([]byte, error) {
	return yaml.JSONToYAML([]byte(escaped(string(text), yamlEscape)))
}

// marshalYAML is yaml.Marshal that takes every text that JSON takes.
func marshalYAML(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the object
	}
	return toYAML(raw)
}

// escaped is a text of JSON in which every character that is not printable is written by its number: an escape sequence or a
// direction mark in what a tenant wrote must not steer the terminal that shows it. Outside strings JSON has none.
func escaped(text string, escape func(rune) string) string {
	var out strings.Builder
	from := 0
	for at, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			continue
		}
		out.WriteString(text[from:at] + escape(r))
		from = at + utf8.RuneLen(r)
	}
	return out.String() + text[from:]
}

// jsonEscape follows RFC 8259, 7: a pair of surrogates above U+FFFF.
func jsonEscape(r rune) string {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// yamlEscape follows YAML 1.2, 5.7, which knows no surrogates.
func yamlEscape(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// print writes to standard output; a closed pipe is an error, not a crash.
func (a *app) print(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// table lines up columns. Cells are cleaned: text of tenants must not steer the terminal. One longer than any name is cut,
// or it would make every other row as wide; json has all of it.
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
		clean[i] = cut(clean[i], longestCell)
	}
	_, _ = fmt.Fprintln(t.writer, strings.Join(clean, "\t"))
}

// longestCell is a namespace, a slash and a name of Kubernetes at their longest.
const longestCell = 63 + 1 + 253

// cut keeps the first characters of a text, and says that there are more.
func cut(text string, most int) string {
	count := 0
	for at := range text {
		if count++; count > most {
			return text[:at] + "..."
		}
	}
	return text
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
