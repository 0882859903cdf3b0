package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// owner is the field manager of everything we write.
const owner = client.FieldOwner(v1alpha1.FieldManager)

// release removes the field from one Service, with our mark in the same patch.
func (r *EntryPoints) release(ctx context.Context, w *observe.World, f migration.Facts, a migration.Release) error {
	svc, err := member(w, a.Service)
	if err != nil {
		return err
	}
	return r.patch(ctx, svc, migration.ReleasePatch(svc, f.Record.Name, a.Attempt))
}

// restore puts the field of one Service back as in the snapshot.
func (r *EntryPoints) restore(ctx context.Context, w *observe.World, f migration.Facts, a migration.Restore) error {
	svc, err := member(w, a.Service)
	if err != nil {
		return err
	}
	snap, err := snapshotOf(f, a.Service)
	if err != nil {
		return err
	}
	return r.patch(ctx, svc, migration.RestorePatch(svc, snap))
}

// adopt takes the first member that is not adopted yet one write further: first type and class, then the ingress.
func (r *EntryPoints) adopt(ctx context.Context, w *observe.World, plan *migration.Plan) error {
	for _, m := range plan.Members {
		svc, err := member(w, m.Namespace+"/"+m.Name)
		if err != nil {
			return err
		}
		if migration.Adopted(svc, plan).Exact {
			continue
		}
		if svc.Spec.LoadBalancerClass == nil {
			return r.patch(ctx, svc, migration.AdoptPatch(svc, plan))
		}
		return r.Client.Status().Patch(ctx, svc.DeepCopy(), client.RawPatch(types.MergePatchType, migration.AdoptStatus(svc, plan)), owner)
	}
	return nil
}

// unadopt takes the first member that still has any of our class back, type and field in one patch.
func (r *EntryPoints) unadopt(ctx context.Context, w *observe.World, f migration.Facts) error {
	plan, err := planOf(f)
	if err != nil {
		return err
	}
	for _, m := range plan.Members {
		key := m.Namespace + "/" + m.Name
		svc, ok := w.Services[key]
		if !ok || !migration.Adopted(svc, plan).Any {
			continue
		}
		snap, err := snapshotOf(f, key)
		if err != nil {
			return err
		}
		return r.patch(ctx, svc, migration.UnadoptPatch(svc, snap))
	}
	return nil
}

func (r *EntryPoints) patch(ctx context.Context, svc *corev1.Service, ops []migration.PatchOp) error {
	if len(ops) == 0 {
		return nil // already so, or no proof that it is ours to change
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("patch of Service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return wrap(r.Client.Patch(ctx, svc.DeepCopy(), client.RawPatch(types.JSONPatchType, body), owner), "patching", svc)
}

func member(w *observe.World, key string) (*corev1.Service, error) {
	svc, ok := w.Services[key]
	if !ok {
		return nil, fmt.Errorf("member Service %s of EntryPoint %s does not exist", key, w.EntryPoint.Name)
	}
	return svc, nil
}

func snapshotOf(f migration.Facts, key string) (migration.ServiceSnapshot, error) {
	if f.Record.Snapshot != nil {
		for _, s := range f.Record.Snapshot.Services {
			if s.Namespace+"/"+s.Name == key {
				return s, nil
			}
		}
	}
	return migration.ServiceSnapshot{}, fmt.Errorf("the snapshot of MigrationRecord %s does not hold Service %s", f.Record.Name, key)
}
