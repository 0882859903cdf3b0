package migration

import (
	"cmp"
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Reason codes of the condition RollbackAvailable, beside those of rows that would hold the way back. They are a contract
// like those of rows.
const (
	ReasonDryRunPassed     = "DryRunPassed"
	ReasonOwnerMustRestore = "OwnerMustRestore"
	ReasonNotAttracted     = "OldPathNotAttracted"
	ReasonRestoreRefused   = "RestoreRefused"
	ReasonRestoreUnknown   = "RestoreUnknown"
)

// Return is what the way back of one member would meet now, as far as it was looked at.
type Return struct {
	// Service as "namespace/name".
	Service string
	// Recreated: the object of the snapshot is gone, and another one has its name.
	Recreated bool
	// Denied is the answer of the API server's own plugin against the field, Refused that of anybody else, to a dry run that
	// puts the field back; Unanswered says why there was no answer. All empty: the dry run passed.
	Denied, Refused, Unanswered string
	// Owner says who applies the Service from elsewhere and would take the field off again, or "".
	Owner string
	// Unattracted says for an old address that something brought to a node when the snapshot was taken, and that nothing
	// brings there now, what is gone; Unseen why that cannot be told.
	Unattracted, Unseen string
}

// RollbackReasons explains the reason codes of RollbackAvailable that no row has, with the verdict that goes with each.
func RollbackReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonDryRunPassed, Met, "A dry run of every step back passes now."},
		{ReasonNothingToUndo, Met, "Nothing was changed, or everything is back as it was."},
		{ReasonDenyEnabled, Held, "The API server refuses the field to everybody: disable DenyServiceExternalIPs before release, or for the way back."},
		{ReasonRestoreRefused, Held, "An admission policy or webhook of somebody else refuses the field: its own words are in the message."},
		{ReasonOwnerMustRestore, Held, "The Service is applied from elsewhere, or another hand took the field: put it back there first."},
		{ReasonNotAttracted, Held, "Nothing brings packets for the old address to a node any more: bring the node or the route back."},
		{ReasonAddressTaken, Held, "Somebody else holds an old address by now: the message names the object."},
		{ReasonServiceGone, Held, "A member is gone, or was created anew since: nothing of it can be put back."},
		{ReasonForgotten, Held, "The snapshot is gone, and with it the way back."},
		{ReasonRestoreUnknown, Unknown, "It cannot be told: the message says what could not be asked."},
	}
}

// Rollback says whether the way back could be walked to its end from here: Met only if a dry run of every step passes now,
// Held if one does not, Unknown if that cannot be told. The reason is that of the first thing in the way; the message names
// all of them. It decides nothing: it is what humans see before they release, and before they go back.
func Rollback(f Facts, members []Return) Row {
	f.Intent.Direction = v1alpha1.DirectionBack
	w := defaultRules().walk(&f)
	switch {
	case w.journal.forgotten:
		return Row{Verdict: Held, Reason: ReasonForgotten, Message: "the snapshot is forgotten: there is no way back"}
	case !f.Record.Exists || !w.journal.any:
		return Row{Verdict: Met, Reason: ReasonNothingToUndo, Message: "nothing is changed, so there is nothing to undo"}
	case f.Record.Snapshot == nil:
		return Row{Verdict: Held, Reason: ReasonForgotten, Message: "MigrationRecord " + f.Record.Name + " holds no snapshot: there is nothing to put back"}
	}
	return worst(append(w.returns(members), w.namesReturn()...))
}

// worst sums up: what holds goes before what is unknown, and within each what was found first.
func worst(found []outcome) Row {
	slices.SortStableFunc(found, func(a, b outcome) int { return cmp.Compare(grade(a), grade(b)) })
	if len(found) == 0 {
		return Row{Verdict: Met, Reason: ReasonDryRunPassed, Message: "a dry run of every step back passes now"}
	}
	var messages []string
	for _, o := range found {
		if !slices.Contains(messages, o.message) {
			messages = append(messages, o.message)
		}
	}
	return Row{Verdict: found[0].verdict, Reason: found[0].reason, Message: strings.Join(messages, "; ")}
}

