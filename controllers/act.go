package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// errNoPlan means that an action needs a frozen plan that the record does not have. Decide never asks for it.
var errNoPlan = errors.New("no frozen plan")

// act does one action. Every case is idempotent and carries what it expects to find, so that a late or repeated one does nothing.
func (r *EntryPoints) act(ctx context.Context, w *observe.World, f migration.Facts, action migration.Action) error {
	switch a := action.(type) {
	case migration.RecordPlan:
		return r.record(ctx, w, f, a)
	case migration.Claim:
		return r.claim(ctx, w, f)
	case migration.Unclaim:
		return r.unclaim(ctx, w)
	case migration.Apply:
		return r.apply(ctx, w, f)
	case migration.Remove:
		return r.remove(ctx, w, f)
	case migration.WriteStamp:
		return r.stamp(ctx, w, a)
	case migration.ChangeNames:
		return r.changeNames(ctx, w, a)
	case migration.Release:
		return r.release(ctx, w, f, a)
	case migration.Restore:
		return r.restore(ctx, w, f, a)
	case migration.Forget:
		return r.forget(ctx, w, a)
	}
	return fmt.Errorf("unknown action %T", action)
}

func planOf(f migration.Facts) (*migration.Plan, error) {
	if n := len(f.Record.Plans); n > 0 {
		return f.Record.Plans[n-1].Plan, nil
	}
	return nil, errNoPlan
}

// record stores the plan of an attempt. The first one of a migration makes the record and stores the snapshot with it.
func (r *EntryPoints) record(ctx context.Context, w *observe.World, f migration.Facts, a migration.RecordPlan) error {
	plan, err := migration.EncodeDocument(f.Live)
	if err != nil {
		return fmt.Errorf("storing the plan of EntryPoint %s: %w", w.EntryPoint.Name, err)
	}
	line := v1alpha1.Stamp{Kind: v1alpha1.StampRecorded, Attempt: a.Attempt, At: metav1.NewMicroTime(f.Now), Note: "plan " + a.Hash}
	if w.Record == nil || observe.Undone(w.Record) {
		return r.newRecord(ctx, w, f, plan, line)
	}
	next := w.Record.DeepCopy()
	next.Spec.Plans = append(next.Spec.Plans, v1alpha1.AttemptPlan{Attempt: a.Attempt, Plan: plan})
	next.Spec.Journal = append(next.Spec.Journal, line)
	return r.Client.Update(ctx, next, owner)
}

func (r *EntryPoints) newRecord(
	ctx context.Context, w *observe.World, f migration.Facts, plan v1alpha1.Document, line v1alpha1.Stamp,
) error {
	var members []*corev1.Service
	for _, m := range f.Live.Members {
		svc, ok := w.Services[m.Namespace+"/"+m.Name]
		if !ok {
			return fmt.Errorf("recording EntryPoint %s: Service %s/%s does not exist", w.EntryPoint.Name, m.Namespace, m.Name)
		}
		members = append(members, svc)
	}
	taken := migration.TakeSnapshot(members, f.Live.Names, f.Now)
	taken.Attraction = w.Attraction()
	snapshot, err := migration.EncodeDocument(taken)
	if err != nil {
		return fmt.Errorf("storing the snapshot of EntryPoint %s: %w", w.EntryPoint.Name, err)
	}
	rec := &v1alpha1.MigrationRecord{
		ObjectMeta: metav1.ObjectMeta{
			Name: observe.RecordName(w.EntryPoint.Name, w.Number+1), Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.LabelEntryPoint: gateway.Label(w.EntryPoint.Name)},
		},
		Spec: v1alpha1.MigrationRecordSpec{
			EntryPoint: w.EntryPoint.Name, Snapshot: &snapshot, Journal: []v1alpha1.Stamp{line},
			Plans: []v1alpha1.AttemptPlan{{Attempt: line.Attempt, Plan: plan}},
		},
	}
	if err := r.Client.Create(ctx, rec, owner); err != nil {
		return fmt.Errorf("creating MigrationRecord %s: %w", rec.Name, err)
	}
	return r.readBack(ctx, rec)
}

// readBack proves that the snapshot can be restored from what is stored.
func (r *EntryPoints) readBack(ctx context.Context, want *v1alpha1.MigrationRecord) error {
	var got v1alpha1.MigrationRecord
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), &got); err != nil {
		return fmt.Errorf("reading MigrationRecord %s back: %w", want.Name, err)
	}
	_, err := observe.DecodeRecord(&got)
	return err
}

