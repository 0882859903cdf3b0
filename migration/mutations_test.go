package migration

import (
	"math"
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
				first = team.walk(0, uint64(runsFromEnv(20_000)), true)
			}
			if len(first.faults) == 0 {
				t.Error("nobody noticed")
			}
			t.Log(first.faults)
		})
	}
}

func mutations() []mutation {
	return slices.Concat(ruleMutations(), unknownMutations(), controllerMutations(), handsMutations(), latchMutations(), nameMutations(), backMutations(), orderMutations())
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
		{name: "intent before, forward", what: "a step counts once seen, not once intended", rules: func(r *rules) {
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
		{name: "intent before, back", what: "going back stamps its intent after the change", rules: func(r *rules) {
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
		{name: "count from seen", what: "the TTL is counted from the intent", rules: func(r *rules) {
			r.since = func(w *walk, _ time.Time) time.Time { return w.journal.intentAt }
		}},
		{name: "old field", what: "fight over the field", rules: func(r *rules) {
			r.dropFirst(atReturned)
			r.face(GateReleased, (*walk).releaseNext, nil)
		}},
		{name: "old names", what: "fight over the names", rules: func(r *rules) {
			r.reverted = func(*walk) bool { return false }
		}},
		{name: "new path proven", what: "forward without Proven", rules: func(r *rules) { r.face(GateProven, passes, nil) }},
		{name: "old path answers", what: "back without a look at the old path", facts: func(f *Facts) { f.Old.Healthy = See(true) }},
		{name: "measured", what: "no sample is success", facts: func(f *Facts) { f.New.Samples = 1000 }},
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
		{name: "unknown is not quiet", what: "no report is quiet", facts: func(f *Facts) { quiet(f, &f.OldUse); quiet(f, &f.NewUse) }},
		{name: "unknown is not absent", what: "a silent server is left out", facts: func(f *Facts) {
			n := &f.Names[0]
			known := n.Servers[:1:1]
			for _, s := range n.Servers[1:] {
				if s.Known {
					known = append(known, s)
				}
			}
			n.Servers = known
		}},
		{name: "unknown is not healthy", what: "an unknown probe is good", facts: func(f *Facts) {
			for _, p := range []*Path{&f.New, &f.Old} {
				if !p.Healthy.Known {
					p.Healthy, p.Rounds = See(true), 3
				}
			}
		}},
		{name: "unknown is not failed", what: "an unknown probe is a failure", facts: func(f *Facts) {
			if !f.New.Healthy.Known {
				f.New.Healthy = See(false)
			}
		}},
	}
}

func controllerMutations() []mutation {
	return []mutation{
		{name: "one change per pass", what: "go on after a change, on the same facts", world: actsTwice},
		{name: "re-read", what: "no uncached re-read at all", world: neverRereads},
		{name: "re-read everything", what: "only Release, Restore, Remove, Forget re-read", world: rereadsFour},
		{name: "idempotent", what: "RecordPlan overwrites", world: recordsAgain},
		{name: "memory in spec", what: "the journal gets lost", world: losesJournal},
		{name: "new leader waits", what: "a new leader does not wait", world: leadsAtOnce},
		{name: "attempt never falls", what: "the attempt may fall below the stamps", rules: func(r *rules) {
			r.attempt = func(f Facts) int64 { return f.Intent.Attempt }
		}},
	}
}

// handsMutations are about what is ours to give back.
func handsMutations() []mutation {
	return []mutation{
		{name: "owner", what: "restore without proof that we removed", rules: func(r *rules) {
			r.face(GateReleased, nil, func(w *walk) outcome {
				if f := &w.Fields[0]; !f.Present && w.journal.any {
					return restore(f)
				}
				return restored(w)
			})
		}},
		{name: "conflict", what: "restore without a look for a new holder", facts: func(f *Facts) {
			if f.Intent.Direction == v1alpha1.DirectionBack {
				f.Fields[0].Foreign = ""
			}
		}},
		{name: "guard stays", what: "back lifts the guard", world: liftsGuard},
		{name: "our mark", what: "no mark of ours on the Service", rules: func(r *rules) {
			r.ours = func(*walk, *Field) bool { return false }
			r.face(GateReleased, nil, func(w *walk) outcome {
				if f := &w.Fields[0]; w.journal.latched() && !f.Present {
					return restore(f)
				}
				return restored(w)
			})
		}},
		{name: "restored", what: "no Restored stamp", rules: func(r *rules) {
			r.dropFirst(atPutBack)
			r.gone = func(w *walk) bool { return w.journal.released != never || w.firstTaken() != nil }
			r.after = r.gone
			r.face(GateReleased, nil, func(w *walk) outcome {
				if f := w.firstTaken(); f != nil {
					return restore(f)
				}
				return outcome{}
			})
		}},
		{name: "returned", what: "no Returned stamp", rules: func(r *rules) { r.dropFirst(atReturned) }},
	}
}

func latchMutations() []mutation {
	return []mutation{
		{name: "latch Recorded", what: "Eligible reads the live Service", rules: func(r *rules) {
			r.face(GateEligible, func(w *walk) outcome {
				if !w.Fields[0].Present {
					return held(ReasonNoPlan, "the field is gone")
				}
				return outcome{}
			}, nil)
		}},
		{name: "latch Seen", what: "TTLLowered is never moot", rules: func(r *rules) {
			r.face(GateTTLLowered, func(w *walk) outcome {
				s := &w.Names[0].Servers[0]
				if !w.journal.intended || w.journal.step < 1 || !s.Known || s.Value.Records.A.TTL == w.Names[0].Name.LowTTL {
					return lowered(w)
				}
				after := s.Value
				after.Records.A.TTL = w.Names[0].Name.LowTTL
				change := dnsctl.Change{Zone: "example", Name: w.Names[0].Name.Name, Before: s.Value, After: after}
				return act(ChangeNames{Changes: []dnsctl.Change{change}}, ReasonChangingNames, "")
			}, nil)
		}},
		{name: "latch Released", what: "Proven, Settled and Drained are never moot", rules: func(r *rules) {
			r.after = func(*walk) bool { return false }
		}},
		{name: "latch Undone", what: "Undone is no end", rules: func(r *rules) {
			r.first[atEnded] = func(w *walk) (outcome, bool) {
				if w.journal.forgotten {
					return ended(w)
				}
				return outcome{}, false
			}
		}},
		{name: "latch Forgotten", what: "Forgotten is no end", rules: func(r *rules) {
			r.first[atEnded] = func(w *walk) (outcome, bool) {
				if w.journal.forgotten {
					return outcome{}, false
				}
				return ended(w)
			}
		}},
		{name: "latch Abort", what: "a recovered path is tried again in the attempt", rules: func(r *rules) {
			r.first[atAborted] = func(w *walk) (outcome, bool) {
				if w.New.Healthy.Known && !w.newFailed() {
					return outcome{}, false
				}
				return aborted(w)
			}
		}},
	}
}

func nameMutations() []mutation {
	return []mutation{
		{name: "age", what: "stamps count by presence, not by age", rules: func(r *rules) {
			r.read = func(stamps []Stamp, attempt int64) journal {
				j := readJournal(stamps, attempt)
				top := dnsctl.Step(math.MinInt)
				for _, s := range stamps {
					switch {
					case s.Kind == v1alpha1.StampUndone:
						top = dnsctl.Step(math.MinInt)
					case s.Kind == v1alpha1.StampIntent && s.Step == 0:
						top = 0
					case s.Kind == v1alpha1.StampIntent:
						top = max(top, s.Step)
					}
				}
				if j.intended {
					j.step = top
				}
				for i := range j.seen {
					if j.seen[i].place != never {
						j.seen[i].place = math.MaxInt
					}
				}
				return j
			}
		}},
		{name: "slot", what: "a slot step is changed by any allowed set", rules: func(r *rules) {
			r.answers = func(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool { return inside(w, n, k, a) }
		}},
		{name: "mark", what: "the mark carries no intent", rules: func(r *rules) {
			anyMark(r)
			r.dropFirst(atDiverged)
			r.mark = func(w *walk, k dnsctl.Step) dnsctl.Mark {
				if k < 0 {
					return dnsctl.Mark{}
				}
				return dnsctl.Mark{Owner: w.Record.Name}
			}
		}},
		{name: "diverged", what: "no Diverged stamp", rules: func(r *rules) { r.dropFirst(atDiverged) }},
		{name: "safe", what: "a stopped walk leaves the slot as it is", rules: func(r *rules) {
			r.safe = func(_ *walk, o outcome) outcome { return o }
		}},
		{name: "kept", what: "a set is written though what it keeps is not known good", rules: func(r *rules) {
			r.kept = func(*walk, *NameFacts, *dnsctl.Answer, *dnsctl.RecordSet) outcome { return outcome{} }
		}},
		{name: "live names", what: "Abort asks the youngest intent, not the names", rules: func(r *rules) {
			r.first[atFailed] = func(w *walk) (outcome, bool) {
				if w.journal.step < 1 || !w.protects() || w.journal.aborted || !w.newFailed() || !w.journal.intended {
					return outcome{}, false
				}
				return w.stamp(v1alpha1.StampAbort, w.journal.step, ReasonPathFailed, "").at(GateProven), true
			}
		}},
	}
}

func backMutations() []mutation {
	return []mutation{
		{name: "raising the TTL is a step", what: "raising the TTL leaves no intent", rules: func(r *rules) {
			r.dropFirst(atDiverged)
			r.face(GateTTLLowered, nil, func(w *walk) outcome {
				n := &w.Names[0]
				s := &n.Servers[0]
				switch {
				case !w.journal.intended:
					return outcome{}
				case !s.Known:
					return unknown(ReasonNamesUnknown, "")
				case s.Value.Records.Equal(n.Name.Snapshot):
					return outcome{}
				}
				change := dnsctl.Change{Name: n.Name.Name, Before: s.Value, After: dnsctl.Answer{Records: n.Name.Snapshot}}
				return act(ChangeNames{Step: -1, Changes: []dnsctl.Change{change}}, ReasonChangingNames, "")
			})
		}},
		{name: "moot", what: "back wants the old path though names are back", rules: func(r *rules) {
			r.face(GateSettled, nil, (*walk).oldGood)
		}},
		{name: "largest TTL", what: "back waits for the low TTL only", rules: func(r *rules) { r.backTTL = (*walk).lowTTL }, bias: lateBack},
		{name: "proxy", what: "established connections are excused though their proxy goes", facts: func(f *Facts) {
			f.NewUse.ProxyGoes = false
		}},
		{name: "chain", what: "a new attempt starts from nothing", world: forgetsChain, rules: func(r *rules) {
			r.read = func(stamps []Stamp, attempt int64) journal {
				own := slices.DeleteFunc(slices.Clone(stamps), func(s Stamp) bool {
					return s.Attempt != attempt && s.Kind != v1alpha1.StampForgotten && s.Kind != v1alpha1.StampUndone
				})
				return readJournal(own, attempt)
			}
		}},
		{name: "plan", what: "a new plan is applied under live names", rules: func(r *rules) {
			r.face(GateRecorded, func(w *walk) outcome {
				if w.frozen != nil && w.frozen.Attempt == w.attempt {
					return outcome{}
				}
				return act(RecordPlan{Attempt: w.attempt, Hash: w.rules.hash(w.Live)}, ReasonRecording, "")
			}, nil)
		}},
	}
}

// lateBack is a smooth walk to the end, and the way back from there, with clients that come seldom.
func lateBack(w *world) {
	w.keen, w.flip, w.mild, w.goal, w.approved, w.guard = true, false, .35, 3, w.live, true
	w.git, w.zoneOwner, w.latent, w.orphan, w.fault = false, false, false, false, false
	w.busy, w.back, w.paused = [3]float64{.1, .15, .1}, !w.noisy, false
}

func orderMutations() []mutation {
	return []mutation{
		{name: "order", what: "Undone is the last row, so back starts with it", rules: func(r *rules) {
			r.back = append([]gate{r.table[0]}, r.back...)
		}},
		{name: "approval", what: "Recorded needs approval", rules: func(r *rules) {
			r.face(GateRecorded, func(w *walk) outcome {
				if o := recorded(w); o.passes() || w.Intent.ApprovedPlan == w.rules.hash(w.Live) {
					return o
				}
				return held(ReasonNotApproved, "")
			}, nil)
		}},
		{name: "hold stops no abort", what: "drift, pause or Report stop Abort too", rules: func(r *rules) {
			r.first[atFailed] = func(w *walk) (outcome, bool) {
				d := w.drift()
				if w.Intent.Paused || w.Intent.Goal == v1alpha1.GoalReport || d.verdict != "" {
					return outcome{}, false
				}
				return failed(w)
			}
		}},
		{name: "hold stops no repair", what: "... and stop repair after release", rules: func(r *rules) { r.dropFirst(atRepair) }},
	}
}