func grade(o outcome) int {
	if o.verdict == Held {
		return 0
	}
	return 1
}

// returns is what stands in the way of the members. A member that nobody looked at is unknown.
func (w *walk) returns(members []Return) []outcome {
	var out []outcome
	for i := range w.Fields {
		f := &w.Fields[i]
		at := slices.IndexFunc(members, func(m Return) bool { return m.Service == f.Service })
		if at < 0 {
			out = append(out, unknown(ReasonRestoreUnknown, "Service "+f.Service+" was not looked at yet"))
			continue
		}
		out = append(out, w.returnOf(f, &members[at])...)
	}
	if len(w.Fields) == 0 {
		out = append(out, unknown(ReasonRestoreUnknown, "no member was looked at yet"))
	}
	return out
}

func (w *walk) returnOf(f *Field, m *Return) []outcome {
	name := "Service " + f.Service
	switch {
	case f.Missing:
		return []outcome{held(ReasonServiceGone, name+" is gone: nothing of it can be put back; create it again, or leave it out by hand")}
	case m.Recreated:
		return []outcome{held(ReasonServiceGone, name+" was deleted and created anew since the snapshot: what was taken from the first is not the second's")}
	}
	var out []outcome
	add := func(o outcome, when bool) {
		if when {
			out = append(out, o)
		}
	}
	mine := w.rules.ours(w, f)
	add(held(ReasonAddressTaken, f.Foreign+" holds an address of "+name), !f.Present && f.Foreign != "")
	add(held(ReasonDenyEnabled, name+": "+m.Denied), m.Denied != "")
	add(held(ReasonRestoreRefused, name+": "+m.Refused), m.Refused != "")
	add(held(ReasonOwnerMustRestore, name+" lost the field by another hand than ours, which must put it back"), !f.Present && !mine && !w.journal.putBack())
	add(held(ReasonOwnerMustRestore, m.Owner), m.Owner != "")
	add(held(ReasonNotAttracted, m.Unattracted), !f.Present && m.Unattracted != "")
	add(unknown(ReasonRestoreUnknown, name+": "+m.Unanswered), m.Unanswered != "")
	add(unknown(ReasonRestoreUnknown, m.Unseen), !f.Present && m.Unseen != "")
	return out
}

// putBack: everything that we took is back already.
func (j *journal) putBack() bool { return j.restored != never && j.restored > j.released }

// namesReturn is what would hold the names. Before the first intent nothing has to go back.
func (w *walk) namesReturn() []outcome {
	if w.nameless() || w.rules.never(w) {
		return nil
	}
	var out []outcome
	for i := range w.Names {
		n := &w.Names[i]
		if len(n.Servers) == 0 || !n.Servers[0].Known {
			out = append(out, unknown(ReasonRestoreUnknown, "the primary server of "+n.Name.Name+" could not be asked"))
			continue
		}
		if o := w.writable(n, &n.Servers[0].Value, dnsctl.StepLowTTL); o.verdict == Held {
			out = append(out, o)
		}
	}
	if o := oldPath(w); o.verdict == Held && w.firstTaken() == nil && w.allPresent() {
		out = append(out, o)
	}
	return out
}

func (w *walk) allPresent() bool {
	return !slices.ContainsFunc(w.Fields, func(f Field) bool { return !f.Present })
}

// InRetention tells whether nothing but the way back is left of the walk: the field is gone, and the names are where they stay.
func InRetention(f Facts) bool {
	w := defaultRules().walk(&f)
	return w.journal.latched() && (w.nameless() || w.journal.ok(w.last+1))
}

// Spellings are addresses in their canonical form, as Restore writes them.
func Spellings(addresses []string) []string {
	out := make([]string, 0, len(addresses))
	for _, a := range addresses {
		out = append(out, spelling(a))
	}
	return out
}
