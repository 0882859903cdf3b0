package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// fields looks at the field of each member, and, where it would be put back, whether it may be.
func (l *Looker) fields(ctx context.Context, w *World, plan *migration.Plan, f *migration.Facts) []migration.Field {
	if plan == nil {
		return nil
	}
	var out []migration.Field
	for _, m := range plan.Members {
		key := m.Namespace + "/" + m.Name
		svc, ok := w.Services[key]
		if !ok {
			out = append(out, migration.Field{Service: key, Missing: true})
			continue
		}
		out = append(out, l.field(ctx, w, svc, f))
	}
	return out
}

func (l *Looker) field(ctx context.Context, w *World, svc *corev1.Service, f *migration.Facts) migration.Field {
	key := svc.Namespace + "/" + svc.Name
	out := migration.Field{Service: key, Mark: releasedMark(svc, f.Record.Name)}
	var old []string
	snap, ok := snapshotOf(f.Record.Snapshot, key)
	if ok {
		old = snap.Spec.ExternalIPs
	}
	out.Present = len(svc.Spec.ExternalIPs) > 0 && (!ok || slices.ContainsFunc(svc.Spec.ExternalIPs, func(ip string) bool { return sameIn(old, ip) }))
	if out.Present || !ok {
		return out
	}
	out.Foreign = foreignHolder(w, old)
	if f.Intent.Direction == v1alpha1.DirectionBack {
		out.Refused = l.refused(ctx, svc, snap)
	}
	return out
}

// releasedMark is the attempt in our mark, if the mark is of this record.
func releasedMark(svc *corev1.Service, record string) int64 {
	name, attempt, ok := strings.Cut(svc.Annotations[v1alpha1.AnnotationReleased], "/")
	if !ok || name != record {
		return 0
	}
	n, err := strconv.ParseInt(attempt, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func snapshotOf(s *migration.Snapshot, key string) (migration.ServiceSnapshot, bool) {
	if s == nil {
		return migration.ServiceSnapshot{}, false
	}
	for _, x := range s.Services {
		if x.Namespace+"/"+x.Name == key {
			return x, true
		}
	}
	return migration.ServiceSnapshot{}, false
}

func sameIn(list []string, text string) bool {
	a, _, err := addresspool.Canonical(text)
	if err != nil {
		return slices.Contains(list, text)
	}
	return slices.ContainsFunc(list, func(other string) bool {
		b, _, err := addresspool.Canonical(other)
		return err == nil && a == b
	})
}

// foreignHolder names a Service or Node that is not of this entry point and uses one of the addresses.
func foreignHolder(w *World, old []string) string {
	for _, u := range uses(w) {
		// A node address was a node address before the walk too: it is no new holder.
		if sameIn(old, u.Address.String()) && !strings.HasPrefix(u.Object, "Node ") {
			return u.Object
		}
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		if !addresspool.HeldBy(&c.Spec, w.EntryPoint.Name) && sameIn(old, c.Spec.Address) {
			return "AddressClaim " + c.Name + " of EntryPoint " + c.Spec.EntryPoint
		}
	}
	return ""
}

// refused asks the API server by a dry run whether the field may be put back; only a refusal is an answer.
func (l *Looker) refused(ctx context.Context, svc *corev1.Service, snap migration.ServiceSnapshot) string {
	patch, err := json.Marshal(migration.RestorePatch(svc, snap))
	if err != nil {
		return ""
	}
	err = l.Guard.Patch(ctx, svc.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return err.Error()
	}
	return ""
}

func toUnstructured(o client.Object) (*unstructured.Unstructured, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("converting %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: m}
	if _, ok := o.(*corev1.Service); ok {
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	}
	return u, nil
}
