package migration

import (
	"strconv"
	"time"

	"offramp.dev/api/v1alpha1"
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
	return n.Name.Wanted(k, w.percents(), w.journal.intentAt, w.Now, w.Slots)
}

func reverted(w *walk) bool { return w.journal.reverted() }

// kept: a set is written only while what it keeps is known good. Dropping the new address leaves the old path alone.
func kept(w *walk, n *NameFacts, a *dnsctl.Answer, want *dnsctl.RecordSet) outcome {
	if n.Name.HasNew(*want) || !n.Name.HasNew(a.Records) {
		return outcome{}
	}
	return w.oldGood()
}

// changed: the primary of every name answers what step k asks for. The first name that does not decides; if it is to be
// written, all names of its zone that are to be written go into the same change.
func (w *walk) changed(k dnsctl.Step) outcome {
	for i := range w.Names {
		n := &w.Names[i]
		o, change := w.changedName(n, k)
		if o.passes() {
			continue
		}
		if change == nil {
			return o
		}
		return act(ChangeNames{Step: k, Changes: w.sameZone(i, *change, k)}, ReasonChangingNames, o.message)
	}
	return outcome{}
}

// sameZone gathers the changes of the zone of w.Names[first], whose own change is known.
func (w *walk) sameZone(first int, change dnsctl.Change, k dnsctl.Step) []dnsctl.Change {
	changes := []dnsctl.Change{change}
	for i := first + 1; i < len(w.Names); i++ {
		if w.Names[i].Name.Zone != change.Zone {
			continue
		}
		if _, c := w.changedName(&w.Names[i], k); c != nil {
			changes = append(changes, *c)
		}
	}
	return changes
}

// changedName is Met, or the reason why the name may not be written, or its change.
func (w *walk) changedName(n *NameFacts, k dnsctl.Step) (outcome, *dnsctl.Change) {
	if len(n.Servers) == 0 || !n.Servers[0].Known {
		return unknown(ReasonNamesUnknown, "the primary of "+n.Name.Name+" could not be asked"), nil
	}
	a := &n.Servers[0].Value
	if w.rules.answers(w, n, k, a) {
		return outcome{}, nil
	}
	if o := w.writable(n, a, k); !o.passes() {
		return o, nil
	}
	if w.rules.reverted(w) && !n.Manual {
		return held(ReasonReverted, "somebody else changed "+n.Name.Name+" to "+a.Records.String()), nil
	}
	want := w.wanted(n, k)
	if o := w.rules.kept(w, n, a, &want); !o.passes() {
		return o, nil
	}
	if n.Manual {
		return waiting(ReasonManualChange, "change "+n.Name.Name+" from "+a.Records.String()+" to "+want.String()), nil
	}
	after := dnsctl.Answer{Records: want, Mark: w.rules.mark(w, k)}
	change := dnsctl.Change{Zone: n.Name.Zone, Name: n.Name.Name, Before: *a, After: after}
	return outcome{verdict: Unmet, message: "names go to step " + strconv.Itoa(int(k))}, &change
}

// writable: the name is ours to change, or nobody's. Where we never changed it, it still answers the snapshot.
func (w *walk) writable(n *NameFacts, a *dnsctl.Answer, k dnsctl.Step) outcome {
	name, own := n.Name.Name, a.Mark.Owner != "" && a.Mark.Owner == w.Record.Name
	switch {
	case a.Records.Alias != "":
		return held(ReasonNameAlias, name+" is a CNAME to "+a.Records.Alias)
	case a.External != "":
		return held(ReasonNameExternal, "external-dns owns "+name+": "+a.External)
	case a.Foreign != "":
		return held(ReasonNameOwned, "a mark that is not ours stands at "+name+": "+a.Foreign)
	case a.Mark.Owner != "" && !own:
		return held(ReasonNameOwned, name+" is marked by "+a.Mark.Owner)
	case len(n.Name.Allowed(k, w.percents())) == 0:
		return held(ReasonStepRefused, "no record set can give "+name+" the share of step "+strconv.Itoa(int(k)))
	case !own && !n.Manual && len(w.journal.seen) == 0 && w.foreignToWalk(n, k, &a.Records):
		return held(ReasonNameChanged, name+" answers "+a.Records.String()+", which the snapshot does not hold")
	}
	return outcome{}
}

