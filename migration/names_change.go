package migration

import (
	"strconv"

	"offramp.dev/dnsctl"
)

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
		return waiting(ReasonManualChange, instruction(n, a, &want)), nil
	}
	after := dnsctl.Answer{Records: want, Mark: w.rules.mark(w, k)}
	change := dnsctl.Change{Zone: n.Name.Zone, Name: n.Name.Name, Before: *a, After: after}
	return outcome{verdict: Unmet, message: "names go to step " + strconv.Itoa(int(k))}, &change
}

// instruction says what a human changes, and as input for nsupdate where the zone's server is known. A mark that stands
// there stays as it is.
func instruction(n *NameFacts, a *dnsctl.Answer, want *dnsctl.RecordSet) string {
	text := "change " + n.Name.Name + " from " + a.Records.String() + " to " + want.String()
	c := dnsctl.Change{
		Zone: n.Name.Zone, Name: n.Name.Name,
		Before: dnsctl.Answer{Records: a.Records, Mark: a.Mark}, After: dnsctl.Answer{Records: *want, Mark: a.Mark},
	}
	input, err := c.Nsupdate(n.At)
	if n.At.Apex == "" || err != nil {
		return text
	}
	return text + "; for nsupdate:\n" + input
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
