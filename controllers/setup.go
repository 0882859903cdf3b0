package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/observe"
)

// Add registers every reconciler with the manager. The walk is also called for what its objects' surroundings do.
func Add(mgr ctrl.Manager, p *Ports) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.EntryPoint{}, membersIndex, membersOf); err != nil {
		return fmt.Errorf("indexing EntryPoints by member: %w", err)
	}
	for _, r := range Reconcilers(p) {
		b := ctrl.NewControllerManagedBy(mgr).Named(r.Name).For(r.For).WithOptions(options(r))
		if _, ok := r.For.(*v1alpha1.EntryPoint); ok {
			for _, o := range related(mgr) {
				b = b.Watches(o, handler.EnqueueRequestsFromMapFunc(p.concerned))
			}
			b = b.Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(p.served), builder.WithPredicates(readiness()))
		}
		if err := b.Complete(reconcile.Func(r.Do)); err != nil {
			return fmt.Errorf("adding reconciler %s: %w", r.Name, err)
		}
	}
	return NewCatalog(p).add(mgr)
}

// membersIndex finds EntryPoints by "namespace/name" of a member.
const membersIndex = "spec.members"

func membersOf(o client.Object) []string {
	ep, ok := o.(*v1alpha1.EntryPoint)
	if !ok {
		return nil
	}
	var out []string
	for _, m := range ep.Spec.Members {
		out = append(out, m.Namespace+"/"+m.Name)
	}
	return out
}

// served are the entry points whose member an EndpointSlice serves.
func (p *Ports) served(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.EntryPointList
	member := o.GetNamespace() + "/" + o.GetLabels()[discoveryv1.LabelServiceName]
	if err := p.Client.List(ctx, &all, client.MatchingFields{membersIndex: member}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range all.Items {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: all.Items[i].Name}})
	}
	return out
}

// readiness lets only those changes of endpoints through that make a Service ready or not: Pods that come and go beside
// others call for no pass.
func readiness() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*discoveryv1.EndpointSlice)
		after, alsoOK := e.ObjectNew.(*discoveryv1.EndpointSlice)
		return !ok || !alsoOK || observe.Ready(before) != observe.Ready(after)
	}}
}

// walksAtOnce is how many entry points are looked at side by side: one whose probes or name servers answer late must not make
// the others wait. One and the same entry point never has two passes at once.
const walksAtOnce = 16

func options(r Reconciler) controller.Options {
	out := controller.Options{RateLimiter: backOff(), MaxConcurrentReconciles: 1}
	if _, ok := r.For.(*v1alpha1.EntryPoint); ok {
		out.MaxConcurrentReconciles = walksAtOnce
	}
	return out
}

// backOff is how soon a pass that failed is tried again: a minute at most, for a walk that waits on a name server must not
// sleep long after it is back.
func backOff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](500*time.Millisecond, time.Minute)
}

// related are the kinds whose changes concern entry points. Kinds that are not served are left out: an informer for
// one would block every other.
func related(mgr ctrl.Manager) []client.Object {
	out := []client.Object{&corev1.Service{}, &v1alpha1.MigrationRecord{}, &v1alpha1.AddressClaim{}, &v1alpha1.MigrationPolicy{}}
	kind := schema.GroupKind{Group: gatewayv1.GroupName, Kind: "Gateway"}
	if _, err := mgr.GetRESTMapper().RESTMapping(kind, "v1"); err == nil {
		out = append(out, &gatewayv1.Gateway{})
	}
	return out
}

// concerned are the entry points that an object belongs to.
func (p *Ports) concerned(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.EntryPointList
	if err := p.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range all.Items {
		if concerns(&all.Items[i], o) {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: all.Items[i].Name}})
		}
	}
	return out
}

func concerns(ep *v1alpha1.EntryPoint, o client.Object) bool {
	if o.GetLabels()[v1alpha1.LabelEntryPoint] == gateway.Label(ep.Name) {
		return true
	}
	switch o := o.(type) {
	case *v1alpha1.MigrationPolicy:
		return ep.Spec.Policy == o.GetName()
	case *v1alpha1.AddressClaim:
		return addresspool.HeldBy(&o.Spec, ep.Name)
	case *corev1.Service:
		if joins(ep, o) {
			return true
		}
	}
	for _, m := range ep.Spec.Members {
		if o.GetNamespace() == m.Namespace && o.GetName() == m.Name {
			return true
		}
	}
	return false
}

// joins tells whether an opted-in Service names a name of the entry point: it may have changed a group whose membership is
// recorded, or have left it again.
func joins(ep *v1alpha1.EntryPoint, s *corev1.Service) bool {
	if s.Annotations[v1alpha1.AnnotationPolicy] == "" {
		return false
	}
	for name := range strings.SplitSeq(s.Annotations[v1alpha1.AnnotationHostnames], ",") {
		if slices.Contains(ep.Status.Names, strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))) {
			return true
		}
	}
	return false
}