// foreignToWalk: neither the snapshot nor the step knows r.
func (w *walk) foreignToWalk(n *NameFacts, k dnsctl.Step, r *dnsctl.RecordSet) bool {
	return !n.Name.Snapshot.Equal(*r) && !w.allows(n, k, r)
}

// triple is Intended, Changed and Seen of step k, when it is its turn.
func triple(w *walk, k dnsctl.Step) outcome {
	if j := &w.journal; !j.intended || j.step != k || w.retry(k) {
		return w.intend(k)
	}
	if o := w.changed(k); !o.passes() || w.journal.ok(k) {
		return o
	}
	return w.see(k)
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

// anyServesNew: a server is known to answer a new address.
func (w *walk) anyServesNew() bool {
	for i := range w.Names {
		n := &w.Names[i]
		for s := range n.Servers {
			if n.Servers[s].Known && n.Name.HasNew(n.Servers[s].Value.Records) {
				return true
			}
		}
	}
	return false
}

// allServeOld: every server is known to answer no new address.
func (w *walk) allServeOld() bool {
	for i := range w.Names {
		n := &w.Names[i]
		if len(n.Servers) == 0 {
			return false
		}
		for s := range n.Servers {
			if !n.Servers[s].Known || n.Name.HasNew(n.Servers[s].Value.Records) {
				return false
			}
		}
	}
	return true
}

// lowTTL is how long a cache may hold an answer of the walk, oldTTL one of before it.
func (w *walk) lowTTL() time.Duration {
	var most uint32
	for i := range w.Names {
		most = max(most, w.Names[i].Name.LowTTL)
	}
	return seconds(int64(most)) + rounding
}

func (w *walk) oldTTL() time.Duration {
	var most uint32
	for i := range w.Names {
		most = max(most, w.Names[i].Name.LargestTTL())
	}
	return seconds(int64(most)) + rounding
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// safe replaces a stop by the safe set of the slot step that names are in, if one of them answers another set of the
// step and the old path, which the safe set leaves alone, is known good.
func safe(w *walk, o outcome) outcome {
	k := w.journal.step
	if !w.journal.intended || k <= dnsctl.StepLowTTL || !w.Old.Healthy.Known || !w.Old.Healthy.Value {
		return o
	}
	if changes := w.safeChanges(k); len(changes) > 0 {
		return act(ChangeNames{Step: k, Changes: changes}, ReasonSafeSet, o.message).at(o.gate)
	}
	return o
}

func (w *walk) safeChanges(k dnsctl.Step) []dnsctl.Change {
	var changes []dnsctl.Change
	for i := range w.Names {
		n := &w.Names[i]
		if len(changes) > 0 && n.Name.Zone != changes[0].Zone {
			continue
		}
		if c := w.safeChange(n, k); c != nil {
			changes = append(changes, *c)
		}
	}
	return changes
}

func (w *walk) safeChange(n *NameFacts, k dnsctl.Step) *dnsctl.Change {
	sets := n.Name.Allowed(k, w.percents())
	if len(sets) < 2 || n.Manual || len(n.Servers) == 0 || !n.Servers[0].Known {
		return nil
	}
	a := &n.Servers[0].Value
	if !w.marked(k, a) || sets[0].Equal(a.Records) || !w.allows(n, k, &a.Records) {
		return nil
	}
	after := dnsctl.Answer{Records: sets[0], Mark: w.rules.mark(w, k)}
	return &dnsctl.Change{Zone: n.Name.Zone, Name: n.Name.Name, Before: *a, After: after}
}
