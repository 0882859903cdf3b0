package migration

import (
	"strconv"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

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
