package observe

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/probe"
)

// patience ends a test that hangs; no verdict rests on it.
const patience = time.Minute

func entryPoints(t *testing.T, n int) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(s)
	for i := range n {
		b = b.WithObjects(&v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("e%02d", i)}})
	}
	return b.Build()
}

// loadBalancer is what a plan of the i-th entry point is made from: all take from one pool.
func loadBalancer(i int, pool addresspool.Pool) migration.PlanInput {
	name := fmt.Sprintf("web%02d", i)
	return migration.PlanInput{
		EntryPoint: &v1alpha1.EntryPoint{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("e%02d", i)},
			Spec:       v1alpha1.EntryPointSpec{Members: []v1alpha1.ServiceReference{{Namespace: "shop", Name: name}}},
		},
		Policy: &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Namespaces: []string{"shop"}, Pools: []string{pool.Name}}},
		Services: []*corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
				ExternalIPs: []string{fmt.Sprintf("203.0.113.%d", i+1)}, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			},
		}},
		Strategy: v1alpha1.StrategyLoadBalancer, Pools: []addresspool.Pool{pool},
	}
}

func TestEntryPointsThatPlanAtOnceChooseDifferentAddresses(t *testing.T) {
	t.Parallel()
	const n = 24
	first := netip.MustParseAddr("192.0.2.1")
	last := first
	for range n - 1 {
		last = last.Next()
	}
	pool := addresspool.Pool{Name: "edge", Announcers: []string{"L2Advertisement"}, Ranges: []addresspool.Range{{First: first, Last: last}}}
	l := NewLooker(Ports{Cached: entryPoints(t, n)})
	chosen := make([]string, n)
	var passes sync.WaitGroup
	for i := range n {
		passes.Go(func() {
			in := loadBalancer(i, pool)
			plan, findings, err := l.makePlan(context.Background(), &World{EntryPoint: in.EntryPoint}, in)
			if err != nil || plan == nil || len(plan.NewAddresses) != 1 {
				t.Errorf("%s: %v %v", in.EntryPoint.Name, err, findings)
				return
			}
			chosen[i] = plan.NewAddresses[0].String()
		})
	}
	passes.Wait()
	at := map[string]int{}
	for i, a := range chosen {
		if other, twice := at[a]; twice {
			t.Errorf("e%02d and e%02d both plan %s", other, i, a)
		}
		at[a] = i
	}
}

// heldProbe is a prober that answers when it is let go.
type heldProbe struct{ begun, free chan struct{} }

func (p heldProbe) Probe(_ context.Context, c probe.Check) probe.Result {
	p.begun <- struct{}{}
	<-p.free
	return probe.Result{Check: c, Outcome: probe.Failed}
}

func TestAProbeThatHangsKeepsNobodyElseFromPlanning(t *testing.T) {
	t.Parallel()
	port := heldProbe{make(chan struct{}, 1), make(chan struct{})}
	l := NewLooker(Ports{Cached: entryPoints(t, 2), Probe: port, Now: func() time.Time { return noon }})
	plan := &migration.Plan{Strategy: v1alpha1.StrategyAdopt, Checks: []migration.Check{{New: netip.MustParseAddr("192.0.2.1"), Port: 80, Kind: "TCP"}}}
	f := migration.Facts{Now: noon, Target: migration.Target{Exact: true}, Record: migration.Record{Exists: true, Stamps: []migration.Stamp{{Kind: v1alpha1.StampRecorded, At: noon}}}}
	probing := make(chan error, 1)
	go func() {
		probing <- l.paths(context.Background(), nil, &World{EntryPoint: &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: "e00"}}}, plan, &f)
	}()
	<-port.begun
	planned := make(chan error, 1)
	go func() {
		in := loadBalancer(1, addresspool.Pool{Name: "edge"})
		_, _, err := l.makePlan(context.Background(), &World{EntryPoint: in.EntryPoint}, in)
		l.Forget("e02")
		planned <- err
	}()
	select {
	case err := <-planned:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("planning waits for somebody else's probe")
	}
	close(port.free)
	<-port.begun // the old path's
	if err := <-probing; err != nil || !f.New.Healthy.Known || f.New.Healthy.Value {
		t.Errorf("new path %+v (%v)", f.New, err)
	}
}

// countedProbe knows how many probes ran side by side: each waits until all of them have begun.
type countedProbe struct{ together *sync.WaitGroup }

func (p countedProbe) Probe(_ context.Context, c probe.Check) probe.Result {
	p.together.Done()
	p.together.Wait()
	return probe.Result{Check: c, Outcome: probe.Good}
}

func TestTheProbesOfOneRoundRunSideBySide(t *testing.T) {
	t.Parallel()
	const n = 5
	together := &sync.WaitGroup{}
	together.Add(n)
	l := NewLooker(Ports{Probe: countedProbe{together}, ProbesAtOnce: n, Now: func() time.Time { return noon }})
	plan := &migration.Plan{}
	for i := range n {
		plan.Checks = append(plan.Checks, migration.Check{Port: int32(i + 1)})
	}
	var round tally
	done := make(chan struct{})
	go func() {
		l.round(context.Background(), &round, plan, noon, func(c migration.Check) netip.Addr { return c.New })
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the checks wait for each other")
	}
	for i, r := range round.results {
		if int(r.Check.Port) != i+1 {
			t.Errorf("result %d is of port %d", i, r.Check.Port)
		}
	}
	if round.good != 1 || len(round.results) != n {
		t.Errorf("%+v", round)
	}
}
