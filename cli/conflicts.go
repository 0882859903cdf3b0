package cli

import (
	"fmt"
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// conflictReport is the contract of inventory --conflicts -o json.
type conflictReport struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Conflicts  []inventory.Conflict `json:"conflicts"`
	// Complete: everything that was given could be read.
	Complete bool `json:"complete"`
}

func (a *app) runConflicts(i *inventoryView, format string) error {
	if err := a.printConflicts(i, format); err != nil {
		return err
	}
	switch {
	case i.failed:
		return errReported
	case len(i.Conflicts) > 0:
		return errFindings
	default:
		return nil
	}
}

func (a *app) printConflicts(i *inventoryView, format string) error {
	list := i.Conflicts
	switch format {
	case "json", "yaml":
		return a.encode(format, conflictReport{v1alpha1.GroupVersion.String(), "ConflictReport", reportConflicts(list), !i.failed})
	case "csv":
		return a.print(csvText(append([][]string{conflictHeader()}, conflictRows(list)...)))
	case "markdown":
		return a.print("# Conflicts of addresses\n\n" + markdownTable(conflictHeader(), conflictRows(list)))
	default:
		return a.print(conflictText(i, format == "wide"))
	}
}

// reportConflicts makes sure that no list of the contract is null.
func reportConflicts(in []inventory.Conflict) []inventory.Conflict {
	out := make([]inventory.Conflict, 0, len(in))
	for _, c := range in {
		c.Services = notNull(c.Services)
		out = append(out, c)
	}
	return out
}

func conflictHeader() []string {
	return []string{"address", "risk", "reason", "services", "message", "fix", "first", "later"}
}

func conflictRows(list []inventory.Conflict) [][]string {
	out := make([][]string, 0, len(list))
	for _, c := range list {
		out = append(out, []string{
			c.Address, string(c.Risk), c.Reason, strings.Join(c.Services, " "), c.Message, c.Fix, claimText(c.First), laterText(c.Later),
		})
	}
	return out
}

// claimText is who wrote the address where and when.
func claimText(c *inventory.Claim) string {
	if c == nil {
		return ""
	}
	out := c.User + " in " + c.Service + " at " + c.At.UTC().Format(time.RFC3339)
	if c.Denied {
		return out + " (denied)"
	}
	return out
}

func laterText(claims []inventory.Claim) string {
	out := make([]string, 0, len(claims))
	for i := range claims {
		out = append(out, claimText(&claims[i]))
	}
	return strings.Join(out, "; ")
}

func conflictText(i *inventoryView, wide bool) string {
	list := i.Conflicts
	if len(list) == 0 {
		text := "No address is claimed twice, and none that is not a Service's to claim"
		if i.failed {
			return text + ", in what could be read. Some of the input could not be.\n"
		}
		return text + ".\n"
	}
	var out strings.Builder
	if wide {
		for _, c := range list {
			out.WriteString(conflictLines(c))
		}
		return out.String()
	}
	t := newTable("RISK", "ADDRESS", "REASON", "SERVICES", "FIRST CLAIM")
	for _, c := range list {
		t.row(string(c.Risk), c.Address, c.Reason, few(c.Services, 3), claimText(c.First))
	}
	fmt.Fprintf(&out, "%s\n%s. What to do: -o wide.\n", t, counted(len(list), "conflict"))
	return out.String()
}

// conflictLines is one conflict with everything that is known of it.
func conflictLines(c inventory.Conflict) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %-8s %s: %s: %s\n", c.Risk, oneLine(c.Address), c.Reason, oneLine(c.Message))
	if len(c.Services) > 0 {
		fmt.Fprintf(&out, "      held by %s\n", oneLine(strings.Join(c.Services, ", ")))
	}
	if c.First != nil {
		fmt.Fprintf(&out, "      first   %s\n", oneLine(claimText(c.First)))
	}
	for i := range c.Later {
		fmt.Fprintf(&out, "      later   %s\n", oneLine(claimText(&c.Later[i])))
	}
	if c.Fix != "" {
		fmt.Fprintf(&out, "      -> %s\n", oneLine(c.Fix))
	}
	return out.String()
}
