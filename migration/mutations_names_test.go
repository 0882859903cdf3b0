package migration

import (
	"math"
	"slices"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func nameMutations() []mutation {
	return []mutation{
		{name: "age", hint: 2, what: "stamps count by presence, not by age", rules: func(r *rules) {
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
		{name: "slot", hint: 133, what: "a slot step is changed by any allowed set", rules: func(r *rules) {
			r.answers = func(w *walk, n *NameFacts, k dnsctl.Step, a *dnsctl.Answer) bool { return inside(w, n, k, a) }
		}},
		{name: "mark", hint: 659, what: "the mark carries no intent", rules: func(r *rules) {
			anyMark(r)
			r.dropFirst(atDiverged)
			r.mark = func(w *walk, k dnsctl.Step) dnsctl.Mark {
				if k < 0 {
					return dnsctl.Mark{}
				}
				return dnsctl.Mark{Owner: w.Record.Name}
			}
		}},
		{name: "diverged", hint: 659, what: "no Diverged stamp", rules: func(r *rules) { r.dropFirst(atDiverged) }},
		{name: "safe", hint: 16, what: "a stopped walk leaves the slot as it is", rules: func(r *rules) {
			r.safe = func(_ *walk, o outcome) outcome { return o }
		}},
		{name: "kept", hint: 18, what: "a set is written though what it keeps is not known good", rules: func(r *rules) {
			r.kept = func(*walk, *NameFacts, *dnsctl.Answer, *dnsctl.RecordSet) outcome { return outcome{} }
		}},
		{name: "live names", hint: 771, what: "Abort asks the youngest intent, not the names", rules: func(r *rules) {
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
		{name: "largest TTL", hint: 78, what: "back waits for the low TTL only", rules: func(r *rules) { r.backTTL = (*walk).lowTTL }, bias: lateBack},
		{name: "proxy", hint: 2477, what: "established connections are excused though their proxy goes", facts: func(f *Facts) {
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
		{name: "plan", hint: 244, what: "a new plan is applied under live names", rules: func(r *rules) {
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
		{name: "hold stops no abort", hint: 493, what: "drift, pause or Report stop Abort too", rules: func(r *rules) {
			r.first[atFailed] = func(w *walk) (outcome, bool) {
				d := w.drift()
				if w.Intent.Paused || w.Intent.Goal == v1alpha1.GoalReport || d.verdict != "" {
					return outcome{}, false
				}
				return failed(w)
			}
		}},
		{name: "hold stops no repair", hint: 547, what: "... and stop repair after release", rules: func(r *rules) { r.dropFirst(atRepair) }},
	}
}
