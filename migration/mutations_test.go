package migration

import (
	"slices"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// TestWalkNoticesEveryMissingRule takes one rule, latch or fix out at a time. A mutation that the walk does not notice
// would be a rule that no test holds.
func TestWalkNoticesEveryMissingRule(t *testing.T) {
	t.Parallel()
	for _, m := range mutations() {
		t.Run(m.name+": "+m.what, func(t *testing.T) {
			team := newTeam(&m)
			first := team.walk(m.hint, 1, true)
			if len(first.faults) == 0 {
				first = team.walk(0, 20_000, true)
			}
			if len(first.faults) == 0 {
				t.Fatal("nobody noticed")
			}
			soundAt(t, &m, first.faults)
		})
	}
}

// soundAt shows that it was the missing rule that was noticed: with it the same worlds have no fault.
func soundAt(t *testing.T, m *mutation, faults map[string][]uint64) {
	t.Helper()
	sound := newTeam(&mutation{bias: m.bias})
	for fault, seeds := range faults {
		for _, seed := range seeds {
			if found := sound.walk(seed, 1, false); len(found.faults) > 0 {
				t.Errorf("%s at seed %d, but with the rule too: %v", fault, seed, found.faults)
			}
		}
	}
}

func mutations() []mutation {
	return slices.Concat(
		ruleMutations(), unknownMutations(), controllerMutations(), handsMutations(),
		latchMutations(), nameMutations(), backMutations(), orderMutations(),
	)
}

// dropFirst takes the rules at the given places out of the list before the table.
func (r *rules) dropFirst(places ...int) {
	var left []func(*walk) (outcome, bool)
	for i, rule := range r.first {
		if !slices.Contains(places, i) {
			left = append(left, rule)
		}
	}
	r.first = left
}

// The places of the rules before the table.
const (
	atEnded = iota
	atDiverged
	atReturned
	atPutBack
	atFailed
	atAborted
	atBack
	atRepair
)

// face replaces a face of one gate everywhere.
func (r *rules) face(name Gate, done, undone func(*walk) outcome) {
	for _, list := range [][]gate{r.table, r.back, r.namesBack} {
		for i := range list {
			if list[i].Name != name {
				continue
			}
			if done != nil {
				list[i].done = done
			}
			if undone != nil {
				list[i].undone = undone
			}
		}
	}
}

func passes(*walk) outcome { return outcome{} }

// anyMark lets answers count without a look at their mark.
func anyMark(r *rules) {
	r.inside = func(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool { return w.allows(n, k, &a.Records) }
	r.answers = func(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool {
		want := w.wanted(n, k)
		return want.Equal(a.Records)
	}
}

func ruleMutations() []mutation {
	return []mutation{
		{name: "intent before, forward", hint: 2, what: "a step counts once seen, not once intended", rules: func(r *rules) {
			r.read = func(stamps []Stamp, attempt int64) journal {
				j := readJournal(stamps, attempt)
				j.up = never
				for i, s := range j.seen {
					if i >= 2 && s.place != never {
						j.up = max(j.up, s.place)
					}
				}
				return j
			}
			r.never = func(w *walk) bool { return w.journal.up == never }
		}},
		{name: "intent before, back", hint: 2, what: "going back stamps its intent after the change", rules: func(r *rules) {
			anyMark(r)
			r.dropFirst(atDiverged)
			r.triple = func(w *walk, k dnsctl.Step) outcome {
				j := &w.journal
				if w.Intent.Direction == v1alpha1.DirectionBack && k <= 0 && (!j.intended || j.step != k) {
					if o := w.changed(k); !o.passes() {
						return o
					}
				}
				return triple(w, k)
			}
		}},
		{name: "count from seen", hint: 254, what: "the TTL is counted from the intent", rules: func(r *rules) {
			r.since = func(w *walk, _ time.Time) time.Time { return w.journal.intentAt }
		}},
		{name: "old field", hint: 17, what: "fight over the field", rules: func(r *rules) {
			r.dropFirst(atReturned)
			r.face(GateReleased, (*walk).releaseNext, nil)
		}},
		{name: "old names", hint: 274, what: "fight over the names", rules: func(r *rules) {
			r.reverted = func(*walk) bool { return false }
		}},
		{name: "new path proven", hint: 2, what: "forward without Proven", rules: func(r *rules) { r.face(GateProven, passes, nil) }},
		{name: "old path answers", hint: 11, what: "back without a look at the old path", facts: func(f *Facts) { f.Old.Healthy = See(true) }},
		{name: "measured", hint: 1468, what: "no sample is success", facts: func(f *Facts) { f.New.Samples = 1000 }},
		{name: "guarded", what: "the row Guarded taken out", facts: func(f *Facts) { f.Guarded = See(true) }},
		{name: "fixed point", what: "no terminal latch", rules: func(r *rules) { r.dropFirst(atEnded) }},
	}
}

func unknownMutations() []mutation {
	quiet := func(f *Facts, u *Use) {
		if !u.QuietSince.Known || !u.Established.Known {
			u.QuietSince, u.Established = See(f.Now.Add(-time.Hour)), See(int64(0))
		}
	}
	return []mutation{
		{name: "unknown is not quiet", hint: 15, what: "no report is quiet", facts: func(f *Facts) { quiet(f, &f.OldUse); quiet(f, &f.NewUse) }},
		{name: "unknown is not absent", hint: 22, what: "a silent server is left out", facts: func(f *Facts) {
			n := &f.Names[0]
			known := n.Servers[:1:1]
			for _, s := range n.Servers[1:] {
				if s.Known {
					known = append(known, s)
				}
			}
			n.Servers = known
		}},
		{name: "unknown is not healthy", hint: 57, what: "an unknown probe is good", facts: func(f *Facts) {
			for _, p := range []*Path{&f.New, &f.Old} {
				if !p.Healthy.Known {
					p.Healthy, p.Rounds = See(true), 3
				}
			}
		}},
		{name: "unknown is not failed", hint: 25, what: "an unknown probe is a failure", facts: func(f *Facts) {
			if !f.New.Healthy.Known {
				f.New.Healthy = See(false)
			}
		}},
	}
}
