package gatewaydouble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// Reconciler makes the data plane of this process, and for the leader Services and statuses, what the API says.
type Reconciler struct {
	Client client.Client
	// Live reads without a cache: two Gateways must not get one port because the first one's Service was not seen yet.
	Live     client.Reader
	Plane    *plane.Plane
	Settings Settings
	// Leads tells whether this process may write.
	Leads func() bool
	Log   *slog.Logger

	programmed atomic.Bool
}

// Programmed tells whether the data plane has been programmed once: a Pod without its ports open is not ready.
func (r *Reconciler) Programmed() bool { return r.programmed.Load() }

// Reconcile looks at the whole world: it is small.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	w, err := look(ctx, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := judge(w, r.Settings)
	done := outcome{ports: r.Plane.Program(ctx, v.table()), services: map[*served]error{}}
	r.programmed.Store(true)
	if !r.Leads() {
		return ctrl.Result{}, joined(done.ports)
	}
	failed := r.provision(ctx, v, done.services)
	err = errors.Join(failed, joined(done.ports), r.report(ctx, v, done))
	if apierrors.IsConflict(err) {
		r.Log.Debug("somebody else wrote meanwhile, looking again", "err", err)
		return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil
	}
	return ctrl.Result{}, err
}

// joined are the errors of all ports, so that they are tried again.
func joined(ports map[uint16]error) error {
	all := []error{}
	for _, err := range ports {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// provision writes the Services. Why one could not be written is entered in failed, to be told in the Gateway's status.
func (r *Reconciler) provision(ctx context.Context, v *view, failed map[*served]error) error {
	if err := r.refresh(ctx, v); err != nil {
		return err
	}
	targets, err := v.allocate()
	if err != nil {
		return err
	}
	all := []error{}
	for _, g := range v.gateways {
		if err := r.provisionOne(ctx, v, g, targets[g]); err != nil {
			failed[g] = err
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// refresh reads the Services of our Gateways as they are now.
func (r *Reconciler) refresh(ctx context.Context, v *view) error {
	var live corev1.ServiceList
	if err := r.Live.List(ctx, &live, client.InNamespace(v.settings.Namespace)); err != nil {
		return fmt.Errorf("listing the Services of namespace %s: %w", v.settings.Namespace, err)
	}
	now := &world{services: live}
	for _, g := range v.gateways {
		g.service = nil
		if s := now.service(g.Namespace, serviceName(g.Name)); s != nil && metav1.IsControlledBy(s, g.Gateway) {
			g.service = s
		}
	}
	v.live = now
	return nil
}

func (r *Reconciler) provisionOne(ctx context.Context, v *view, g *served, targets map[int32]uint16) error {
	if !g.provisioned() {
		return r.withdraw(ctx, g)
	}
	if len(g.ports()) == 0 {
		return nil // a Service without ports is none; one that is there waits for the listeners to be mended
	}
	name := serviceName(g.Name)
	if other := v.live.service(g.Namespace, name); other != nil && g.service == nil {
		return fmt.Errorf("there is a Service %s/%s that is not this Gateway's: delete it, or name the Gateway otherwise", g.Namespace, name)
	}
	err := r.Client.Apply(ctx, v.serviceFor(g, targets), client.FieldOwner(fieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying Service %s/%s: %w", g.Namespace, name, err)
	}
	return nil
}

// withdraw removes the Service of a Gateway that is to have none any more.
func (r *Reconciler) withdraw(ctx context.Context, g *served) error {
	if g.service == nil {
		return nil
	}
	err := r.Client.Delete(ctx, g.service, client.Preconditions{UID: &g.service.UID})
	return client.IgnoreNotFound(err)
}

// report writes every status that differs.
func (r *Reconciler) report(ctx context.Context, v *view, done outcome) error {
	all := []error{}
	for _, name := range v.classNames() {
		c := v.classes[name]
		before := c.object.Status
		c.object.Status = c.status()
		all = append(all, r.write(ctx, c.object, equal(before, c.object.Status)))
	}
	for _, g := range v.gateways {
		before := g.Status
		g.Status = g.status(done)
		all = append(all, r.write(ctx, g.Gateway, equal(before, g.Status)))
	}
	for i, o := range v.routes {
		parents := v.parentStatuses(o, v.answers[i])
		same := equal(o.status.Parents, parents)
		o.status.Parents = parents
		all = append(all, r.write(ctx, o.Object, same))
	}
	return errors.Join(all...)
}

func (r *Reconciler) write(ctx context.Context, o client.Object, same bool) error {
	if same {
		return nil
	}
	if err := r.Client.Status().Update(ctx, o); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status of %T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err))
	}
	return nil
}

// equal compares as the API does: nil and empty are the same.
func equal(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }
