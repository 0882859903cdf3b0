package sim

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// agents emulate the node agents: each node watches the tuples of every claim and writes what it saw of them, or, where
// that is what it wrote before, a Lease that says so.
type agents struct {
	api     client.Client
	cache   *cache
	traffic *traffic
	now     func() time.Time
	// silent nodes do not report (a fault).
	silent map[string]bool
	// since is when the tuples were first watched, by tuple; coverage begins anew when the set grows.
	watched  map[Tuple]bool
	coverage time.Time
	// reports and beats count what was written.
	reports, beats int
}

// AgentNamespace holds the Leases of the emulated agents.
const AgentNamespace = "offramp-agent"

const (
	agentEvery = 2 * time.Minute
	agentStale = 5 * time.Minute
)

// report writes one observation for each node.
func (a *agents) report(ctx context.Context) error {
	var claims []v1alpha1.AddressClaim
	for _, obj := range sortedObjects(a.cache, claimKind) {
		if c, ok := obj.(*v1alpha1.AddressClaim); ok {
			claims = append(claims, *c.DeepCopy())
		}
	}
	a.watch(claims)
	nodes := sortedObjects(a.cache, nodeKind)
	for i, n := range nodes {
		if a.silent[n.GetName()] {
			continue
		}
		if err := a.write(ctx, n.GetName(), a.status(n, i, len(nodes), migration.WatchedHash(claims))); err != nil {
			return err
		}
	}
	return nil
}

// watch notes the tuples of all claims. What was not watched before was not looked at before.
func (a *agents) watch(claims []v1alpha1.AddressClaim) {
	now := map[Tuple]bool{}
	for _, c := range claims {
		for _, t := range tuplesOf(c) {
			now[t] = true
			if !a.watched[t] {
				a.coverage = a.now()
			}
		}
	}
	if a.coverage.IsZero() {
		a.coverage = a.now()
	}
	a.watched = now
}

func tuplesOf(c v1alpha1.AddressClaim) []Tuple {
	addr, err := netip.ParseAddr(c.Spec.Address)
	if err != nil {
		return nil
	}
	var out []Tuple
	for _, h := range c.Spec.Holders {
		for _, p := range h.Ports {
			protocol, number, _ := strings.Cut(p, "/")
			if n, err := strconv.ParseInt(number, 10, 32); err == nil {
				out = append(out, Tuple{addr, int32(n), protocol})
			}
		}
	}
	return out
}

// status is what the agent of one node reports; like a real one it names the boot that the node itself knows.
func (a *agents) status(node client.Object, index, nodes int, hash string) v1alpha1.ObservationStatus {
	boot := ""
	if n, ok := node.(*corev1.Node); ok {
		boot = n.Status.NodeInfo.BootID
	}
	s := v1alpha1.ObservationStatus{
		Source: v1alpha1.SourceNode, Node: node.GetName(), ReportedAt: metav1.NewTime(a.now()), StaleAfterSeconds: int32(agentStale / time.Second),
		CoverageSince: metav1.NewTime(a.coverage), Watched: hash, ProxyMode: v1alpha1.ProxyNFTables, BootID: boot,
		Signals: []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries, v1alpha1.SignalEvents},
	}
	established := a.traffic.established()
	for t := range a.watched {
		last, used := a.traffic.seen[t]
		if !used || last.Before(a.coverage) && established[t] == 0 || nodeOf(t, nodes) != index {
			continue
		}
		at := metav1.NewTime(last)
		s.Traffic = append(s.Traffic, v1alpha1.TupleTraffic{
			Address: t.Address.String(), Port: t.Port, Protocol: t.Protocol, Established: established[t], LastNew: &at,
		})
	}
	slices.SortFunc(s.Traffic, func(x, y v1alpha1.TupleTraffic) int {
		return cmp.Or(cmp.Compare(x.Address, y.Address), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Protocol, y.Protocol))
	})
	return s
}

func (a *agents) write(ctx context.Context, node string, s v1alpha1.ObservationStatus) error {
	o := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: node}}
	err := a.api.Get(ctx, client.ObjectKey{Name: node}, o)
	if apierrors.IsNotFound(err) {
		if err := a.api.Create(ctx, o); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	before := o.Status
	s.Report, before.ReportedAt = before.Report, s.ReportedAt
	if before.Report != "" && equality.Semantic.DeepEqual(before, s) {
		return a.beat(ctx, node, s)
	}
	a.reports++
	s.Report = "sim-" + strconv.Itoa(a.reports)
	o.Status = s
	return a.api.Status().Update(ctx, o)
}

// beat renews the Lease of a node's agent.
func (a *agents) beat(ctx context.Context, node string, s v1alpha1.ObservationStatus) error {
	at := metav1.NewMicroTime(s.ReportedAt.Time)
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: AgentNamespace, Name: node}}
	err := a.api.Get(ctx, client.ObjectKeyFromObject(l), l)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	l.Spec.HolderIdentity, l.Spec.RenewTime = &s.Report, &at
	a.beats++
	if missing {
		return a.api.Create(ctx, l)
	}
	return a.api.Update(ctx, l)
}
