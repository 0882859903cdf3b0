package controllers

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/observe"
)

// patience ends a test that hangs; no verdict rests on it.
const patience = time.Minute

// deafDNS does not answer for one name until the test ends.
type deafDNS struct {
	deaf  string
	asked chan struct{}
}

func (d deafDNS) Query(ctx context.Context, _ dnsctl.Zone, _, name string) (dnsctl.Answer, error) {
	if name == d.deaf {
		select {
		case d.asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return dnsctl.Answer{}, ctx.Err()
	}
	return dnsctl.Answer{}, nil
}

func (deafDNS) Update(context.Context, dnsctl.Zone, []dnsctl.Change) error { return nil }

// run starts the loop of a reconciler with the options that Add gives it, and calls it for the names in order.
func run(t *testing.T, r Reconciler, names ...string) {
	t.Helper()
	o := options(r)
	o.Reconciler = reconcile.Func(r.Do)
	o.SkipNameValidation = new(true)
	o.LogConstructor = func(*reconcile.Request) logr.Logger { return logr.Discard() }
	c, err := controller.NewTypedUnmanaged(r.Name, o)
	if err != nil {
		t.Fatal(err)
	}
	calls := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, name := range names {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
		}
		return nil
	})
	if err := c.Watch(calls); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnEntryPointThatWaitsForTheNetworkDoesNotDelayTheOthers(t *testing.T) {
	t.Parallel()
	services := []*corev1.Service{service("slow", "192.0.2.50", optIn("slow.example.com")), service("web", "192.0.2.51", optIn("www.example.com"))}
	cl := fakeClient(t, services)
	for _, o := range []client.Object{
		&v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Spec: v1alpha1.MigrationPolicySpec{Namespaces: []string{"shop"}, Zones: []string{"z"}}},
		&v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: v1alpha1.DNSZoneSpec{
			Zone: "example.com", Domains: []v1alpha1.DomainGrant{{Namespace: "shop", Suffixes: []string{"example.com"}}},
		}},
		reported("slow"), reported("web"),
	} {
		if err := cl.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
	dns := deafDNS{"slow.example.com", make(chan struct{}, 1)}
	p := &Ports{Ports: observe.Ports{Cached: cl, Live: cl, DNS: dns, Now: time.Now}, Client: cl}
	for _, r := range Reconcilers(p) {
		if _, ok := r.For.(*v1alpha1.EntryPoint); ok {
			run(t, r, "slow", "web")
		}
	}
	<-dns.asked
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var ep v1alpha1.EntryPoint
		if err := cl.Get(context.Background(), client.ObjectKey{Name: "web"}, &ep); err != nil {
			t.Fatal(err)
		}
		if len(ep.Status.Conditions) > 0 {
			return
		}
		if time.Since(begun) > patience {
			t.Fatal("web waits for slow")
		}
	}
}

func reported(name string) *v1alpha1.EntryPoint {
	return &v1alpha1.EntryPoint{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.EntryPointSpec{
			Policy: "standard", Members: []v1alpha1.ServiceReference{{Namespace: "shop", Name: name}}, Goal: v1alpha1.GoalReport,
			Direction: v1alpha1.DirectionForward, Attempt: 1,
		},
	}
}
