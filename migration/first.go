package migration

import (
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// The rules before the table, in their order. Each answers and says true, or leaves it to the next.

// ended: Undone and Forgotten are terminal, whatever the world does later.
func ended(w *walk) (outcome, bool) {
	switch {
	case w.journal.forgotten:
		return outcome{gate: GateForgotten, verdict: Met, reason: ReasonForgotten, message: "the walk has ended"}, true
	case w.journal.undone >= w.attempt:
		return outcome{gate: GateUndone, verdict: Met, reason: ReasonUndone, message: "everything is as it was"}, true
	}
	return outcome{}, false
}

// diverged: our mark stands beside another answer, or a step that was seen is no longer so.
func diverged(w *walk) (outcome, bool) {
	j := &w.journal
	if !j.intended || j.diverged >= j.intent {
		return outcome{}, false
	}
	seen := j.ok(j.step)
	for i := range w.Names {
		if n := &w.Names[i]; w.overwritten(n) || seen && w.anyOutside(n, j.step) {
			o := w.stamp(v1alpha1.StampDiverged, j.step, ReasonDiverged, "somebody else changed "+n.Name.Name)
			return o.at(w.gateOf(j.step)), true
		}
	}
	return outcome{}, false
}

// overwritten: our mark stands beside records that its intent does not explain. An older mark counts until the first
// Diverged after it: from then on a human knows, and the next attempt may overwrite.
func (w *walk) overwritten(n *NameFacts) bool {
	j := &w.journal
	if j.step < dnsctl.StepLowTTL || len(n.Servers) == 0 || !n.Servers[0].Known {
		return false
	}
	a := &n.Servers[0].Value
	switch {
	case a.Mark.Owner != w.Record.Name:
		return false
	case a.Mark.Sequence == j.intent:
		return !w.allows(n, j.step, &a.Records)
	}
	return a.Mark.Sequence > j.diverged && !w.explains(n, a)
}

func (w *walk) anyOutside(n *NameFacts, k dnsctl.Step) bool {
	for i := range n.Servers {
		if s := &n.Servers[i]; s.Known && !w.rules.inside(w, n, k, &s.Value) {
			return true
		}
	}
	return false
}

// gateOf is the row that a step belongs to.
func (w *walk) gateOf(k dnsctl.Step) Gate {
	switch {
	case k <= dnsctl.StepLowTTL:
		return GateTTLLowered
	case k > w.last:
		return GateTTLRestored
	}
	return GateShifted
}

// returned: a member carries the field beside our mark, so somebody else put it back.
func returned(w *walk) (outcome, bool) {
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Present && w.rules.ours(w, f) {
			o := w.stamp(v1alpha1.StampReturned, 0, ReasonReturned, "somebody else put the field of "+f.Service+" back")
			return o.at(GateReleased), true
		}
	}
	return outcome{}, false
}

// putBack: the journal says released, yet a member carries the field without our mark, and none is ours any more. We did.
func putBack(w *walk) (outcome, bool) {
	if !w.journal.latched() {
		return outcome{}, false
	}
	present := false
	for i := range w.Fields {
		if w.rules.ours(w, &w.Fields[i]) {
			return outcome{}, false
		}
		present = present || w.Fields[i].Present
	}
	if !present {
		return outcome{}, false
	}
	return w.stamp(v1alpha1.StampRestored, 0, ReasonRestored, "the field is back by our own hand").at(GateReleased), true
}

// failed: names serve a new address and the new path is known to fail. A report, a pause, a freeze and a drifted plan do
// not stop this; it looks at the live names, not at the youngest intent.
func failed(w *walk) (outcome, bool) {
	if !w.protects() || w.journal.aborted || !w.newFailed() || !w.journal.intended || !w.anyServesNew() {
		return outcome{}, false
	}
	o := w.stamp(v1alpha1.StampAbort, w.journal.step, ReasonPathFailed, "the new path failed while names serve it: "+w.New.Detail)
	return o.at(GateProven), true
}

// protects: the old path still stands, so names can go back to it.
func (w *walk) protects() bool {
	return w.Intent.Direction != v1alpha1.DirectionBack && w.journal.any && !w.rules.gone(w)
}

// failureBudget is how many samples of a share step may fail while no round is good; one lost packet aborts nothing.
const failureBudget = 3

func (w *walk) newFailed() bool {
	return w.New.Healthy.Known && !w.New.Healthy.Value || w.New.Failures >= failureBudget && w.New.Rounds == 0
}

// aborted: while the attempt has an Abort the names go back and the staged objects stay, even when the path looks well
// again. A human re-arms with the next attempt.
func aborted(w *walk) (outcome, bool) {
	if !w.journal.aborted || w.Intent.Direction == v1alpha1.DirectionBack || w.rules.gone(w) {
		return outcome{}, false
	}
	return w.retreat(), true
}

func (w *walk) retreat() outcome {
	if w.settings.OnFailure != v1alpha1.OnFailureHold && w.protects() {
		if o, ok := walkRows(w, w.rules.namesBack); ok {
			return o
		}
	}
	return w.rules.safe(w, held(ReasonAborted, "the new path failed in this attempt").at(GateProven))
}

// goingBack walks the table from the other end. A pause stops it, a freeze window, a goal and a drifted plan do not.
func goingBack(w *walk) (outcome, bool) {
	if w.Intent.Direction != v1alpha1.DirectionBack {
		return outcome{}, false
	}
	o, ok := walkRows(w, w.rules.back)
	switch {
	case !ok:
		return outcome{gate: GateUndone, verdict: Met, reason: ReasonNothingToUndo, message: "nothing was ever done"}, true
	case w.Intent.Paused:
		return w.rules.safe(w, held(ReasonPaused, "the entry point is paused").at(o.gate)), true
	}
	return o, true
}

// repair: after release nothing but the target objects can serve, so only a pause stops their repair.
func repair(w *walk) (outcome, bool) {
	if w.frozen == nil || w.Intent.Paused || w.Target.Exact || !w.rules.gone(w) {
		return outcome{}, false
	}
	return act(Apply{Hash: w.frozen.Hash}, ReasonRepairing, w.Target.Difference).at(GateStaged), true
}
