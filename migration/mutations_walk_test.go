package migration

import (
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func controllerMutations() []mutation {
	return []mutation{
		{name: "one change per pass", what: "go on after a change, on the same facts", world: actsTwice},
		{name: "re-read", what: "no uncached re-read at all", world: neverRereads},
		{name: "re-read everything", what: "only Release, Restore, Remove, Forget re-read", world: rereadsFour},
		{name: "idempotent", hint: 2, what: "RecordPlan overwrites", world: recordsAgain},
		{name: "memory in spec", hint: 26, what: "the journal gets lost", world: losesJournal},
		{name: "new leader waits", hint: 1254, what: "a new leader does not wait", world: leadsAtOnce},
		{name: "attempt never falls", hint: 363, what: "the attempt may fall below the stamps", rules: func(r *rules) {
			r.attempt = func(f Facts) int64 { return f.Intent.Attempt }
		}},
	}
}

// handsMutations are about what is ours to give back.
func handsMutations() []mutation {
	return []mutation{
		{name: "owner", hint: 13, what: "restore without proof that we removed", rules: func(r *rules) {
			r.face(GateReleased, nil, func(w *walk) outcome {
				if f := &w.Fields[0]; !f.Present && w.journal.any {
					return restore(f)
				}
				return restored(w)
			})
		}},
		{name: "conflict", hint: 309, what: "restore without a look for a new holder", facts: func(f *Facts) {
			if f.Intent.Direction == v1alpha1.DirectionBack {
				f.Fields[0].Foreign = ""
			}
		}},
		{name: "guard stays", hint: 254, what: "back lifts the guard", world: liftsGuard},
		{name: "our mark", hint: 254, what: "no mark of ours on the Service", rules: func(r *rules) {
			r.ours = func(*walk, *Field) bool { return false }
			r.face(GateReleased, nil, func(w *walk) outcome {
				if f := &w.Fields[0]; w.journal.latched() && !f.Present {
					return restore(f)
				}
				return restored(w)
			})
		}},
		{name: "restored", hint: 249, what: "no Restored stamp", rules: func(r *rules) {
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
		{name: "returned", hint: 17, what: "no Returned stamp", rules: func(r *rules) { r.dropFirst(atReturned) }},
	}
}

func latchMutations() []mutation {
	return []mutation{
		{name: "latch Recorded", hint: 3, what: "Eligible reads the live Service", rules: func(r *rules) {
			r.face(GateEligible, func(w *walk) outcome {
				if !w.Fields[0].Present {
					return held(ReasonNoPlan, "the field is gone")
				}
				return outcome{}
			}, nil)
		}},
		{name: "latch Seen", hint: 3, what: "TTLLowered is never moot", rules: func(r *rules) {
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
		{name: "latch Released", hint: 157, what: "Proven, Settled and Drained are never moot", rules: func(r *rules) {
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
		{name: "latch Forgotten", hint: 3, what: "Forgotten is no end", rules: func(r *rules) {
			r.first[atEnded] = func(w *walk) (outcome, bool) {
				if w.journal.forgotten {
					return outcome{}, false
				}
				return ended(w)
			}
		}},
		{name: "latch Abort", hint: 15, what: "a recovered path is tried again in the attempt", rules: func(r *rules) {
			r.first[atAborted] = func(w *walk) (outcome, bool) {
				if w.New.Healthy.Known && !w.newFailed() {
					return outcome{}, false
				}
				return aborted(w)
			}
		}},
	}
}