// apply creates or repairs the first target object that is not as in the plan.
func (r *EntryPoints) apply(ctx context.Context, w *observe.World, f migration.Facts) error {
	plan, err := planOf(f)
	if err != nil {
		return err
	}
	if plan.Strategy == v1alpha1.StrategyAdopt {
		return r.adopt(ctx, w, plan)
	}
	want, err := plan.Targets()
	if err != nil {
		return err
	}
	for _, o := range want {
		live, found, err := observe.GetLike(ctx, r.Live, o)
		if err != nil {
			return err
		}
		if !found {
			return wrap(r.Client.Create(ctx, o, owner), "creating", o)
		}
		if live.GetLabels()[v1alpha1.LabelEntryPoint] != gateway.Label(w.EntryPoint.Name) {
			return fmt.Errorf("%s %s/%s exists and is not ours: delete or rename it", o.GetKind(), o.GetNamespace(), o.GetName())
		}
		if ok, _ := gateway.Exact(o, live); !ok {
			return wrap(r.repair(ctx, o, live), "repairing", o)
		}
	}
	return nil
}

// repair takes away and adds what makes the live object differ from the plan; what the server or others added and does
// not matter stays.
func (r *EntryPoints) repair(ctx context.Context, want, live *unstructured.Unstructured) error {
	body := gateway.Repair(want, live)
	if err := unstructured.SetNestedField(body, live.GetResourceVersion(), "metadata", "resourceVersion"); err != nil {
		return err
	}
	patch, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return r.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), owner)
}

func wrap(err error, doing string, o client.Object) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %s/%s: %w", doing, o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName(), err)
}

// remove deletes the last of our target objects: routes go before the Gateway they hang on.
func (r *EntryPoints) remove(ctx context.Context, w *observe.World, f migration.Facts) error {
	plan, err := planOf(f)
	if err != nil {
		return err
	}
	if plan.Strategy == v1alpha1.StrategyAdopt {
		return r.unadopt(ctx, w, f)
	}
	want, err := plan.Targets()
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(want) {
		live, found, err := observe.GetLike(ctx, r.Live, o)
		if err != nil {
			return err
		}
		if !found || live.GetLabels()[v1alpha1.LabelEntryPoint] != gateway.Label(w.EntryPoint.Name) {
			continue
		}
		uid := live.GetUID()
		return client.IgnoreNotFound(wrap(r.Client.Delete(ctx, live, client.Preconditions{UID: &uid}), "deleting", o))
	}
	return nil
}

// stamp appends one line to the journal, if it still has the length that the decision saw.
func (r *EntryPoints) stamp(ctx context.Context, w *observe.World, a migration.WriteStamp) error {
	line := v1alpha1.Stamp{Kind: a.Kind, Step: stepNumber(a.Step), Attempt: a.Attempt, At: metav1.NewMicroTime(r.Now())}
	return r.journal(ctx, w, a.Sequence, func(rec *v1alpha1.MigrationRecord) { rec.Spec.Journal = append(rec.Spec.Journal, line) })
}

// stepNumber is a step as the journal stores it; there are never more steps than shares and the two ends.
func stepNumber(s dnsctl.Step) int32 {
	if s < dnsctl.StepSnapshot || s > math.MaxInt32 {
		return int32(dnsctl.StepSnapshot)
	}
	return int32(s)
}

func (r *EntryPoints) forget(ctx context.Context, w *observe.World, a migration.Forget) error {
	line := v1alpha1.Stamp{Kind: v1alpha1.StampForgotten, Attempt: a.Attempt, At: metav1.NewMicroTime(r.Now())}
	return r.journal(ctx, w, a.Sequence, func(rec *v1alpha1.MigrationRecord) {
		rec.Spec.Journal = append(rec.Spec.Journal, line)
		rec.Spec.Snapshot = nil
	})
}

func (r *EntryPoints) journal(ctx context.Context, w *observe.World, sequence int, change func(*v1alpha1.MigrationRecord)) error {
	if w.Record == nil || len(w.Record.Spec.Journal) != sequence {
		return fmt.Errorf("journal of EntryPoint %s moved on since the decision", w.EntryPoint.Name)
	}
	next := w.Record.DeepCopy()
	change(next)
	if err := r.Client.Update(ctx, next, owner); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("writing the journal of MigrationRecord %s: %w", next.Name, err)
	}
	return nil
}

// changeNames writes the changes of one zone.
func (r *EntryPoints) changeNames(ctx context.Context, w *observe.World, a migration.ChangeNames) error {
	if len(a.Changes) == 0 {
		return nil
	}
	z := w.Zones[a.Changes[0].Zone]
	if z == nil {
		return fmt.Errorf("DNSZone %s does not exist: create it again, or name it in the policy", a.Changes[0].Zone)
	}
	err := r.DNS.Update(ctx, observe.ZoneOf(z), a.Changes)
	countUpdate(z.Name, err)
	return err
}
