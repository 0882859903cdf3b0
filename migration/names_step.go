package migration

import (
	"strconv"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// triple is Intended, Changed and Seen of step k, when it is its turn.
func triple(w *walk, k dnsctl.Step) outcome {
	if j := &w.journal; !j.intended || j.step != k || w.retry(k) {
		return w.intend(k)
	}
	if o := w.changed(k); !o.passes() {
		return o
	}
	if o := w.sharing(k); !o.passes() || w.journal.ok(k) {
		return o
	}
	return w.see(k)
}

// sharing: where two sets take turns, every server must be known to rotate what it answers. Else the first address of the
// larger set gets everybody, and the share is not what the step says. The safe set stands by then.
func (w *walk) sharing(k dnsctl.Step) outcome {
	for i := range w.Names {
		if o := w.shares(&w.Names[i], k); !o.passes() {
			return o
		}
	}
	return outcome{}
}

func (w *walk) shares(n *NameFacts, k dnsctl.Step) outcome {
	switch {
	case n.Manual || len(n.Name.Allowed(k, w.percents())) < 2:
		return outcome{}
	case !n.Rotates.Known:
		return unknown(ReasonOrderUnknown, "whether the servers of "+n.Name.Name+" rotate what they answer: "+n.Rotates.Why)
	case !n.Rotates.Value:
		return held(ReasonOrderFixed, "slots cannot share "+n.Name.Name+": "+n.Rotates.Why)
	}
	return outcome{}
}

// retry: a newer attempt may overwrite what somebody else wrote.
func (w *walk) retry(k dnsctl.Step) bool {
	j := &w.journal
	return j.reverted() && j.divergedAttempt < w.attempt && !w.allInside(k)
}

// allInside: every primary answers an allowed set of step k.
func (w *walk) allInside(k dnsctl.Step) bool {
	for i := range w.Names {
		n := &w.Names[i]
		if len(n.Servers) == 0 || !n.Servers[0].Known || !w.allows(n, k, &n.Servers[0].Value.Records) {
			return false
		}
	}
	return true
}

// intend stamps the intent, unless a name is already known not to be ours to change.
func (w *walk) intend(k dnsctl.Step) outcome {
	for i := range w.Names {
		n := &w.Names[i]
		if len(n.Servers) == 0 || !n.Servers[0].Known || k <= dnsctl.StepSnapshot {
			continue
		}
		if o := w.writable(n, &n.Servers[0].Value, k); !o.passes() {
			return o
		}
		if o := w.shares(n, k); !o.passes() {
			return o
		}
	}
	return w.stamp(v1alpha1.StampIntent, k, ReasonStamping, "step "+strconv.Itoa(int(k))+" is intended")
}

// see stamps that every server of every name answers an allowed set of step k. A silent server is not left out.
func (w *walk) see(k dnsctl.Step) outcome {
	for i := range w.Names {
		n := &w.Names[i]
		for s := range n.Servers {
			if !n.Servers[s].Known {
				return unknown(ReasonNamesUnknown, "a server of "+n.Name.Name+" could not be asked: "+n.Servers[s].Why)
			}
		}
		if w.anyOutside(n, k) {
			return waiting(ReasonServersLag, "not every server of "+n.Name.Name+" answers step "+strconv.Itoa(int(k)))
		}
	}
	return w.stamp(v1alpha1.StampSeen, k, ReasonStamping, "step "+strconv.Itoa(int(k))+" is seen everywhere")
}
