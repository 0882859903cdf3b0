package controllers

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/addresspool"
	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/observe"
)

func TestAClaimIsAtRiskWhenItsAddressLeavesEveryPoolOrAnOldOneEntersOne(t *testing.T) {
	t.Parallel()
	pool := func(from, to string) []addresspool.Pool {
		return []addresspool.Pool{{Namespace: "metallb-system", Name: "p", Ranges: []addresspool.Range{{First: netip.MustParseAddr(from), Last: netip.MustParseAddr(to)}}}}
	}
	around, beside := pool("192.0.2.1", "192.0.2.9"), pool("198.51.100.1", "198.51.100.9")
	for name, c := range map[string]struct {
		role   v1alpha1.ClaimRole
		pools  []addresspool.Pool
		served bool
		err    error
		want   metav1.ConditionStatus
		reason string
	}{
		"a new one in its pool":                         {v1alpha1.ClaimNew, around, true, nil, metav1.ConditionFalse, reasonSafe},
		"a new one that no pool holds any more":         {v1alpha1.ClaimNew, beside, true, nil, metav1.ConditionTrue, reasonOutsidePools},
		"a new one and no pool at all":                  {v1alpha1.ClaimNew, nil, true, nil, metav1.ConditionTrue, reasonOutsidePools},
		"an old one that no pool holds":                 {v1alpha1.ClaimOld, beside, true, nil, metav1.ConditionFalse, reasonSafe},
		"an old one that a pool took in":                {v1alpha1.ClaimOld, around, true, nil, metav1.ConditionTrue, reasonInsidePool},
		"an adopted one that a pool took in":            {v1alpha1.ClaimAdopted, around, true, nil, metav1.ConditionTrue, reasonInsidePool},
		"an old one without MetalLB":                    {v1alpha1.ClaimOld, nil, false, nil, metav1.ConditionFalse, reasonSafe},
		"a new one without MetalLB cannot be told":      {v1alpha1.ClaimNew, nil, false, nil, metav1.ConditionUnknown, reasonPoolsUnknown},
		"pools that cannot be read are not no pools":    {v1alpha1.ClaimNew, nil, true, errors.New("away"), metav1.ConditionUnknown, reasonPoolsUnknown},
		"nor does that make an old one safe from pools": {v1alpha1.ClaimOld, nil, true, errors.New("away"), metav1.ConditionUnknown, reasonPoolsUnknown},
	} {
		got := atRisk(&v1alpha1.AddressClaimSpec{Address: "192.0.2.5", Role: c.role}, c.pools, c.served, c.err)
		if got.Status != c.want || got.Reason != c.reason || got.Message == "" {
			t.Errorf("%s: %s %s %q", name, got.Status, got.Reason, got.Message)
		}
	}
}

func TestARiskIsReportedOnceAndTold(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme, metallb.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	claim := &v1alpha1.AddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "192.0.2.5"}, Spec: v1alpha1.AddressClaimSpec{
		Address: "192.0.2.5", Role: v1alpha1.ClaimNew, EntryPoint: "e",
	}}
	writes := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).WithStatusSubresource(claim).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	told := events.NewFakeRecorder(9)
	r := &Claims{&Ports{Client: c, Events: told, Ports: observe.Ports{Cached: c, Live: c, Namespace: "s", Now: func() time.Time { return noon }}}}
	req := reconcile.Request{NamespacedName: client.ObjectKey{Name: claim.Name}}
	for range 3 {
		if res, err := r.Reconcile(t.Context(), req); err != nil || res.RequeueAfter == 0 {
			t.Fatalf("%+v: %v", res, err)
		}
	}
	if err := c.Get(t.Context(), req.NamespacedName, claim); err != nil {
		t.Fatal(err)
	}
	if !meta.IsStatusConditionTrue(claim.Status.Conditions, ConditionAtRisk) || !meta.IsStatusConditionFalse(claim.Status.Conditions, ConditionReady) || writes != 1 {
		t.Errorf("%d writes, conditions %+v", writes, claim.Status.Conditions)
	}
	if len(told.Events) != 1 || !strings.Contains(<-told.Events, reasonOutsidePools) {
		t.Error("want one Event that says OutsidePools")
	}
}
