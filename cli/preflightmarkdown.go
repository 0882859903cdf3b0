package cli

import (
	"fmt"
	"strings"
)

// preflightMarkdown is the report for a pull request or a ticket.
func preflightMarkdown(r *preflightReport) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Preflight for Kubernetes %s\n\n%s\n\nDatapath: %s.\n\n", r.Target, markdownText(r.Change), markdownText(r.Datapath.String()))
	fmt.Fprintf(&out, "**%s**\n", markdownText(r.verdict()))
	if len(r.Consequences) > 0 {
		var rows [][]string
		for _, q := range r.Consequences {
			rows = append(rows, []string{
				string(q.Level), string(q.Effect), q.subject(), few(q.Addresses, 4), q.Message, q.Fix, q.Location.String(),
			})
		}
		out.WriteString("\n" + markdownTable([]string{"Level", "Effect", "Object", "Addresses", "What happens", "What to do", "Where"}, rows))
	}
	out.WriteString(markdownPassed(r.Skipped))
	if len(r.Unseen) > 0 {
		out.WriteString("\n## Not looked at\n\n")
		for _, u := range r.Unseen {
			fmt.Fprintf(&out, "- %s: %s\n", markdownText(u.Kind), markdownText(u.Why))
		}
	}
	return out.String()
}
