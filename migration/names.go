package migration

import (
	"time"

	"offramp.dev/dnsctl"
)

// markLease is how long our mark at a name speaks. It is renewed with every change only, and a name may rest for weeks
// between two steps, so it is long. Offramp never acts on a lease that ran out, neither its own nor another's: it tells
// a human that the walk was abandoned.
const markLease = 90 * 24 * time.Hour

// rounding is what resolvers add to a TTL by counting in whole seconds.
const rounding = 2 * time.Second

func (w *walk) percents() []int32 { return w.settings.Percents }

// allows tells whether a server may answer r in step k.
func (w *walk) allows(n *NameFacts, k dnsctl.Step, r *dnsctl.RecordSet) bool {
	for _, set := range n.Name.Allowed(k, w.percents()) {
		if set.Equal(*r) {
			return true
		}
	}
	return false
}

// mark is what our mark at a name must say in step k: the youngest intent, or nothing in the snapshot's.
func mark(w *walk, k dnsctl.Step) dnsctl.Mark {
	if k <= dnsctl.StepSnapshot {
		return dnsctl.Mark{}
	}
	return dnsctl.Mark{Owner: w.Record.Name, Sequence: w.journal.intent, Until: w.Now.Add(markLease)}
}

func (w *walk) marked(k dnsctl.Step, a *dnsctl.Answer) bool {
	m := w.rules.mark(w, k)
	return a.Mark.Owner == m.Owner && a.Mark.Sequence == m.Sequence
}

// inside tells whether an answer belongs to step k: an allowed set, with the mark of the youngest intent. A human who
// keeps a manual zone writes no marks.
func inside(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool {
	return w.allows(n, k, &a.Records) && (n.Manual || w.marked(k, a))
}

// answers tells whether the primary answers what the schedule of step k says now. Nobody flips slots by hand: in a
// manual zone every allowed set will do.
func answers(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool {
	if n.Manual {
		return w.allows(n, k, &a.Records)
	}
	want := w.wanted(n, k)
	return want.Equal(a.Records) && w.marked(k, a)
}

func (w *walk) wanted(n *NameFacts, k dnsctl.Step) dnsctl.RecordSet {
	return n.Name.Wanted(k, w.percents(), w.journal.intentAt, w.Now, w.Slots && n.Rotates.Known && n.Rotates.Value)
}

func reverted(w *walk) bool { return w.journal.reverted() }

// kept: a set is written only while what it keeps is known good. Dropping the new address leaves the old path alone.
func kept(w *walk, n *NameFacts, a *dnsctl.Answer, want *dnsctl.RecordSet) outcome {
	if n.Name.HasNew(*want) || !n.Name.HasNew(a.Records) {
		return outcome{}
	}
	return w.oldGood()
}
