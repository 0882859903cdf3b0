package observe

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

func TestExternal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	plan := &migration.Plan{Checks: []migration.Check{
		{New: netip.MustParseAddr("203.0.113.1"), Port: 80}, {New: netip.MustParseAddr("203.0.113.1"), Port: 443},
	}}
	report := func(port int32, age time.Duration, outcome string) v1alpha1.ProbeReport {
		return v1alpha1.ProbeReport{Address: "203.0.113.1", Port: port, Protocol: "TCP", At: metav1.NewTime(now.Add(-age)), Outcome: outcome}
	}
	udp := func(port int32) v1alpha1.ProbeReport {
		r := report(port, 0, "Good")
		r.Protocol = "UDP"
		return r
	}
	cases := map[string]struct {
		source  v1alpha1.ObservationSource
		reports []v1alpha1.ProbeReport
		known   bool
		value   bool
	}{
		"no report is unknown": {source: v1alpha1.SourceExternal},
		"a good report of each check is good": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, 0, "Good"), report(443, 0, "Good")}, known: true, value: true,
		},
		"one check without a report is unknown": {source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, 0, "Good")}},
		"one failure fails it": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, 0, "Good"), report(443, 0, "Failed")}, known: true,
		},
		"an old report is unknown": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, time.Hour, "Good"), report(443, 0, "Good")},
		},
		"a report from the future is unknown": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, -time.Hour, "Good"), report(443, 0, "Good")},
		},
		"an inconclusive report is unknown": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{report(80, 0, "Inconclusive"), report(443, 0, "Good")},
		},
		"a report of another protocol on the same port is unknown": {
			source: v1alpha1.SourceExternal, reports: []v1alpha1.ProbeReport{udp(80), report(443, 0, "Good")},
		},
		"a node is no external prober": {
			source: v1alpha1.SourceNode, reports: []v1alpha1.ProbeReport{report(80, 0, "Good"), report(443, 0, "Good")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := external([]v1alpha1.Observation{{Status: v1alpha1.ObservationStatus{Source: c.source, Probes: c.reports}}}, plan, now)
			if got.Known != c.known || got.Value != c.value {
				t.Errorf("got %+v", got)
			}
		})
	}
}
