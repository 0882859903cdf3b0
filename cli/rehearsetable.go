package cli

import (
	"fmt"
	"slices"
	"strings"
)

func (a *app) printRehearsal(r *Rehearsal, o rehearseFlags) error {
	if o.format == "json" || o.format == "yaml" {
		if err := a.encode(o.format, r.Report); err != nil {
			return err
		}
		if !o.Demo {
			return nil
		}
		a.say("%s", demoLine(r))
		return nil
	}
	text := rehearsalTable(r, o.format == "wide")
	if o.Demo {
		text += "\n" + demoLine(r) + "\n"
	}
	return a.print(text)
}

// rehearsalTable tells a newcomer what happened to each entry point.
func rehearsalTable(r *Rehearsal, wide bool) string {
	var out strings.Builder
	out.WriteString("An embedded world: cluster parts, name servers and clients are emulated, the controllers are the real ones.\n")
	for _, text := range r.Assumed {
		fmt.Fprintf(&out, "  Assumed: %s\n", oneLine(text))
	}
	t := newTable("ENTRY POINT", "STRATEGY", "OUTCOME", "REQUESTS", "LOST", "WRITES API/DNS")
	for _, w := range r.Walks {
		t.row(w.Name, w.Strategy, w.Outcome, fmt.Sprint(w.Sent), fmt.Sprint(w.Lost), fmt.Sprintf("%d/%d", w.API, w.DNS))
	}
	fmt.Fprintf(&out, "\n%s", t)
	out.WriteString(unended(r.Walks))
	if wide {
		for _, w := range r.Walks {
			out.WriteString(walkTable(w))
		}
	}
	out.WriteString("\nReleased: off externalIPs, served by the new path. Undone: turned back, everything as before.\n" +
		"Blocked: not begun; the reason says who must act. Held: stopped where it was; the old path still works.\n" +
		"CleanUp: the field carries no traffic; removing it is all there is to do.\n")
	return out.String()
}

// unended says of every walk that did not end as it should where it stands, behind an empty line; nothing where all did.
func unended(walks []Walk) string {
	var out strings.Builder
	for _, w := range walks {
		if w.Outcome != "Released" && w.Outcome != "Undone" {
			fmt.Fprintf(&out, "%s: %s\n", oneLine(w.Name), oneLine(w.Why))
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n" + out.String()
}

// walkTable lists one walk's gates in the order in which they were met first; those never met come last, in table order.
func walkTable(w Walk) string {
	gates := slices.Clone(w.Gates)
	slices.SortStableFunc(gates, func(a, b WalkedGate) int { return strings.Compare(orLast(a.At), orLast(b.At)) })
	t := newTable("GATE", "VERDICT", "REASON", "FIRST MET")
	for _, g := range gates {
		t.row(g.Name, g.Verdict, g.Reason, g.At)
	}
	return "\n" + oneLine(w.Name) + "\n" + t.indented()
}

// orLast sorts an absent time behind every other.
func orLast(at string) string {
	if at == "" {
		return "~"
	}
	return at
}

// hangs tells a walk that was stopped half-way.
func hangs(w Walk) bool { return w.Outcome == "Held" }

// demoLine is the last line of the demo; scripts read it.
func demoLine(r *Rehearsal) string {
	count := map[string]int{}
	for _, w := range r.Walks {
		count[w.Outcome]++
	}
	return fmt.Sprintf("demo: entry points %d, released %d, undone %d, blocked %d, requests %d, lost %d",
		len(r.Walks), count["Released"], count["Undone"], count["Blocked"], r.Sent, r.Lost)
}
