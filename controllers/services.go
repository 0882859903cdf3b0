package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
	"offramp.dev/observe"
)

// Services turns opt-ins into EntryPoints at goal Report, and brings a lost EntryPoint back at Report. It walks nothing.
type Services struct{ *Ports }

// Reconcile looks at one Service.
func (r *Services) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var svc corev1.Service
	if err := r.Client.Get(ctx, req.NamespacedName, &svc); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if svc.Annotations[v1alpha1.AnnotationPolicy] == "" || svc.Labels[v1alpha1.LabelEntryPoint] != "" {
		return reconcile.Result{}, nil
	}
	mine, err := r.holding(ctx, v1alpha1.ServiceReference{Namespace: svc.Namespace, Name: svc.Name})
	if err != nil {
		return reconcile.Result{}, err
	}
	if mine.frozen != nil {
		return reconcile.Result{}, errors.Join(r.makeRoom(ctx, mine.free, mine.frozen.Spec.Members), r.annotate(ctx, &svc, mine.frozen.Name))
	}
	members, err := r.members(ctx, &svc)
	if err != nil || len(members) == 0 {
		return reconcile.Result{}, err
	}
	return r.regroup(ctx, &svc, members)
}

// regroup sees to it that members, and nobody else, are one EntryPoint; while one of them is on its way in another, svc waits.
func (r *Services) regroup(ctx context.Context, svc *corev1.Service, members []v1alpha1.ServiceReference) (reconcile.Result, error) {
	all, err := r.holding(ctx, members...)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case all.frozen != nil:
		r.tooLate(svc, all.frozen.Name)
		return reconcile.Result{RequeueAfter: settingsRecheck}, r.makeRoom(ctx, all.free, all.frozen.Spec.Members)
	case len(all.free) == 1 && slices.Equal(all.free[0].Spec.Members, members):
		return reconcile.Result{}, r.annotate(ctx, svc, all.free[0].Name)
	}
	return reconcile.Result{}, r.open(ctx, svc, members, all.free)
}

// members are who moves together with svc: those of a recorded walk whose EntryPoint is lost, else the group of today.
func (r *Services) members(ctx context.Context, svc *corev1.Service) ([]v1alpha1.ServiceReference, error) {
	lost, err := r.lost(ctx, svc)
	if err != nil || lost != nil {
		return lost, err
	}
	return r.group(ctx, svc), nil
}

// holders are the EntryPoints that hold one of some Services. Frozen is the one whose membership may not change any more, nil
// if there is none: a walk is recorded, or a human set a goal. Free are the others, by name; a Service that opted in alone and
// whose group grew can be in several for a moment.
type holders struct {
	frozen *v1alpha1.EntryPoint
	free   []*v1alpha1.EntryPoint
}

// holding finds the EntryPoints that hold any of members.
func (r *Services) holding(ctx context.Context, members ...v1alpha1.ServiceReference) (holders, error) {
	var all v1alpha1.EntryPointList
	if err := r.Client.List(ctx, &all); err != nil {
		return holders{}, fmt.Errorf("listing EntryPoints: %w", err)
	}
	slices.SortFunc(all.Items, func(a, b v1alpha1.EntryPoint) int { return strings.Compare(a.Name, b.Name) })
	var out holders
	for i := range all.Items {
		ep := &all.Items[i]
		if !overlap(ep.Spec.Members, members) {
			continue
		}
		rec, err := r.youngest(ctx, ep.Name)
		if err != nil {
			return holders{}, err
		}
		if fixed := rec != nil && !observe.Ended(rec) || ep.Spec.Goal != v1alpha1.GoalReport; fixed && out.frozen == nil {
			out.frozen = ep
		} else if !fixed {
			out.free = append(out.free, ep)
		}
	}
	return out, nil
}

func overlap(a, b []v1alpha1.ServiceReference) bool {
	return slices.ContainsFunc(a, func(m v1alpha1.ServiceReference) bool { return slices.Contains(b, m) })
}

