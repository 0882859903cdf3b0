package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// afterAction is how soon the next pass comes after a change: DNS has no watch that would call us.
const afterAction = 100 * time.Millisecond

// afterLag is how soon the next pass comes where the cache said something else than the API server: its catching up is an
// event that calls us, so this is only for what it does not hold.
const afterLag = time.Second

// poll is how soon a pass comes where the world, not the clock, must change and may do so without an event.
const poll = 10 * time.Second

// EntryPoints walks entry points: one pass observes, decides, does at most one thing and reports.
type EntryPoints struct {
	*Ports

	looker  *observe.Looker
	returns *observe.Returns
	written written
	first   sync.Once
	since   time.Time
}

// NewEntryPoints makes the reconciler.
func NewEntryPoints(p *Ports) *EntryPoints {
	return &EntryPoints{Ports: p, looker: observe.NewLooker(p.Ports), returns: observe.NewReturns(p.Ports)}
}

// Reconcile is one pass.
func (r *EntryPoints) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var cached v1alpha1.EntryPoint
	if err := r.Client.Get(ctx, req.NamespacedName, &cached); err != nil {
		if apierrors.IsNotFound(err) {
			r.looker.Forget(req.Name)
			r.returns.Forget(req.Name)
			r.written.forget(req.Name)
			forgetWalk(req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading EntryPoint %s: %w", req.Name, err)
	}
	ep := r.written.newest(&cached)
	facts, world, err := r.looker.EntryPoint(ctx, ep, r.Cached)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.reportUnreadable(ctx, ep, err))
	}
	decision := migration.Decide(facts)
	soon, actErr := r.actIfStill(ctx, ep, decision)
	reportErr := r.report(ctx, world, facts, decision, actErr)
	return reconcile.Result{RequeueAfter: cmp.Or(soon, r.again(facts, decision))}, errors.Join(actErr, reportErr)
}

// actIfStill looks again past every cache, decides again and acts only if the answer is still the same. It answers how soon the
// next pass should come; zero as the decision says.
func (r *EntryPoints) actIfStill(ctx context.Context, cached *v1alpha1.EntryPoint, d migration.Decision) (soon time.Duration, err error) {
	if d.Action == nil || r.leaderWait() > 0 {
		return 0, nil
	}
	var ep v1alpha1.EntryPoint
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), &ep); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	facts, world, err := r.looker.EntryPoint(ctx, &ep, r.Live)
	if err != nil {
		return 0, err
	}
	again := migration.Decide(facts)
	if again.Action == nil || again.Action.String() != d.Action.String() {
		return afterLag, nil
	}
	log.FromContext(ctx).Info("Acting", "entryPoint", ep.Name, "gate", again.At.Gate, "action", again.Action.String())
	if err := r.act(ctx, world, facts, again.Action); err != nil {
		return 0, err
	}
	r.event(&ep, again)
	return afterAction, nil
}

// leaderWait is how long the leader before us may still have an action on its way.
func (r *EntryPoints) leaderWait() time.Duration {
	r.first.Do(func() {
		if r.since = r.Since; r.since.IsZero() {
			r.since = r.Now()
		}
	})
	return r.since.Add(r.Lease).Sub(r.Now())
}

// again is when to look again: never for an ended walk, in retention as the policy says.
func (r *EntryPoints) again(f migration.Facts, d migration.Decision) time.Duration {
	if wait := r.leaderWait(); d.Action != nil && wait > 0 {
		return wait
	}
	if d.Ended || f.Intent.Goal == v1alpha1.GoalReport && !f.Record.Exists {
		return 0
	}
	next := pace(f)
	if d.At.Verdict == migration.Held {
		next = recheck(f)
	}
	if !d.Again.IsZero() {
		next = min(next, max(d.Again.Sub(f.Now), time.Second))
	}
	return next
}

// pace is how often a walk that waits for the world looks: with every round of probes.
func pace(f migration.Facts) time.Duration {
	if n := len(f.Record.Plans); n > 0 {
		return min(poll, max(time.Second, time.Duration(f.Record.Plans[n-1].Plan.Settings.ProbeInterval)*time.Second))
	}
	return poll
}

// recheck is the pace of a walk that only a human moves: the policy's for one in retention, a minute before.
func recheck(f migration.Facts) time.Duration {
	if n := len(f.Record.Plans); n > 0 && len(f.Fields) > 0 && !f.Fields[0].Present {
		return time.Duration(f.Record.Plans[n-1].Plan.Settings.Recheck) * time.Second
	}
	return time.Minute
}
