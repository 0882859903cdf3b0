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
	known, err := r.holding(ctx, &svc)
	if err != nil {
		return reconcile.Result{}, err
	}
	if known.ep != nil && (known.frozen || sameMembers(known.ep, r.group(ctx, &svc))) {
		return reconcile.Result{}, r.annotate(ctx, &svc, known.ep.Name)
	}
	lost, err := r.lost(ctx, &svc)
	if err != nil {
		return reconcile.Result{}, err
	}
	members := r.group(ctx, &svc)
	if lost != nil {
		members = lost
	}
	if len(members) == 0 {
		return reconcile.Result{}, nil
	}
	if walking, err := r.walking(ctx, members); err != nil || walking != "" {
		r.tooLate(&svc, walking)
		return reconcile.Result{RequeueAfter: settingsRecheck}, err
	}
	return reconcile.Result{}, r.open(ctx, &svc, members, known)
}

// standing is an EntryPoint that holds a Service, nil if none does, and whether its membership is frozen.
type standing struct {
	ep     *v1alpha1.EntryPoint
	frozen bool
}

// holding finds the EntryPoint that holds svc. Membership is frozen while a walk is recorded, and once a human set a goal.
func (r *Services) holding(ctx context.Context, svc *corev1.Service) (standing, error) {
	var all v1alpha1.EntryPointList
	if err := r.Client.List(ctx, &all); err != nil {
		return standing{}, fmt.Errorf("listing EntryPoints: %w", err)
	}
	me := v1alpha1.ServiceReference{Namespace: svc.Namespace, Name: svc.Name}
	for i := range all.Items {
		ep := &all.Items[i]
		if !slices.Contains(ep.Spec.Members, me) {
			continue
		}
		rec, err := r.youngest(ctx, ep.Name)
		return standing{ep: ep, frozen: rec != nil && !observe.Ended(rec) || ep.Spec.Goal != v1alpha1.GoalReport}, err
	}
	return standing{}, nil
}

// walking names an EntryPoint whose membership is frozen and that holds one of the members: who comes later waits.
func (r *Services) walking(ctx context.Context, members []v1alpha1.ServiceReference) (string, error) {
	for _, m := range members {
		at, err := r.holding(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}})
		if err != nil {
			return "", err
		}
		if at.frozen {
			return at.ep.Name, nil
		}
	}
	return "", nil
}

func (r *Services) tooLate(svc *corev1.Service, walking string) {
	if r.Events == nil || walking == "" {
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

func sameMembers(ep *v1alpha1.EntryPoint, members []v1alpha1.ServiceReference) bool {
	return slices.Equal(ep.Spec.Members, members)
}

// open creates the EntryPoint of members; one of fewer members that nothing was recorded of makes room.
func (r *Services) open(ctx context.Context, svc *corev1.Service, members []v1alpha1.ServiceReference, before standing) error {
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
	if before.ep != nil && before.ep.Name != ep.Name {
		if err := r.Client.Delete(ctx, before.ep, client.Preconditions{UID: &before.ep.UID, ResourceVersion: &before.ep.ResourceVersion}); err != nil {
			return client.IgnoreNotFound(err)
		}
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
