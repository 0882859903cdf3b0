package cli

import (
	"encoding/csv"
	"strings"
	"unicode"
)

// csvText writes rows as RFC 4180 asks: CRLF, quotes where they are needed. No cell can begin a formula.
func csvText(rows [][]string) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, cell := range row {
			clean[i] = csvCell(cell)
		}
		_ = w.Write(clean) // A strings.Builder takes everything.
	}
	w.Flush()
	return out.String()
}

// csvCell keeps a spreadsheet from calculating what a tenant wrote: a formula begins with one of these characters, whatever
// white space stands before it.
func csvCell(text string) string {
	clean := oneLine(text)
	if strings.IndexAny(clean, "=+-@|%") == 0 || strings.IndexAny(clean, "＝＋－＠") == 0 {
		return "'" + clean
	}
	return clean
}

// markdownTable is a table of GitHub's Markdown; no cell can end its column or begin markup.
func markdownTable(header []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	line(strings.Split(strings.Repeat("--- ", len(header)), " ")[:len(header)])
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, cell := range row {
			clean[i] = markdownText(cell)
		}
		line(clean)
	}
	return out.String()
}

// markdownText makes text of strangers stand as it was written. Plain words are escaped; what a renderer could still make a
// link or a mention of stands as code, in which it makes nothing.
func markdownText(text string) string {
	clean := oneLine(text)
	if clean == "" {
		return "-"
	}
	if strings.ContainsAny(clean, "@`#") || strings.Contains(clean, "://") || strings.Contains(strings.ToLower(clean), "www.") {
		return markdownCode(clean)
	}
	var out strings.Builder
	for _, r := range clean {
		switch {
		case r == '<':
			out.WriteString("&lt;")
			continue
		case r == '>':
			out.WriteString("&gt;")
			continue
		case r == '&':
			out.WriteString("&amp;")
			continue
		case strings.ContainsRune(`\*_{}[]|~$!`, r):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// markdownCode is a code span with a fence that the text cannot close. A pipe ends a column even there, unless escaped.
func markdownCode(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		run++
		if r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	pad := ""
	if longest > 0 || unicode.IsSpace(rune(text[0])) {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(text, "|", `\|`) + pad + fence
}
