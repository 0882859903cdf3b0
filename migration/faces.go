package migration

import (
	"strconv"
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// The faces of the gates, in table order, and what they share. A face is pure and says Met, or what is missing.

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
		return waiting(ReasonNotProven, "the new path fails: "+w.New.Detail)
	case w.waives(GateProven) && show:
		return w.waived(GateProven)
	case w.waives(GateProven):
		return outcome{}
	case !h.Known:
		return unknown(ReasonPathUnknown, "the new path could not be judged: "+h.Why)
	}
	return waiting(ReasonNotProven, strconv.Itoa(w.New.Rounds)+" of "+strconv.Itoa(int(w.settings.Rounds))+" good rounds")
}

// oldGood is asked before names are sent back to the old path.
func (w *walk) oldGood() outcome {
	switch h := w.Old.Healthy; {
	case !h.Known:
		return unknown(ReasonPathUnknown, "the old path could not be judged: "+h.Why)
	case !h.Value:
		return held(ReasonOldPathFailed, "the old path fails: "+w.Old.Detail)
	}
	return outcome{}
}

// unneeded: nobody needs the new path. It was never intended, or names were seen without it everywhere, the largest TTL
// is over and the path is quiet. Where no name moves but the address does, only its own traffic can tell.
func unneeded(w *walk) outcome {
	j := &w.journal
	if j.up == never {
		if w.nameless() && !w.keepsAddress() && w.Target.Any {
			return w.newQuiet()
		}
		return outcome{reason: ReasonNeverIntended, message: "names never moved"}
	}
	seen := j.sighting(dnsctl.StepLowTTL)
	if j.step > dnsctl.StepLowTTL || seen.place == never || seen.place < j.up {
		return waiting(ReasonNamesServeNew, "names may still serve the new address")
	}
	from := seen.at
	if j.divergedAt.After(from) {
		from = j.divergedAt
	}
	if end := w.rules.since(w, from).Add(w.rules.backTTL(w)); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold the new address")
	}
	return w.newQuiet()
}

// newQuiet: a proxy that is removed with the path cuts its connections, whatever conntrack would keep.
func (w *walk) newQuiet() outcome {
	return w.quiet(&w.NewUse, !w.NewUse.Survives || w.NewUse.ProxyGoes)
}

// quiet: no new connection for the window, and no established one that would be cut: none at all, or none that is not
// older than the declared lifetime where removal cuts nothing. A waiver of Drained stands in for it both ways.
func (w *walk) quiet(u *Use, cut bool) outcome {
	o := w.quietNow(u, cut)
	if !o.passes() && w.waives(GateDrained) {
		return w.waived(GateDrained, o.message)
	}
	return o
}

func (w *walk) quietNow(u *Use, cut bool) outcome {
	if !u.QuietSince.Known || !u.Established.Known {
		return unknown(ReasonUseUnknown, "who uses the path is unknown: "+u.QuietSince.Why+u.Established.Why)
	}
	if end := u.QuietSince.Value.Add(seconds(w.settings.DrainWindow)); w.Now.Before(end) {
		return until(end, ReasonInUse, "a connection began within the window")
	}
	left := strconv.FormatInt(u.Established.Value, 10) + " connections are left"
	switch {
	case u.Established.Value == 0:
		return outcome{}
	case cut || w.settings.MaxLifetime <= 0:
		return waiting(ReasonInUse, left)
	}
	if end := u.QuietSince.Value.Add(seconds(w.settings.MaxLifetime)); w.Now.Before(end) {
		return until(end, ReasonInUse, left+" and may live on")
	}
	return outcome{}
}

// since counts a TTL from when the last server was seen, never from when the change was intended.
func since(_ *walk, seen time.Time) time.Time { return seen }

// nameless: the plan moves no name. keepsAddress: nothing about the address changes for a client.
func (w *walk) nameless() bool { return len(w.Names) == 0 }

func (w *walk) keepsAddress() bool { return w.plan != nil && w.plan.Strategy == v1alpha1.StrategyAdopt }

func noNames() outcome { return notApplicable(ReasonNoNames, "the plan moves no name") }

// lowered: the low TTL is out, and the largest old TTL has passed since that was seen.
func lowered(w *walk) outcome {
	j := &w.journal
	if w.nameless() {
		return noNames()
	}
	if j.intended && j.step > dnsctl.StepLowTTL {
		return moot("a share step is intended")
	}
	if o := w.rules.triple(w, dnsctl.StepLowTTL); !o.passes() {
		return o
	}
	if j.low.IsZero() {
		return waiting(ReasonTTLRunning, "the low TTL was not seen yet")
	}
	if end := w.rules.since(w, j.low).Add(w.oldTTL()); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold the old TTL")
	}
	return outcome{}
}