// makeRoom deletes those EntryPoints that hold any of members: nothing was recorded of them, and nobody has set them a goal.
func (r *Services) makeRoom(ctx context.Context, free []*v1alpha1.EntryPoint, members []v1alpha1.ServiceReference) error {
	for _, ep := range free {
		if !overlap(ep.Spec.Members, members) {
			continue
		}
		err := r.Client.Delete(ctx, ep, client.Preconditions{UID: &ep.UID, ResourceVersion: &ep.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting EntryPoint %s, whose Services belong to another: %w", ep.Name, err)
		}
	}
	return nil
}

func (r *Services) tooLate(svc *corev1.Service, walking string) {
	if r.Events == nil {
		return
	}
	r.Events.Eventf(svc, nil, "Warning", inventory.ReasonGroupChanged, "OptIn",
		"This Service shares a name with members of EntryPoint %s, which is on its way already; it may join when that walk has ended.", walking)
}

func (r *Services) youngest(ctx context.Context, entryPoint string) (*v1alpha1.MigrationRecord, error) {
	var all v1alpha1.MigrationRecordList
	if err := r.Client.List(ctx, &all, client.MatchingLabels{v1alpha1.LabelEntryPoint: gateway.Label(entryPoint)}); err != nil {
		return nil, fmt.Errorf("listing MigrationRecords: %w", err)
	}
	var out *v1alpha1.MigrationRecord
	best := 0
	for i := range all.Items {
		if n, ok := observe.RecordNumber(entryPoint, all.Items[i].Name); ok && n > best {
			out, best = &all.Items[i], n
		}
	}
	return out, nil
}

// lost are the members of a recorded walk whose EntryPoint is gone, nil if svc belongs to none.
func (r *Services) lost(ctx context.Context, svc *corev1.Service) ([]v1alpha1.ServiceReference, error) {
	name := svc.Annotations[v1alpha1.AnnotationEntryPoint]
	if name == "" {
		return nil, nil
	}
	rec, err := r.youngest(ctx, name)
	if err != nil || rec == nil {
		return nil, err
	}
	decoded, err := observe.DecodeRecord(rec)
	if err != nil || len(decoded.Plans) == 0 {
		return nil, err
	}
	var out []v1alpha1.ServiceReference
	for _, m := range decoded.Plans[len(decoded.Plans)-1].Plan.Members {
		out = append(out, v1alpha1.ServiceReference{Namespace: m.Namespace, Name: m.Name})
	}
	if !slices.Contains(out, v1alpha1.ServiceReference{Namespace: svc.Namespace, Name: svc.Name}) {
		// A tenant wrote another entry point's name into the annotation: it proves nothing.
		return nil, nil
	}
	return out, nil
}

// group are the Services that move together with svc, those that opted in, as the inventory sees them.
func (r *Services) group(ctx context.Context, svc *corev1.Service) []v1alpha1.ServiceReference {
	var all corev1.ServiceList
	var policies v1alpha1.MigrationPolicyList
	if errors.Join(r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy), r.Client.List(ctx, &policies)) != nil {
		return nil
	}
	c := inventory.Cluster{}
	for i := range all.Items {
		if carries(&all.Items[i]) {
			c.Services = append(c.Services, &all.Items[i])
		}
	}
	for i := range policies.Items {
		c.Policies = append(c.Policies, &policies.Items[i])
	}
	me := svc.Namespace + "/" + svc.Name
	for _, e := range inventory.Take(c).EntryPoints {
		if slices.Contains(e.Services, me) {
			return optedIn(e.Services, all.Items)
		}
	}
	return nil
}

// carries tells whether a Service holds an address from outside: the others, most of a cluster's, join no group.
func carries(s *corev1.Service) bool {
	return len(s.Spec.ExternalIPs) > 0 || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

func optedIn(members []string, all []corev1.Service) []v1alpha1.ServiceReference {
	var out []v1alpha1.ServiceReference
	for _, m := range members {
		ns, name, _ := strings.Cut(m, "/")
		if slices.ContainsFunc(all, func(s corev1.Service) bool {
			return s.Namespace == ns && s.Name == name && s.Annotations[v1alpha1.AnnotationPolicy] != ""
		}) {
			out = append(out, v1alpha1.ServiceReference{Namespace: ns, Name: name})
		}
	}
	return out
}

// open creates the EntryPoint of members; those that held some of them make room.
func (r *Services) open(ctx context.Context, svc *corev1.Service, members []v1alpha1.ServiceReference, before []*v1alpha1.EntryPoint) error {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Namespace+"/"+m.Name)
	}
	ep := &v1alpha1.EntryPoint{
		ObjectMeta: metav1.ObjectMeta{Name: inventory.Name(names)},
		Spec: v1alpha1.EntryPointSpec{
			Policy: svc.Annotations[v1alpha1.AnnotationPolicy], Members: members, Goal: v1alpha1.GoalReport,
			Direction: v1alpha1.DirectionForward, Attempt: 1,
		},
	}
	before = slices.DeleteFunc(before, func(other *v1alpha1.EntryPoint) bool { return other.Name == ep.Name })
	if err := r.makeRoom(ctx, before, members); err != nil {
		return err
	}
	if err := r.Client.Create(ctx, ep, owner); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating EntryPoint %s: %w", ep.Name, err)
	}
	return r.annotateAll(ctx, members, ep.Name)
}

// annotateAll tells every member where it belongs now: who came first still carries the name of the smaller group.
func (r *Services) annotateAll(ctx context.Context, members []v1alpha1.ServiceReference, name string) error {
	var errs error
	for _, m := range members {
		var svc corev1.Service
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, &svc)
		if err == nil {
			err = r.annotate(ctx, &svc, name)
		}
		errs = errors.Join(errs, client.IgnoreNotFound(err))
	}
	return errs
}

// annotate writes the name of the EntryPoint on the Service, once.
func (r *Services) annotate(ctx context.Context, svc *corev1.Service, name string) error {
	if svc.Annotations[v1alpha1.AnnotationEntryPoint] == name {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationEntryPoint: name}}})
	if err != nil {
		return err
	}
	err = r.Client.Patch(ctx, svc.DeepCopy(), client.RawPatch(types.MergePatchType, patch), owner)
	if err == nil && r.Events != nil {
		r.Events.Eventf(svc, nil, "Normal", "OptedIn", "OptIn", "This Service belongs to EntryPoint %s, which reports and changes nothing until an admin says so.", name)
	}
	return client.IgnoreNotFound(err)
}
