package migration

import (
	"cmp"
	"strconv"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// The faces of the gates, in table order, over the files faces_*.go. A face is pure and says Met, or what is missing.

// notOnThisWay is the face of a gate that asks nothing in one direction.
func notOnThisWay(*walk) outcome {
	return notApplicable(ReasonNotOnThisWay, "asks nothing in this direction")
}

// undoneStamped is the last row of the way back: all others are met, which makes it true.
func undoneStamped(w *walk) outcome {
	if !w.journal.any {
		return outcome{}
	}
	return w.stamp(v1alpha1.StampUndone, 0, ReasonStamping, "everything is as it was")
}

// eligible counts before the first plan is recorded; from then on the frozen plan does.
func eligible(w *walk) outcome {
	switch {
	case w.journal.any:
		return outcome{verdict: Moot, reason: ReasonFrozenPlan, message: "the plan is recorded"}
	case len(w.Blockers) > 0:
		b := &w.Blockers[0]
		return held(b.Reason, strings.TrimSpace(b.Object+": "+b.Message))
	case w.Live == nil:
		return held(ReasonNoPlan, "no plan can be made: "+w.LiveProblem)
	}
	return outcome{}
}

func guarded(w *walk) outcome {
	switch {
	case w.Guarded.Known && w.Guarded.Value:
		return outcome{}
	case w.waives(GateGuarded):
		return w.waived(GateGuarded)
	case !w.Guarded.Known:
		return unknown(ReasonGuardUnknown, "whether others are denied the addresses is unknown: "+w.Guarded.Why)
	}
	return waiting(ReasonNotDenied, "others may still use the claimed addresses")
}

// recorded freezes the plan of the attempt. A new plan is never applied under live names: while the chain holds another
// one it waits until nobody needs that one's path.
func recorded(w *walk) outcome {
	switch {
	case w.frozen != nil && w.frozen.Attempt == w.attempt:
		return outcome{}
	case w.Record.Full:
		return held(ReasonJournalFull, "the journal has no room for another attempt")
	case w.Live == nil:
		return held(ReasonNoPlan, "no plan can be made: "+w.LiveProblem)
	}
	hash := w.rules.hash(w.Live)
	if w.journal.any && (w.frozen == nil || hash != w.frozen.Hash) {
		if o := unneeded(w); !o.passes() {
			return held(ReasonNewPathInUse, "the path of the last plan is still needed: "+o.message)
		}
	}
	return act(RecordPlan{Attempt: w.attempt, Hash: hash}, ReasonRecording, "the plan is stored")
}

func claimed(w *walk) outcome {
	switch {
	case w.Claims.Complete:
		return outcome{}
	case len(w.Claims.Conflicts) > 0:
		return held(ReasonAddressTaken, strings.Join(w.Claims.Conflicts, "; "))
	}
	return act(Claim{}, ReasonClaiming, "the addresses are claimed")
}

func unclaimed(w *walk) outcome {
	if w.Claims.Any {
		return act(Unclaim{}, ReasonUnclaiming, "the addresses are given back")
	}
	return outcome{}
}

func staged(w *walk) outcome {
	if w.Target.Exact || w.frozen == nil {
		return outcome{}
	}
	return act(Apply{Hash: w.frozen.Hash}, ReasonApplying, "the target differs from the plan: "+w.Target.Difference)
}

func unstaged(w *walk) outcome {
	if w.Target.Any {
		return act(Remove{}, ReasonRemoving, "the target objects go")
	}
	return outcome{}
}

func proven(w *walk) outcome {
	if w.rules.after(w) {
		return moot("the field is gone; Soaked judges the path")
	}
	return w.good(true)
}

// good is the new path's health. A waiver of Proven stands in for missing evidence, never for evidence of a failure.
func (w *walk) good(show bool) outcome {
	h := w.New.Healthy
	switch {
	case h.Known && h.Value && w.New.Rounds >= int(w.settings.Rounds):
		return outcome{}
	case h.Known && !h.Value:
		return waiting(cmp.Or(w.New.Reason, ReasonNotProven), "the new path fails: "+w.New.Detail)
	case w.waives(GateProven) && show:
		return w.waived(GateProven)
	case w.waives(GateProven):
		return outcome{}
	case !h.Known:
		return unknown(ReasonPathUnknown, "the new path could not be judged: "+h.Why)
	}
	return waiting(ReasonNotProven, strconv.Itoa(w.New.Rounds)+" of "+strconv.Itoa(int(w.settings.Rounds))+" good rounds")
}
