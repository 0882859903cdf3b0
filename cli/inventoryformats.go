package cli

import (
	"fmt"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// rows are the cells of csv: one for each entry point and finding, one for an entry point without any, and those of
// findings that belong to none; the header comes first.
func (i *inventoryView) rows() [][]string {
	out := [][]string{{
		"entryPoint", "verdict", "strategy", "services", "addresses", "ports", "names", "severity", "reason", "object", "message", "fix",
		"file", "document", "line",
	}}
	for _, e := range i.EntryPoints {
		head := []string{
			e.Name, string(e.Verdict), string(e.Strategy), strings.Join(e.Services, " "), strings.Join(e.Addresses, " "),
			strings.Join(e.Ports, " "), strings.Join(e.Names, " "),
		}
		if len(e.Findings) == 0 {
			file, document, line := i.place("Service "+first(e.Services), "externalIPs").cells()
			out = append(out, append(head, "", "", "", "", "", file, document, line))
		}
		for _, f := range e.Findings {
			out = append(out, i.findingRow(head, f))
		}
	}
	for _, f := range i.Findings {
		out = append(out, i.findingRow(make([]string, 7), f))
	}
	return out
}

func (i *inventoryView) findingRow(head []string, f v1alpha1.Finding) []string {
	file, document, line := i.placeOf(f).cells()
	return append(append([]string{}, head...), string(f.Severity), f.Reason, f.Object, f.Message, f.Fix, file, document, line)
}

// placeOf is where the object of a finding stands: findings name it as "Service ns/name", with the field behind.
func (i *inventoryView) placeOf(f v1alpha1.Finding) *location {
	kind, rest, _ := strings.Cut(f.Object, " ")
	name, field, _ := strings.Cut(rest, " ")
	return i.place(kind+" "+name, field)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// inventoryMarkdown is the answer for a ticket or a pull request.
func inventoryMarkdown(i *inventoryView) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Inventory of externalIPs\n\n%s\n", markdownText(i.summary()))
	if len(i.EntryPoints) > 0 {
		var rows [][]string
		for _, e := range i.EntryPoints {
			rows = append(rows, []string{
				e.Name, few(i.placed(e.Services), 3), few(e.Addresses, 4), few(e.Ports, 6), string(e.Strategy), string(e.Verdict), few(reasons(e), 6),
			})
		}
		out.WriteString("\n" + markdownTable([]string{"Entry point", "Services", "Addresses", "Ports", "Strategy", "Verdict", "Reasons"}, rows))
	}
	if rows := i.findingRows(); len(rows) > 0 {
		out.WriteString("\n## Findings\n\n" + markdownTable([]string{"Entry point", "Severity", "Reason", "Object", "What it is", "What to do"}, rows))
	}
	if len(i.Conflicts) > 0 {
		out.WriteString("\n## Conflicts\n\n" + markdownTable(conflictHeader(), conflictRows(i.Conflicts)))
	}
	out.WriteString(markdownPassed(i.passed))
	if kinds := unseenKinds(i.Findings); len(kinds) > 0 {
		out.WriteString("\n## Not looked at\n\nWhat depends on these is unknown: " + markdownText(strings.Join(kinds, ", ")) + ".\n")
	}
	return out.String()
}

// unseenKinds are what findings say was not looked at.
func unseenKinds(findings []v1alpha1.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Reason == inventory.ReasonUnseen {
			out = append(out, f.Object)
		}
	}
	return out
}

// markdownPassed lists templates that were passed over.
func markdownPassed(passed []skipped) string {
	if len(passed) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("\n## Passed over\n\n")
	for _, s := range passed {
		fmt.Fprintf(&out, "- %s: %s\n", markdownText(s.File), markdownText(s.Why))
	}
	return out.String()
}

func (i *inventoryView) findingRows() [][]string {
	var out [][]string
	add := func(name string, list []v1alpha1.Finding) {
		for _, f := range list {
			if f.Reason == inventory.ReasonUnseen {
				continue // They have a section of their own.
			}
			out = append(out, []string{name, string(f.Severity), f.Reason, f.Object, f.Message, f.Fix})
		}
	}
	for _, e := range i.EntryPoints {
		add(e.Name, e.Findings)
	}
	add("", i.Findings)
	return out
}

// report is the answer for programs.
func (i *inventoryView) report() inventoryReport {
	out := inventoryReport{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "InventoryReport", EntryPoints: []reportEntryPoint{},
		Findings: i.located(i.Findings), Conflicts: reportConflicts(i.Conflicts), Skipped: append([]skipped{}, i.passed...),
		Summary: i.Summary, Complete: !i.failed,
	}
	for _, e := range i.EntryPoints {
		out.EntryPoints = append(out.EntryPoints, reportEntryPoint{
			e.Name, notNull(e.Addresses), notNull(e.Services), notNull(e.Ports), notNull(e.Names), e.Policy, e.Strategy, e.Why, e.Verdict,
			append([]inventory.Attracted{}, e.Attraction...), reportPointers(e.DNS), i.located(e.Findings),
		})
	}
	return out
}

func reportPointers(in []inventory.Pointer) []inventory.Pointer {
	out := make([]inventory.Pointer, 0, len(in))
	for _, p := range in {
		p.Addresses = notNull(p.Addresses)
		out = append(out, p)
	}
	return out
}

func (i *inventoryView) located(in []v1alpha1.Finding) []locatedFinding {
	out := []locatedFinding{}
	for _, f := range in {
		out = append(out, locatedFinding{reportFinding(f), i.placeOf(f)})
	}
	return out
}
