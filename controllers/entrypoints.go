package controllers

import (
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

// poll is how soon a pass comes where the world, not the clock, must change and may do so without an event.
const poll = 10 * time.Second

// EntryPoints walks entry points: one pass observes, decides, does at most one thing and reports.
type EntryPoints struct {
	*Ports

	looker  *observe.Looker
	returns *observe.Returns
	first   sync.Once
	since   time.Time
}

// NewEntryPoints makes the reconciler.
func NewEntryPoints(p *Ports) *EntryPoints {
	return &EntryPoints{Ports: p, looker: observe.NewLooker(p.Ports), returns: observe.NewReturns(p.Ports)}
}

// Reconcile is one pass.
func (r *EntryPoints) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var ep v1alpha1.EntryPoint
	if err := r.Client.Get(ctx, req.NamespacedName, &ep); err != nil {
		if apierrors.IsNotFound(err) {
			r.looker.Forget(req.Name)
			r.returns.Forget(req.Name)
			forgetWalk(req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading EntryPoint %s: %w", req.Name, err)
	}
	facts, world, err := r.looker.EntryPoint(ctx, &ep, r.Cached)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.reportUnreadable(ctx, &ep, err))
	}
	decision := migration.Decide(facts)
	acted, actErr := r.actIfStill(ctx, &ep, decision)
	reportErr := r.report(ctx, world, facts, decision, actErr)
	if acted {
		return reconcile.Result{RequeueAfter: afterAction}, errors.Join(actErr, reportErr)
	}
	return reconcile.Result{RequeueAfter: r.again(facts, decision)}, errors.Join(actErr, reportErr)
}

// actIfStill looks again past every cache, decides again and acts only if the answer is still the same.
func (r *EntryPoints) actIfStill(ctx context.Context, cached *v1alpha1.EntryPoint, d migration.Decision) (acted bool, err error) {
	if d.Action == nil || r.leaderWait() > 0 {
		return false, nil
	}
	var ep v1alpha1.EntryPoint
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), &ep); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	facts, world, err := r.looker.EntryPoint(ctx, &ep, r.Live)
	if err != nil {
		return false, err
	}
	again := migration.Decide(facts)
	if again.Action == nil || again.Action.String() != d.Action.String() {
		return true, nil // the cache lags: come back soon
	}
	log.FromContext(ctx).Info("Acting", "entryPoint", ep.Name, "gate", again.At.Gate, "action", again.Action.String())
	err = r.act(ctx, world, facts, again.Action)
	if err == nil {
		r.event(&ep, again)
	}
	return err == nil, err
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
