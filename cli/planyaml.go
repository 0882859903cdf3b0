package cli

import (
	"fmt"
	"strings"
)

// planYAML is what will be applied: every target object of the plan as one document, in the order in which they are
// applied. Converted back to JSON each is, byte for byte, what the plan's hash was taken over. Everything else is comment.
func planYAML(p *planReport) (string, error) {
	var out strings.Builder
	comment := func(format string, args ...any) { out.WriteString("# " + oneLine(fmt.Sprintf(format, args...)) + "\n") }
	comment("EntryPoint %s", p.Name)
	comment("%s", p.origin())
	for _, u := range p.Unknown {
		comment("Not known here: %s", u)
	}
	for _, o := range p.Objects {
		text, err := toYAML(o.Manifest)
		if err != nil {
			return "", fmt.Errorf("%s %s/%s of the plan: %w", o.Kind, o.Namespace, o.Name, err)
		}
		out.WriteString("---\n" + string(text))
	}
	if len(p.Patches) > 0 {
		out.WriteString("---\n")
	}
	for _, e := range p.Patches {
		comment("at gate %s: %s", e.Gate, e.command())
	}
	return out.String(), nil
}

// origin says in one sentence what the objects are worth.
func (p *planReport) origin() string {
	switch {
	case p.Document != nil:
		return "plan " + p.Document.SHA256 + ", as it is recorded; nothing else is applied"
	case p.Source == "Files":
		return "a preview of what the same code would make; it has no hash, and nothing could be approved by it"
	case p.PlanHash != "":
		return "plan " + p.PlanHash + " is not recorded yet, so its objects are not shown; raise the goal to Stage, which changes no traffic"
	default:
		return "there is no plan; the findings say why"
	}
}