func raised(w *walk) outcome {
	switch {
	case w.nameless():
		return noNames()
	case w.rules.never(w):
		return outcome{reason: ReasonNeverIntended, message: "names never changed"}
	}
	return w.rules.triple(w, dnsctl.StepSnapshot)
}

func neverIntended(w *walk) bool { return !w.journal.intended }

// shifted walks the share steps one by one; earlier ones are moot once a later one is intended.
func shifted(w *walk) outcome {
	if w.nameless() {
		return noNames()
	}
	j := &w.journal
	for k := dnsctl.Step(1); k <= w.last; k++ {
		if j.intended && j.step > k {
			continue
		}
		o := w.rules.triple(w, k)
		if o.passes() {
			o = w.soakedStep(k)
		}
		if !o.passes() {
			o.step = k
			return o
		}
	}
	if j.intended && j.step > w.last {
		return w.overtakenShares()
	}
	return outcome{}
}

// overtakenShares: the original TTL is intended, so the shares are moot; unless the field is there again (somebody put it
// back) and somebody took the names back too. Then nothing would ever drain, and the last share is due again.
func (w *walk) overtakenShares() outcome {
	k := w.journal.step
	if w.rules.after(w) || !w.rules.reverted(w) || w.allInside(k) {
		return moot("the original TTL is intended")
	}
	o := w.changed(k)
	if w.retry(k) {
		o = w.intend(w.last)
	}
	o.step = w.last
	return o
}

// soakedStep: the soak of a share step is over and what was measured since is within the error budget. No measurement is
// inconclusive, never success. After release Soaked judges the path, and a share is not opened again.
func (w *walk) soakedStep(k dnsctl.Step) outcome {
	end := w.journal.sighting(k).at.Add(seconds(w.settings.StepSoak))
	switch {
	case w.rules.after(w):
		return outcome{}
	case w.Now.Before(end):
		return until(end, ReasonSoaking, "the share soaks")
	case w.New.Samples <= 0 && !w.waives(GateProven):
		return waiting(ReasonNoSample, "nothing was measured since the step")
	case w.New.Failures*100 > w.New.Samples:
		return waiting(ReasonErrorBudget, strconv.Itoa(w.New.Failures)+" of "+strconv.Itoa(w.New.Samples)+" samples failed")
	}
	return outcome{}
}

// shiftedBack: names are back at the old address, and that was seen.
func shiftedBack(w *walk) outcome {
	switch {
	case w.nameless():
		return noNames()
	case w.rules.never(w):
		return outcome{reason: ReasonNeverIntended, message: "names never moved"}
	case w.journal.step <= dnsctl.StepSnapshot:
		return outcome{}
	}
	return w.rules.triple(w, dnsctl.StepLowTTL)
}

// settled: the low TTL has passed since the last share was seen; the old one where somebody brought the old set back.
func settled(w *walk) outcome {
	j := &w.journal
	switch {
	case w.nameless():
		return noNames()
	case w.rules.after(w):
		return moot("the field is gone")
	}
	seen := j.sighting(w.last)
	if seen.place == never {
		return waiting(ReasonTTLRunning, "the last share was not seen yet")
	}
	ttl := w.lowTTL()
	if j.diverged > j.lowered {
		ttl = w.oldTTL()
	}
	if end := w.rules.since(w, seen.at).Add(ttl); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold the old address")
	}
	return outcome{}
}

// oldPath: before names go back the old path answers; asked only while names still serve the new address.
func oldPath(w *walk) outcome {
	j := &w.journal
	switch {
	case w.nameless():
		return noNames()
	case j.up == never, j.step <= dnsctl.StepSnapshot, j.step == dnsctl.StepLowTTL && j.ok(dnsctl.StepLowTTL), w.allServeOld():
		return moot("no name serves the new address")
	}
	return w.oldGood()
}

func drained(w *walk) outcome {
	switch {
	case w.keepsAddress():
		return notApplicable(ReasonAddressKept, "the address stays and no connection is cut")
	case w.rules.after(w):
		return moot("the field is gone")
	}
	return w.quiet(&w.OldUse, !w.OldUse.Survives)
}

// ours: our mark of this chain stands on the member, so we took its field away.
func ours(w *walk, f *Field) bool { return f.Mark > max(w.journal.returned, w.journal.undone) }

// gone: the field is gone from at least one member by our hand.
func gone(w *walk) bool { return w.journal.latched() || w.firstTaken() != nil }

