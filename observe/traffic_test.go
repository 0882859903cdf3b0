package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
