package controllers

import (
	"github.com/prometheus/client_golang/prometheus"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// The metrics of the walk. Labels are names of entry points, gates and reason codes: never addresses of clients.
var (
	gateMet = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "offramp_gate_met",
		Help: "1 where the gate of the entry point is met, 0 where it is not, -1 where it could not be seen.",
	}, []string{"entrypoint", "gate"})
	walkStalled = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "offramp_entrypoint_stalled", Help: "1 while the walk waits for a human, with the reason.",
	}, []string{"entrypoint", "reason"})
	sharePercent = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "offramp_share_percent", Help: "Nominal share of the new path in what DNS answers.",
	}, []string{"entrypoint"})
)

// The metrics of DNS. Labels are names of DNSZone objects and classes of failures.
var (
	updateFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "offramp_dns_update_failures_total", Help: "Updates of a zone that failed, by class of failure.",
	}, []string{"zone", "class"})
	clockSkew = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "offramp_dns_clock_skew_seconds",
		Help: "How far the clock of the zone's primary is ahead of the controller's. Absent: it could not be seen.",
	}, []string{"zone"})
)

// Metrics are the collectors to register.
func Metrics() []prometheus.Collector {
	return []prometheus.Collector{gateMet, walkStalled, sharePercent, updateFailures, clockSkew, counted}
}

func countWalk(ep *v1alpha1.EntryPoint, d migration.Decision) {
	for _, row := range d.Rows {
		gateMet.WithLabelValues(ep.Name, string(row.Gate)).Set(gateValue(row.Verdict))
	}
	walkStalled.DeletePartialMatch(prometheus.Labels{"entrypoint": ep.Name})
	if d.At.Verdict == migration.Held && !d.Ended {
		walkStalled.WithLabelValues(ep.Name, d.At.Reason).Set(1)
	}
	sharePercent.WithLabelValues(ep.Name).Set(float64(ep.Status.SharePercent))
}

// forgetWalk drops the series of an entry point that is gone.
func forgetWalk(name string) {
	for _, m := range []*prometheus.GaugeVec{gateMet, walkStalled, sharePercent} {
		m.DeletePartialMatch(prometheus.Labels{"entrypoint": name})
	}
}

// countUpdate counts an update of a zone that failed.
func countUpdate(zone string, err error) {
	if class := updateClass(err); class != "" {
		updateFailures.WithLabelValues(zone, string(class)).Inc()
	}
}

// forgetZone drops the series of a zone that is gone.
func forgetZone(name string) {
	of := prometheus.Labels{"zone": name}
	updateFailures.DeletePartialMatch(of)
	clockSkew.DeletePartialMatch(of)
}

func gateValue(v migration.Verdict) float64 {
	switch v {
	case migration.Met, migration.Moot, migration.NotApplicable:
		return 1
	case migration.Unknown:
		return -1
	case migration.Unmet, migration.Waiting, migration.Held, migration.Later:
		return 0
	}
	return -1
}
