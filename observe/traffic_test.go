package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// watchedNode is a world of one node, and the report of its agent: quiet, fresh, covered for two hours.
func watchedNode(nodeBoot, reportBoot string) (*World, []v1alpha1.Observation) {
	w := worldOf("a", shared("a"))
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.NodeInfo.BootID = nodeBoot
	w.nodes = []corev1.Node{node}
	return w, []v1alpha1.Observation{{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status: v1alpha1.ObservationStatus{
			Source: v1alpha1.SourceNode, Node: "n1", BootID: reportBoot, ReportedAt: metav1.NewTime(noon), StaleAfterSeconds: 60,
			CoverageSince: metav1.NewTime(noon.Add(-2 * time.Hour)), Watched: migration.WatchedHash(w.Claims), ProxyMode: v1alpha1.ProxyNFTables,
			Signals: []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries},
		},
	}}
}

func TestAReportFromBeforeARebootIsNoQuiet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node, report string
		known        bool
	}{
		"the report is of the boot that runs":           {"b1", "b1", true},
		"the node was rebooted inside the window":       {"b2", "b1", false},
		"the API server does not know which boot it is": {"", "b1", false},
		"the report does not say which boot it is":      {"b1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, reports := watchedNode(c.node, c.report)
			in := trafficInput(w, reports)
			in.Now, in.Addresses, in.Ports = noon, []string{"192.0.2.9"}, []string{"TCP/80"}
			got := migration.Traffic(in).QuietSince
			if got.Known != c.known || !got.Known && !strings.Contains(got.Why, "boot") {
				t.Errorf("quiet is known: %v (%s), want %v", got.Known, got.Why, c.known)
			}
		})
	}
}

func TestTheLeasesOfTheAgentsKeepTheirReportsFresh(t *testing.T) {
	t.Parallel()
	lease := func(namespace, name, report string, age time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(noon.Add(-age))
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &report, RenewTime: &at},
		}
	}
	refused := errors.New("leases is forbidden")
	for name, c := range map[string]struct {
		namespace string
		lease     *coordinationv1.Lease
		err       error
		why       string
	}{
		"the Lease of the node's agent":        {"agents", lease("agents", "n1", "r1", time.Second), nil, ""},
		"a Lease of another namespace":         {"agents", lease("kube-node-lease", "n1", "r1", time.Second), nil, "last report is of"},
		"a Lease of another node":              {"agents", lease("agents", "n2", "r1", time.Second), nil, "last report is of"},
		"a Lease of another report":            {"agents", lease("agents", "n1", "r2", time.Second), nil, "last report is of"},
		"a Lease that is no longer renewed":    {"agents", lease("agents", "n1", "r1", time.Hour), nil, "last report is of"},
		"a Lease that nobody ever held":        {"agents", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "n1"}}, nil, "last report is of"},
		"agents that keep no Leases":           {"", lease("agents", "n1", "r1", time.Second), refused, "last report is of"},
		"Leases that may not be read are said": {"agents", lease("agents", "n1", "r1", time.Second), refused, "cannot be read: listing Leases in namespace agents: leases is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, reports := watchedNode("b1", "b1")
			reports[0].Status.Report, reports[0].Status.ReportedAt = "r1", metav1.NewTime(noon.Add(-10*time.Minute))
			l := NewLooker(Ports{Cached: stored(t, c.err, &reports[0], c.lease), AgentNamespace: c.namespace})
			in, err := l.reports(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			in.Now, in.Addresses, in.Ports = noon, []string{"192.0.2.9"}, []string{"TCP/80"}
			if got := migration.Traffic(in).QuietSince; got.Known != (c.why == "") || !strings.Contains(got.Why, c.why) {
				t.Errorf("quiet is known: %v (%s), want %q", got.Known, got.Why, c.why)
			}
		})
	}
}

// stored is a cache of these objects, which answers lists of Leases with an error if there is one.
func stored(t *testing.T, refuse error, objects ...client.Object) client.Reader {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), coordinationv1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, leases := list.(*coordinationv1.LeaseList); leases && refuse != nil {
				return refuse
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
}
