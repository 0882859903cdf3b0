package migration

import (
	"slices"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

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

// explains tells whether the intent that wrote the mark of a asks for its records, by the plan of that time. A mark that
// no intent of this chain wrote explains anything: there is nothing to compare with.
func (w *walk) explains(n *NameFacts, a *dnsctl.Answer) bool {
	if a.Mark.Sequence < 0 || a.Mark.Sequence >= len(w.Record.Stamps) {
		return true
	}
	s := &w.Record.Stamps[a.Mark.Sequence]
	plan := w.planOf(s.Attempt)
	if s.Kind != v1alpha1.StampIntent || plan == nil {
		return true
	}
	then := n.Name
	for i := range plan.Names {
		if plan.Names[i].Name == n.Name.Name {
			then = plan.Names[i]
		}
	}
	return slices.ContainsFunc(then.Allowed(s.Step, plan.Settings.Percents), a.Records.Equal)
}

// planOf is the recorded plan of an attempt, else nil.
func (w *walk) planOf(attempt int64) *Plan {
	for i := range w.Record.Plans {
		if w.Record.Plans[i].Attempt == attempt {
			return w.Record.Plans[i].Plan
		}
	}
	return nil
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