// firstTaken is the first member whose field we took away.
func (w *walk) firstTaken() *Field {
	for i := range w.Fields {
		if f := &w.Fields[i]; !f.Present && w.rules.ours(w, f) {
			return f
		}
	}
	return nil
}

func (w *walk) firstPresent() *Field {
	for i := range w.Fields {
		if w.Fields[i].Present {
			return &w.Fields[i]
		}
	}
	return nil
}

// after: the latch Released. With several members it holds once none carries the field any more: while some do, Proven,
// Settled and Drained are asked again before the next one.
func after(w *walk) bool {
	return w.journal.latched() || w.firstTaken() != nil && w.firstPresent() == nil
}

func released(w *walk) outcome {
	if w.journal.returned >= w.attempt {
		return held(ReasonFieldReturned, "somebody else put the field back in this attempt")
	}
	return w.releaseNext()
}

func (w *walk) releaseNext() outcome {
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Missing {
			return held(ReasonServiceGone, "Service "+f.Service+" is gone")
		}
	}
	if f := w.firstPresent(); f != nil {
		return act(Release{Service: f.Service, Attempt: w.attempt}, ReasonReleasing, "the field of "+f.Service+" goes")
	}
	if w.journal.latched() {
		return outcome{}
	}
	return w.stamp(v1alpha1.StampReleased, 0, ReasonStamping, "no member carries the field any more")
}

// restored puts back only what our mark proves that we took, after a look for another holder of the address.
func restored(w *walk) outcome {
	if f := w.firstTaken(); f != nil {
		return restore(f)
	}
	if !w.journal.latched() {
		return outcome{}
	}
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Missing {
			return held(ReasonServiceGone, "Service "+f.Service+" is gone, so its field cannot be put back")
		}
	}
	return w.stamp(v1alpha1.StampRestored, 0, ReasonStamping, "the field is as it was")
}

func restore(f *Field) outcome {
	switch {
	case f.Foreign != "":
		return held(ReasonConflict, f.Foreign+" holds an address of Service "+f.Service)
	case f.Refused != "":
		return held(ReasonDenyEnabled, f.Refused)
	}
	return act(Restore{Service: f.Service}, ReasonRestoring, "the field of "+f.Service+" comes back")
}

func soaked(w *walk) outcome {
	if o := w.good(false); !o.passes() {
		return o
	}
	if end := w.journal.releasedAt.Add(seconds(w.settings.Soak)); w.Now.Before(end) {
		return until(end, ReasonSoaking, "the released state soaks")
	}
	return outcome{}
}

func ttlRestored(w *walk) outcome {
	if w.nameless() {
		return noNames()
	}
	return w.rules.triple(w, w.last+1)
}

// forgotten: the way back may go once five facts hold.
func forgotten(w *walk) outcome {
	for _, fact := range []func(*walk) outcome{oldSilent, addressFree, ttlOver, stillGood} {
		if o := fact(w); !o.passes() {
			return o
		}
	}
	return act(Forget{Attempt: w.attempt, Sequence: len(w.Record.Stamps)}, ReasonForgetting, "the snapshot goes")
}

// oldSilent: nobody knocks at the old address any more. An address that stays has no old traffic of its own.
func oldSilent(w *walk) outcome {
	if w.keepsAddress() {
		return outcome{}
	}
	q := w.OldUse.QuietSince
	if !q.Known {
		return unknown(ReasonUseUnknown, "who uses the old path is unknown: "+q.Why)
	}
	if end := q.Value.Add(seconds(w.settings.DrainWindow)); w.Now.Before(end) {
		return until(end, ReasonInUse, "the old address is still used")
	}
	return outcome{}
}

func addressFree(w *walk) outcome {
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Foreign != "" {
			return held(ReasonConflict, f.Foreign+" holds an address of Service "+f.Service)
		}
	}
	return outcome{}
}

func ttlOver(w *walk) outcome {
	if w.nameless() {
		return outcome{}
	}
	seen := w.journal.sighting(w.last + 1)
	if seen.place == never {
		return waiting(ReasonTTLRunning, "the original TTL was not seen yet")
	}
	if end := seen.at.Add(w.oldTTL()); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold an older answer")
	}
	return outcome{}
}

func stillGood(w *walk) outcome { return w.good(false) }

func (w *walk) waives(g Gate) bool {
	_, ok := w.Intent.Waived[g]
	return ok
}

func (w *walk) waived(g Gate, instead ...string) outcome {
	message := "waived: " + w.Intent.Waived[g]
	if len(instead) > 0 {
		message += " (" + strings.Join(instead, "; ") + ")"
	}
	return outcome{verdict: Met, reason: ReasonWaived, message: message}
}
