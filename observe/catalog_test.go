package observe

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

func TestSightingsAreOfClaimedAddressesOnlyAndSayWhetherAllIsObserved(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(-ago))) }
	row := func(address string, established int64, last *metav1.Time) v1alpha1.TupleTraffic {
		return v1alpha1.TupleTraffic{Address: address, Port: 80, Protocol: "TCP", Established: established, LastNew: last}
	}
	for name, c := range map[string]struct {
		rows     []v1alpha1.TupleTraffic
		boot     string
		want     time.Time
		observed bool
	}{
		"nobody was seen":                           {nil, "b1", time.Time{}, true},
		"the last new connection":                   {[]v1alpha1.TupleTraffic{row("192.0.2.9", 0, at(time.Hour))}, "b1", noon.Add(-time.Hour), true},
		"connections stand":                         {[]v1alpha1.TupleTraffic{row("192.0.2.9", 2, at(time.Hour))}, "b1", noon, true},
		"the latest of several":                     {[]v1alpha1.TupleTraffic{row("192.0.2.9", 0, at(time.Minute)), row("192.0.2.9", 0, at(time.Hour))}, "b1", noon.Add(-time.Minute), true},
		"an address that is not claimed":            {[]v1alpha1.TupleTraffic{row("198.51.100.7", 5, at(0))}, "b1", time.Time{}, true},
		"a report from before a reboot":             {[]v1alpha1.TupleTraffic{row("192.0.2.9", 0, at(time.Hour))}, "b2", noon.Add(-time.Hour), false},
		"a connection that is yet to come":          {[]v1alpha1.TupleTraffic{row("192.0.2.9", 0, at(-time.Hour))}, "b1", time.Time{}, false},
		"text that is no address makes no series":   {[]v1alpha1.TupleTraffic{row("client-of-192.0.2.9", 1, at(0))}, "b1", time.Time{}, true},
		"another spelling of the address is merged": {[]v1alpha1.TupleTraffic{row("::ffff:192.0.2.9", 1, nil)}, "b1", noon, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, reports := watchedNode(c.boot, "b1")
			reports[0].Status.Traffic = c.rows
			got := sightings(w, trafficInput(w, reports), noon)
			if !got.Asked || got.Observed != c.observed || !got.LastSeen["192.0.2.9"].Equal(c.want) || len(got.LastSeen) > 1 {
				t.Errorf("%+v", got)
			}
		})
	}
	w, reports := watchedNode("b1", "b1")
	reports[0].Status.Report, reports[0].Status.ReportedAt = "r1", *at(10 * time.Minute)
	reports[0].Status.Traffic = []v1alpha1.TupleTraffic{row("192.0.2.9", 1, nil)}
	in := trafficInput(w, reports)
	in.Heartbeats = migration.Heartbeats{"n1": {Report: "r1", At: noon.Add(-time.Second)}}
	if got := sightings(w, in, noon); !got.Observed || !got.LastSeen["192.0.2.9"].Equal(noon.Add(-time.Second)) {
		t.Errorf("connections that stand, of a report that a heartbeat keeps fresh: %+v", got)
	}
	if got := sightings(&World{}, migration.TrafficInput{}, noon); got.Asked || got.Observed || len(got.LastSeen) > 0 {
		t.Errorf("without a ledger: %+v", got)
	}
}
