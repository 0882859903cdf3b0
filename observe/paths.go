package observe

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/migration"
	"offramp.dev/probe"
)

// paths looks at the health of both paths: what the objects say of themselves, then probes of literal addresses.
func (l *Looker) paths(ctx context.Context, r client.Reader, w *World, plan *migration.Plan, f *migration.Facts) error {
	if plan == nil || !f.Record.Exists || ended(f.Record) {
		f.New.Healthy, f.Old.Healthy = migration.Unseen[bool]("nothing is recorded"), migration.Unseen[bool]("nothing is recorded")
		return nil
	}
	programmed, reason, err := l.programmed(ctx, r, w, plan, f)
	if err != nil {
		return err
	}
	since := youngestSeen(f.Record)
	h := l.of(w.EntryPoint.Name)
	h.Lock()
	defer h.Unlock()
	switch {
	case !wantNew(plan, f):
		h.newPath = tally{since: since}
		f.New.Healthy = migration.Unseen[bool]("the new path is not probed once names have left it: probes would be seen as traffic")
	case programmed.Known && programmed.Value:
		l.round(ctx, &h.newPath, plan, since, func(c migration.Check) netip.Addr { return c.New })
		f.New = h.newPath.path()
	default:
		h.newPath = tally{since: since}
		f.New = migration.Path{Healthy: programmed, Reason: reason, Detail: programmed.Why}
	}
	if err := l.vantages(ctx, plan, f); err != nil {
		return err
	}
	if !wantOld(f) {
		h.oldPath = tally{since: since}
		f.Old.Healthy = migration.Unseen[bool]("the old path is not probed once names have left it: probes would be seen as traffic")
		return nil
	}
	l.oldRound(ctx, h, plan, since, f)
	return nil
}

// oldRound: the old path is the field. Where it is gone the path is known to be gone, whatever answers at the address.
func (l *Looker) oldRound(ctx context.Context, h *rounds, plan *migration.Plan, since time.Time, f *migration.Facts) {
	for _, x := range f.Fields {
		if x.Missing || !x.Present {
			f.Old = migration.Path{Healthy: migration.See(false), Detail: "Service " + x.Service + " does not carry the old address"}
			return
		}
	}
	l.round(ctx, &h.oldPath, plan, since, func(c migration.Check) netip.Addr { return c.Old })
	f.Old = h.oldPath.path()
}

// programmed is what the target objects say of themselves, with a code where they are known to be wrong.
func (l *Looker) programmed(
	ctx context.Context, r client.Reader, w *World, plan *migration.Plan, f *migration.Facts,
) (seen migration.Seen[bool], reason string, err error) {
	if plan.Strategy == v1alpha1.StrategyAdopt {
		return migration.Seen[bool]{Value: f.Target.Exact, Known: true, Why: f.Target.Difference}, "", nil
	}
	if !f.Target.Any {
		return migration.Seen[bool]{Known: true, Why: first(f.Target.Difference, "the target objects do not exist")}, "", nil
	}
	want, err := plan.Targets()
	if err != nil {
		return seen, "", fmt.Errorf("plan of EntryPoint %s: %w", plan.EntryPoint, err)
	}
	live, err := l.live(ctx, r, w, want)
	if err != nil {
		return seen, "", err
	}
	health := gateway.Read(want, live, plan.NewAddresses)
	seen = migration.Seen[bool]{Value: health.Programmed, Known: health.Known, Why: health.Reason + ": " + health.Message}
	if health.Known && !health.Programmed && health.Reason != gateway.HealthPending {
		reason = health.Reason
	}
	return seen, reason, nil
}

// round probes once if the interval has passed since the last time.
func (l *Looker) round(ctx context.Context, t *tally, plan *migration.Plan, since time.Time, to func(migration.Check) netip.Addr) {
	if !t.since.Equal(since) {
		t.since, t.samples, t.failures = since, 0, 0
	}
	now := l.Now()
	if !t.last.IsZero() && now.Sub(t.last) < time.Duration(plan.Settings.ProbeInterval)*time.Second {
		return
	}
	t.last, t.results = now, make([]probe.Result, len(plan.Checks))
	// A probe minds ctx itself and answers; a check that was never begun would leave no answer.
	workqueue.ParallelizeUntil(context.WithoutCancel(ctx), max(1, l.ProbesAtOnce), len(plan.Checks), func(i int) {
		c := plan.Checks[i]
		t.results[i] = l.Probe.Probe(ctx, probe.Check{
			Address: to(c), Port: port(c.Port), Kind: probe.Kind(c.Kind), Host: c.Host, Path: c.Path,
			Timeout: time.Duration(plan.Settings.ProbeTimeout) * time.Second,
		})
	})
	t.count()
}

