package sim

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// crashPoints counts where controllers died or lost a response.
type crashPoints struct{ kills, lost atomic.Int64 }

func (c *crashPoints) count(w *world) {
	c.kills.Add(int64(w.kill.kills))
	c.lost.Add(int64(w.kill.lost))
}

// TestCrashPoint kills the controller before and after every write, API and DNS, of a walk of each strategy: forward to its
// end, and forward to each gate and back. It also loses the responses to writes that were made, and lets caches be behind. Each
// walk must end as one that nothing happened to, with no request lost on the way.
func TestCrashPoint(t *testing.T) {
	t.Parallel()
	var points crashPoints
	t.Cleanup(func() {
		kills, lost := points.kills.Load(), points.lost.Load()
		t.Logf("%d crash points: killed %d times, %d responses lost", kills+lost, kills, lost)
	})
	for name, service := range map[string]string{"Gateway": httpService, "LoadBalancer": localService, "Adopt": keptService} {
		t.Run(name+" forward", func(t *testing.T) {
			t.Parallel()
			points.forward(t, service)
		})
		for _, gate := range turns(name) {
			t.Run(name+" back from "+gate, func(t *testing.T) {
				t.Parallel()
				points.back(t, service, gate)
			})
		}
	}
}

// turns are the gates from which a walk turns back.
func turns(strategy string) []string {
	var out []string
	if strategy != "Adopt" {
		out = append(out, "Shifted@50")
	}
	for _, g := range forwardGates() {
		out = append(out, string(g))
	}
	return out
}

// struck are the faults that strike at every write: all kills, each third response in turn, and caches that do not know of it.
func struck() []string {
	out := []string{faultKilled, faultStale + "=45"}
	for phase := range 3 {
		out = append(out, fmt.Sprintf("%s=%d", faultLost, phase+1))
	}
	return out
}

func (c *crashPoints) forward(t *testing.T, service string) {
	t.Helper()
	clean, _ := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service)})
	want := clean.leftovers()
	for _, fault := range struck() {
		w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service), Fault: fault})
		c.count(w)
		if e := only(t, r); e.Outcome != Released || e.Requests.Lost != 0 || e.Requests.Sent == 0 {
			t.Errorf("%s: %s (%s), %d of %d requests lost", fault, e.Outcome, e.Why, e.Requests.Lost, e.Requests.Sent)
		}
		if got := w.leftovers(); got != want {
			t.Errorf("%s: the world ends as\n%s\nwant\n%s", fault, got, want)
		}
		if w.kill.kills+w.kill.lost == 0 && w.lag == 0 {
			t.Errorf("%s: nothing was struck", fault)
		}
	}
}

func (c *crashPoints) back(t *testing.T, service, gate string) {
	t.Helper()
	for _, fault := range struck() {
		w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service), Fault: fault, RollbackAt: gate})
		c.count(w)
		if e := only(t, r); e.Outcome != Undone || e.Requests.Lost != 0 || e.Requests.Sent == 0 {
			t.Errorf("%s: %s (%s), %d of %d requests lost", fault, e.Outcome, e.Why, e.Requests.Lost, e.Requests.Sent)
		}
		isAsBefore(t, w)
	}
}
