package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
)

// Walk drives the names of one migration: each pass asks every server of every name, decides, and does at most one thing.
// It is no controller: all that a walk needs beside names is good, and its journal is in memory.
type Walk struct {
	Port  dnsctl.Port
	Zones map[string]dnsctl.Zone
	Plan  migration.Plan
	// Back turns the walk round, Attempt is a human's next try, OldFails and NewFails break a path.
	Back               bool
	Attempt            int64
	OldFails, NewFails bool
	// Clock is the time; Wait passes it until a moment, and is told where the world, and not the clock, must change.
	Clock func() time.Time
	Wait  func(ctx context.Context, until time.Time, world bool) error

	stamps   []migration.Stamp
	attempts []int64
	claimed  bool
	applied  bool
	lastPass time.Time
	safe     time.Time
	// failures are the updates that failed, in order; decisions not to be made anew are errors of Run.
	failures []error
}

// NewWalk is a walk of these names by the given shares, with no soak and a low TTL as the names have it.
func NewWalk(port dnsctl.Port, zones []dnsctl.Zone, names []dnsctl.Name, percents []int32) *Walk {
	w := &Walk{Port: port, Zones: map[string]dnsctl.Zone{}, Attempt: 1, Clock: time.Now, Wait: waitReally}
	for _, z := range zones {
		w.Zones[z.Object] = z
	}
	w.Plan = migration.Plan{
		EntryPoint: "shop-web", Policy: "default", Strategy: v1alpha1.StrategyLoadBalancer, Names: names,
		Settings: migration.Settings{
			LowTTL: int64(names[0].LowTTL), Percents: percents, Rounds: 1, ProbeInterval: 10, Recheck: 60,
			OnFailure: v1alpha1.OnFailureHold, Attraction: v1alpha1.AttractionStatic,
		},
	}
	return w
}

// Record is the name of the walk's MigrationRecord.
const Record = "shop-web-1"

// Virtual gives the walk a clock of its own that jumps, in large steps but for slots. Where a server must change first, a
// moment of real time passes.
func (w *Walk) Virtual(from time.Time) *Walk {
	now := from
	w.Plan.Settings.ProbeInterval = 300
	w.Clock = func() time.Time { return now }
	w.Wait = func(ctx context.Context, until time.Time, world bool) error {
		if until.After(now) {
			now = until
		}
		if world {
			return sleep(ctx, 20*time.Millisecond)
		}
		return ctx.Err()
	}
	return w
}