// port is a port number; what is none is 0, which no probe can reach.
func port(n int32) uint16 {
	if n < 0 || n > math.MaxUint16 {
		return 0
	}
	return uint16(n)
}

// count adds the round up: any failure fails it, nothing conclusive leaves it unknown.
func (t *tally) count() {
	good, failed := 0, 0
	t.detail = ""
	for _, r := range t.results {
		switch r.Outcome {
		case probe.Good:
			good++
		case probe.Failed:
			failed++
			t.detail = first(t.detail, fmt.Sprintf("%s %s:%d: %s", r.Check.Kind, r.Check.Address, r.Check.Port, r.Detail))
		case probe.Inconclusive:
			t.detail = first(t.detail, fmt.Sprintf("%s %s:%d: %s", r.Check.Kind, r.Check.Address, r.Check.Port, r.Detail))
		}
	}
	switch {
	case failed > 0:
		t.healthy, t.good, t.samples, t.failures = migration.See(false), 0, t.samples+1, t.failures+1
	case good == 0:
		t.healthy, t.good = migration.Unseen[bool](first(t.detail, "nothing could be measured")), 0
	default:
		t.healthy, t.good, t.samples = migration.See(true), t.good+1, t.samples+1
	}
}

func (t *tally) path() migration.Path {
	return migration.Path{Healthy: t.healthy, Samples: t.samples, Failures: t.failures, Rounds: t.good, Detail: t.detail}
}

// youngestSeen is the time of the youngest Seen or Recorded stamp: since then samples count.
func youngestSeen(r migration.Record) time.Time {
	for _, s := range slices.Backward(r.Stamps) {
		if k := s.Kind; k == v1alpha1.StampSeen || k == v1alpha1.StampRecorded || k == v1alpha1.StampReleased {
			return s.At
		}
	}
	return time.Time{}
}

func ended(r migration.Record) bool {
	if len(r.Stamps) == 0 {
		return false
	}
	k := r.Stamps[len(r.Stamps)-1].Kind
	return k == v1alpha1.StampUndone || k == v1alpha1.StampForgotten
}

// PathsToProbe tells which paths may be probed now: a probe of a path that nobody should use any more would be seen as
// traffic. It asks f for the record, the direction and the attempt only.
func PathsToProbe(plan *migration.Plan, f *migration.Facts) (old, fresh bool) {
	return wantOld(f), wantNew(plan, f)
}

// wantNew: on the way back, and after an abort, the new path is probed only until names are seen to have left it: it is
// removed once it is quiet, and a probe is a connection like any other.
func wantNew(plan *migration.Plan, f *migration.Facts) bool {
	if f.Intent.Direction != v1alpha1.DirectionBack && !abortedNow(f) {
		return true
	}
	for _, s := range slices.Backward(f.Record.Stamps) {
		switch {
		case s.Kind == v1alpha1.StampSeen:
			return s.Step > dnsctl.StepLowTTL
		case s.Kind == v1alpha1.StampIntent && s.Step > dnsctl.StepLowTTL:
			return true
		}
	}
	return len(plan.Names) > 0
}

// abortedNow tells whether the current attempt has an Abort.
func abortedNow(f *migration.Facts) bool {
	for _, s := range f.Record.Stamps {
		if s.Kind == v1alpha1.StampAbort && s.Attempt == f.Attempt() {
			return true
		}
	}
	return false
}

// wantOld: the old path is probed until every name has left it, and again on the way back.
func wantOld(f *migration.Facts) bool {
	if f.Intent.Direction == v1alpha1.DirectionBack {
		return true
	}
	for _, s := range slices.Backward(f.Record.Stamps) {
		if s.Kind == v1alpha1.StampAbort {
			return true
		}
		if s.Kind == v1alpha1.StampIntent {
			return s.Step < lastShare(f)
		}
	}
	return !hasStamp(f.Record, v1alpha1.StampReleased)
}

func lastShare(f *migration.Facts) dnsctl.Step {
	p := frozen(f.Record)
	if p == nil {
		return 1
	}
	return dnsctl.Step(len(p.Settings.Percents))
}

func hasStamp(r migration.Record, k v1alpha1.StampKind) bool {
	for _, s := range r.Stamps {
		if s.Kind == k {
			return true
		}
	}
	return false
}
