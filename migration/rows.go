package migration

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Decide walks the table. It is pure: the same facts, the same decision.
func Decide(f Facts) Decision {
	return defaultRules().answer(&f)
}

func (r *rules) answer(f *Facts) Decision {
	w := r.walk(f)
	o := r.decide(w)
	d := Decision{At: w.row(o), Action: o.action, Aborted: w.journal.aborted, Step: int(dnsctl.StepSnapshot)}
	d.Ended = o.passes() && (w.journal.forgotten || w.journal.undone >= w.attempt)
	if w.journal.intended {
		d.Step = int(w.journal.step)
	}
	d.Rows = w.rows(o, d.Ended)
	d.Again = w.nextLook(o, d.Ended)
	return d
}

// rows shows every gate in the direction that is walked. Behind the row where the walk stands only what holds by itself
// is shown; the rest was not reached.
func (w *walk) rows(at outcome, ended bool) []Row {
	table := w.rules.table
	rows := make([]Row, len(table))
	back := w.Intent.Direction == v1alpha1.DirectionBack
	stop := slices.IndexFunc(table, func(g gate) bool { return g.Name == at.gate })
	for i := range table {
		beyond := i > stop
		if back {
			beyond = i < stop
		}
		switch {
		case i == stop:
			rows[i] = w.row(at)
		case ended:
			rows[i] = Row{Gate: table[i].Name, Verdict: endedVerdict(at.gate), Reason: at.reason, Message: at.message}
		default:
			rows[i] = w.ownRow(&table[i], back, beyond)
		}
	}
	return rows
}

// endedVerdict: behind Forgotten every gate is overtaken, behind Undone none applies.
func endedVerdict(at Gate) Verdict {
	if at == GateForgotten {
		return Moot
	}
	return NotApplicable
}

func (w *walk) ownRow(g *gate, back, beyond bool) Row {
	face := g.done
	if back {
		face = g.undone
	}
	o := face(w).at(g.Name)
	if beyond && !back && !w.journal.any && g.Name != GateGuarded {
		// Nothing is recorded: what holds by itself, for want of objects or names, has not been walked.
		return Row{Gate: g.Name, Verdict: Later, Reason: ReasonNotReached}
	}
	if beyond && (!o.passes() || g.inTurn && !back && o.verdict != Moot && o.verdict != NotApplicable) {
		return Row{Gate: g.Name, Verdict: Later, Reason: ReasonNotReached}
	}
	return w.row(o)
}

// row is the outcome for display. The shares carry their step as the reason while they work or wait.
func (w *walk) row(o outcome) Row {
	r := Row{Gate: o.gate, Verdict: o.verdict, Reason: o.reason, Message: o.message, Again: o.again}
	if r.Verdict == "" {
		r.Verdict = Met
	}
	if r.Reason == "" {
		r.Reason = ReasonMet
	}
	works := o.verdict == Unmet || o.verdict == Waiting && o.reason != ReasonManualChange
	if o.gate == GateShifted && o.step > 0 && works {
		r.Reason = fmt.Sprintf("Step%dOf%d", o.step, w.last)
	}
	return r
}

// slotPass is how often a walk in slots must pass: more often than the shortest slot that dnsctl makes (10 s).
const slotPass = 5 * time.Second

// nextLook is when to look again at the latest. Name servers, probes and agents send no events, so a walk under way asks
// them again; a walk that only a change of objects can move asks nothing.
func (w *walk) nextLook(o outcome, ended bool) time.Time {
	switch {
	case ended || !w.Record.Exists && o.action == nil && o.verdict == Held:
		return time.Time{}
	case o.action != nil:
		return w.Now
	}
	pause := w.pace(o)
	if pause <= 0 {
		return o.again
	}
	at := w.slotEnd(w.Now.Add(pause))
	if !o.again.IsZero() && o.again.Before(at) {
		return o.again
	}
	return at
}

func (w *walk) pace(o outcome) time.Duration {
	probe := seconds(max(1, w.settings.ProbeInterval))
	switch {
	case w.inSlots():
		return min(probe, slotPass)
	case o.gate == GateForgotten:
		return seconds(w.settings.Recheck)
	case o.verdict == Held && !w.anyServesNew():
		return seconds(w.settings.Recheck)
	}
	return probe
}

// slotEnd is at, or the moment before it at which a name's next slot begins: a flip that comes late gives one side more.
func (w *walk) slotEnd(at time.Time) time.Time {
	place := int(w.journal.step) - 1
	if !w.inSlots() || place < 0 || place >= len(w.percents()) {
		return at
	}
	for i := range w.Names {
		if next := w.Names[i].Name.Schedule(w.percents()[place]).Next(w.journal.intentAt, w.Now); next.Before(at) {
			at = next
		}
	}
	return at
}

func (w *walk) inSlots() bool {
	if !w.journal.intended || w.Intent.Direction == v1alpha1.DirectionBack {
		return false
	}
	return slices.ContainsFunc(w.Names, func(n NameFacts) bool {
		return !n.Manual && len(n.Name.Allowed(w.journal.step, w.percents())) > 1
	})
}

// String prints the rows as a table, where the walk stands and what is done.
func (d Decision) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := range d.Rows {
		r := &d.Rows[i]
		here := " "
		if r.Gate == d.At.Gate {
			here = ">"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\n", here, r.Gate, r.Verdict, r.Reason, r.Message)
	}
	_ = t.Flush() // a strings.Builder takes everything
	action := "nothing"
	if d.Action != nil {
		action = d.Action.String()
	}
	fmt.Fprintf(&b, "does: %s\n", action)
	return b.String()
}