func waitReally(ctx context.Context, until time.Time, _ bool) error {
	return sleep(ctx, max(time.Until(until), 10*time.Millisecond))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ErrLong says that a walk did not come to where it should within its passes.
var ErrLong = errors.New("the walk does not arrive")

// Until passes until the decision satisfies arrived, at most n times, and gives it.
func (w *Walk) Until(ctx context.Context, n int, arrived func(migration.Decision) bool) (migration.Decision, error) {
	var d migration.Decision
	for range n {
		var err error
		if d, err = w.Pass(ctx); err != nil || arrived(d) {
			return d, err
		}
		if d.Action != nil {
			continue
		}
		world := d.At.Reason == migration.ReasonServersLag || d.At.Reason == migration.ReasonNamesUnknown
		if err := w.Wait(ctx, d.Again, world); err != nil {
			return d, err
		}
	}
	return d, fmt.Errorf("%w after %d passes: %s", ErrLong, n, d)
}

// Settled means that every share was walked, and the low TTL has passed since.
func Settled(d migration.Decision) bool {
	return d.Action == nil && d.At.Reason == migration.ReasonGoalReached
}

// Undone means that everything is as it was.
func Undone(d migration.Decision) bool { return d.Ended && d.At.Gate == migration.GateUndone }

// Pass looks, decides and acts once. An update that fails is no error of the walk: the next pass looks anew.
func (w *Walk) Pass(ctx context.Context) (migration.Decision, error) {
	d := migration.Decide(w.facts(ctx))
	switch a := d.Action.(type) {
	case migration.ChangeNames:
		if err := w.Port.Update(ctx, w.Zones[a.Changes[0].Zone], a.Changes); err != nil {
			w.failures = append(w.failures, err)
		}
	case migration.WriteStamp:
		w.stamp(a.Kind, a.Step, a.Attempt)
	case migration.RecordPlan:
		w.attempts = append(w.attempts, a.Attempt)
		w.stamp(v1alpha1.StampRecorded, 0, a.Attempt)
	case migration.Claim:
		w.claimed = true
	case migration.Unclaim:
		w.claimed = false
	case migration.Apply:
		w.applied = true
	case migration.Remove:
		w.applied = false
	case migration.Release, migration.Restore, migration.Forget:
		return d, fmt.Errorf("a walk of names alone never does this: %s", a)
	}
	return d, ctx.Err()
}

func (w *Walk) stamp(kind v1alpha1.StampKind, step dnsctl.Step, attempt int64) {
	w.stamps = append(w.stamps, migration.Stamp{Kind: kind, Step: step, Attempt: attempt, At: w.Clock()})
}

func (w *Walk) facts(ctx context.Context) migration.Facts {
	direction := v1alpha1.DirectionForward
	if w.Back {
		direction = v1alpha1.DirectionBack
	}
	plan := w.Plan
	hash := migration.HashPlan(&plan)
	f := migration.Facts{
		Now: w.Clock(), Guarded: migration.See(true), Live: &plan,
		Intent: migration.Intent{
			Goal: v1alpha1.GoalCutOver, Direction: direction, Attempt: w.Attempt, ApprovedPlan: hash, Waived: map[migration.Gate]string{},
		},
		Claims: migration.Claims{Complete: w.claimed, Any: w.claimed},
		Target: migration.Target{Exact: w.applied, Any: w.applied},
		Fields: []migration.Field{{Service: "shop/web", Present: true}},
		New:    path(w.NewFails), Old: path(w.OldFails),
		OldUse: w.quiet(), NewUse: w.quiet(),
	}
	w.recall(&f, &plan, hash)
	for _, n := range w.Plan.Names {
		f.Names = append(f.Names, w.look(ctx, n))
	}
	f.Slots = w.gapless(f.Now)
	return f
}

func (w *Walk) recall(f *migration.Facts, plan *migration.Plan, hash string) {
	f.Record.Name = Record
	if len(w.attempts) == 0 {
		return
	}
	f.Record.Exists, f.Record.Stamps = true, w.stamps
	f.Record.Snapshot = &migration.Snapshot{Names: plan.Names}
	for _, a := range w.attempts {
		f.Record.Plans = append(f.Record.Plans, migration.AttemptPlan{Attempt: a, Hash: hash, Plan: plan})
	}
}

func path(fails bool) migration.Path {
	return migration.Path{Healthy: migration.See(!fails), Samples: 1000, Rounds: 1}
}

// quiet: nobody has used a path since long before the walk.
func (w *Walk) quiet() migration.Use {
	return migration.Use{QuietSince: migration.See(w.Clock().Add(-24 * time.Hour)), Established: migration.See(int64(0)), Survives: true}
}

func (w *Walk) look(ctx context.Context, n dnsctl.Name) migration.NameFacts {
	zone := w.Zones[n.Zone]
	out := migration.NameFacts{Name: n, Manual: zone.Manual, At: zone, Rotates: w.rotates(ctx, zone, n.Name)}
	for _, server := range append([]string{zone.Primary}, zone.Servers...) {
		answer, err := w.Port.Query(ctx, zone, server, n.Name)
		if err != nil {
			out.Servers = append(out.Servers, migration.Unseen[dnsctl.Answer](err.Error()))
			continue
		}
		out.Servers = append(out.Servers, migration.See(answer))
	}
	return out
}

// rotates asks the servers as the controller does.
func (w *Walk) rotates(ctx context.Context, zone dnsctl.Zone, name string) migration.Seen[bool] {
	port, ok := w.Port.(dnsctl.Orderer)
	if !ok || !dnsctl.NeedsOrder(w.Plan.Settings.Percents) {
		return migration.Unseen[bool]("not asked")
	}
	for _, server := range append([]string{zone.Primary}, zone.Servers...) {
		order, err := port.Order(ctx, zone, server, name)
		if err != nil || order == dnsctl.OrderUnknown {
			return migration.Unseen[bool](fmt.Sprint(server, " does not show it: ", err))
		}
		if order == dnsctl.OrderFixed {
			return migration.Seen[bool]{Known: true, Why: server + " has a fixed order"}
		}
	}
	return migration.See(true)
}

// gapless is the controller's rule: the high set of a slot may stand only while no two passes lay farther apart than a slot.
func (w *Walk) gapless(now time.Time) bool {
	const slot = 10 * time.Second
	if w.lastPass.IsZero() || now.Sub(w.lastPass) > slot {
		w.safe = now.Add(slot)
	}
	w.lastPass = now
	return !now.Before(w.safe)
}

// Addresses parses addresses that are known to be good.
func Addresses(texts ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(texts))
	for _, t := range texts {
		out = append(out, netip.MustParseAddr(t))
	}
	return out
}
