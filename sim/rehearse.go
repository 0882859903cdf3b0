package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// The outcomes of a walk.
const (
	Released = "Released"
	Undone   = "Undone"
	Held     = "Held"
	// CleanUp: the field carries no traffic, so that nothing moves; Why says how to remove it.
	CleanUp = "CleanUp"
	Blocked = "Blocked"
)

// Rehearse walks the migration of the given manifests in the embedded world.
func Rehearse(ctx context.Context, o Options) (*Report, error) {
	f, err := parseFault(o.Fault)
	if err != nil {
		return nil, err
	}
	if err := checkRollbackAt(o.RollbackAt); err != nil {
		return nil, err
	}
	w, err := rehearse(ctx, o, f)
	if err != nil {
		return nil, err
	}
	if f.Name == faultKilled {
		return w.compared(ctx, o)
	}
	return w.report(), nil
}

// rehearse runs one world to its end. What the controllers log is not part of a rehearsal.
func rehearse(ctx context.Context, o Options, f fault) (*world, error) {
	ctx = log.IntoContext(ctx, logr.Discard())
	w, err := newWorld(o, f)
	if err != nil {
		return nil, err
	}
	if err := w.populate(ctx); err != nil {
		return nil, err
	}
	w.kill.onWrite = w.wrote
	w.path.rebuild(w.server.store.cache)
	w.server.store.take()
	f.begin(w)
	if err := w.emulateCluster(ctx); err != nil {
		return nil, err
	}
	w.start(w.now.Add(-lease))
	return w, w.run(ctx)
}

// compared adds to the report whether a run without kills ends the same.
func (w *world) compared(ctx context.Context, o Options) (*Report, error) {
	o.Fault, o.Progress = "", nil
	clean, err := rehearse(ctx, o, fault{})
	if err != nil {
		return nil, err
	}
	out := w.report()
	out.Assumed = append(out.Assumed, fmt.Sprintf("the controller was killed %d times, before and after every write", w.kill.kills))
	for i, e := range clean.report().EntryPoints {
		if got := out.EntryPoints[i]; got.Outcome != e.Outcome || got.Name != e.Name {
			return nil, fmt.Errorf("killed at every write, entry point %s ends %s; without, %s ends %s", got.Name, got.Outcome, e.Name, e.Outcome)
		}
	}
	if a, b := w.leftovers(), clean.leftovers(); a != b {
		return nil, fmt.Errorf("killed at every write, the world ends as\n%s\nwithout, as\n%s", a, b)
	}
	return out, nil
}

// wrote is called after every write of the controller.
func (w *world) wrote(made Write) {
	w.progress = w.now
	if made.Kind == kindDNS {
		w.users.tick()
	}
}

func (w *world) assume(format string, args ...any) {
	w.assumed = append(w.assumed, fmt.Sprintf(format, args...))
}

func (w *world) say(format string, args ...any) {
	if w.options.Progress != nil {
		_, _ = fmt.Fprintf(w.options.Progress, format+"\n", args...)
	}
}

// report sums the rehearsal up, entry points by name.
func (w *world) report() *Report {
	out := &Report{APIVersion: v1alpha1.GroupVersion.String(), Kind: "RehearsalReport", Assumed: w.assumed, EntryPoints: []EntryPointReport{}}
	for _, obj := range sortedObjects(w.server.store.cache, entryPointKind) {
		ep, ok := obj.(*v1alpha1.EntryPoint)
		if !ok {
			continue
		}
		out.EntryPoints = append(out.EntryPoints, w.reportOf(ep))
	}
	for _, f := range w.users.flows {
		out.Requests.Sent += f.sent
		out.Requests.Lost += f.lost
	}
	return out
}

func (w *world) reportOf(ep *v1alpha1.EntryPoint) EntryPointReport {
	t := w.track(ep)
	r := EntryPointReport{Name: ep.Name, Strategy: ep.Status.Strategy, Outcome: t.outcome, Why: t.why, Gates: w.gates(t, ep)}
	if r.Outcome == "" {
		r.Outcome, r.Why = w.standstill(ep)
	}
	if n := w.kill.writes[ep.Name]; n != nil {
		r.Writes = *n
	}
	for _, f := range w.users.flows {
		if slices.ContainsFunc(ep.Spec.Members, func(m v1alpha1.ServiceReference) bool { return m.Namespace+"/"+m.Name == f.service }) {
			r.Requests.Sent += f.sent
			r.Requests.Lost += f.lost
		}
	}
	return r
}

// gates are the last words of all gates, in table order.
func (w *world) gates(t *tracked, ep *v1alpha1.EntryPoint) []GateReport {
	verdicts := map[string]migration.Verdict{}
	for _, d := range migration.ReasonDocs() {
		verdicts[d.Reason] = d.Verdict
	}
	out := []GateReport{}
	for _, c := range ep.Status.Conditions {
		if !slices.Contains(allGates(), migration.Gate(c.Type)) {
			continue
		}
		g := GateReport{Name: c.Type, Verdict: verdict(verdicts, string(c.Status), c.Reason), Reason: c.Reason}
		if at, met := t.met[c.Type]; met {
			g.At = at.UTC().Format(time.RFC3339)
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b GateReport) int {
		return slices.Index(allGates(), migration.Gate(a.Name)) - slices.Index(allGates(), migration.Gate(b.Name))
	})
	return out
}

// verdict reads a gate's verdict off its condition: the reason code tells, else the status.
func verdict(known map[string]migration.Verdict, status, reason string) string {
	if v, ok := known[reason]; ok {
		return string(v)
	}
	switch status {
	case "True":
		return string(migration.Met)
	case "Unknown":
		return string(migration.Unknown)
	}
	if reason != "" && len(reason) > 4 && reason[:4] == "Step" {
		return string(migration.Waiting)
	}
	return string(migration.Held)
}

func allGates() []migration.Gate {
	return append(append([]migration.Gate{migration.GateUndone}, forwardGates()...), migration.GateForgotten)
}
