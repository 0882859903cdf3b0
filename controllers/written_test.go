package controllers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/observe"
)

// behind is a client whose cache has heard of nothing since it was made; writes counts what it wrote.
func behind(t *testing.T, live client.Client, key client.ObjectKey, writes *int) client.Client {
	t.Helper()
	var old v1alpha1.EntryPoint
	if err := live.Get(t.Context(), key, &old); err != nil {
		t.Fatal(err)
	}
	watching, ok := live.(client.WithWatch)
	if !ok {
		t.Fatal("the fake client cannot watch")
	}
	return interceptor.NewClient(watching, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if ep, ok := obj.(*v1alpha1.EntryPoint); ok && k == key {
				old.DeepCopyInto(ep)
				return nil
			}
			return c.Get(ctx, k, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			*writes++
			return c.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
	})
}

func TestAStatusIsWrittenOnceHoweverLongTheCacheDoesNotKnowOfIt(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string][]client.Object{
		"what was decided": {
			&v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Spec: v1alpha1.MigrationPolicySpec{Namespaces: []string{"shop"}}},
		},
		"that something could not be read": nil, // there is no policy
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := fakeClient(t, []*corev1.Service{service("web", "192.0.2.50", optIn())})
			for _, o := range append(objects, reported("web")) {
				if err := live.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			key, writes := client.ObjectKey{Name: "web"}, 0
			cl := behind(t, live, key, &writes)
			r := NewEntryPoints(&Ports{Ports: observe.Ports{Cached: cl, Live: live, Now: func() time.Time { return noon }}, Client: cl})
			for range 10 {
				_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}) // one of the cases always fails
			}
			if writes != 1 {
				t.Errorf("%d writes in ten passes over one old copy, want 1", writes)
			}
		})
	}
}

func TestWhatWasWrittenCountsUntilTheCacheIsAsNew(t *testing.T) {
	t.Parallel()
	ep := func(uid types.UID, version, gate string) *v1alpha1.EntryPoint {
		return &v1alpha1.EntryPoint{
			ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid, ResourceVersion: version},
			Status:     v1alpha1.EntryPointStatus{Next: &v1alpha1.NextStep{Gate: gate}},
		}
	}
	for name, c := range map[string]struct {
		cached *v1alpha1.EntryPoint
		want   string
		// kept: the next pass is still told what was written.
		kept bool
	}{
		"an older copy is not what stands there":                {cached: ep("1", "99", "cached"), want: "written", kept: true},
		"the copy that we wrote is as good as what is cached":   {cached: ep("1", "100", "cached"), want: "cached"},
		"a copy that others wrote after us counts":              {cached: ep("1", "101", "cached"), want: "cached"},
		"a copy of an object that was created anew counts":      {cached: ep("2", "99", "cached"), want: "cached"},
		"a copy whose version is no number counts":              {cached: ep("1", "v99", "cached"), want: "cached"},
		"a copy of an EntryPoint that was never written counts": {cached: func() *v1alpha1.EntryPoint { o := ep("1", "99", "cached"); o.Name = "other"; return o }(), want: "cached", kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w written
			w.remember(ep("1", "100", "written"))
			got := w.newest(c.cached)
			if got.Status.Next.Gate != c.want {
				t.Errorf("%s, want what was %s", got.Status.Next.Gate, c.want)
			}
			got.Status.Next.Gate = "changed by the pass"
			if again := w.newest(ep("1", "98", "cached")); (again.Status.Next.Gate == "written") != c.kept {
				t.Errorf("the next pass is told %s, kept %t", again.Status.Next.Gate, c.kept)
			}
			w.forget("web")
			if w.newest(ep("1", "98", "cached")).Status.Next.Gate != "cached" {
				t.Error("an EntryPoint that is gone is remembered")
			}
		})
	}
}
