package controllers

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"offramp.dev/observe"
)

// The metrics of the catalog. Addresses are those of the ledger, the platform's own: never addresses of clients.
var (
	servicesDesc = prometheus.NewDesc("offramp_services_with_external_ips",
		"Services that carry spec.externalIPs, or whose walk took it off, by state and reason code.", []string{"state", "reason"}, nil)
	countedDesc = prometheus.NewDesc("offramp_catalog_timestamp_seconds",
		"When the catalog was last known to be right.", nil, nil)
	seenDesc = prometheus.NewDesc("offramp_address_last_seen_timestamp_seconds",
		"When somebody was last seen to use a claimed address. Absent: not seen, which means unused only while offramp_addresses_observed is 1.",
		[]string{"address"}, nil)
	observedDesc = prometheus.NewDesc("offramp_addresses_observed",
		"1 while every node reports on the claimed addresses without a fault, else 0.", nil, nil)
)

// counted is the last count, the same for every scrape until the next.
var counted = &snapshot{}

// snapshot is what a scrape reads. Nothing is published before the first count, nor by a process that no longer leads.
type snapshot struct {
	mu       sync.Mutex
	at       time.Time
	services map[class]int
	seen     observe.Sightings
}

// note stores a count; services are nil where nothing changed.
func (s *snapshot) note(services map[class]int, seen observe.Sightings, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if services != nil {
		s.services = services
	}
	s.seen, s.at = seen, at
}

func (s *snapshot) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.services, s.seen = time.Time{}, nil, observe.Sightings{}
}

// Describe names the series.
func (*snapshot) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{servicesDesc, countedDesc, seenDesc, observedDesc} {
		to <- d
	}
}

// Collect publishes the last count.
func (s *snapshot) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(countedDesc, seconds(s.at))
	for _, c := range slices.SortedFunc(maps.Keys(s.services), byState) {
		gauge(servicesDesc, float64(s.services[c]), c.state, c.reason)
	}
	for _, address := range slices.Sorted(maps.Keys(s.seen.LastSeen)) {
		gauge(seenDesc, seconds(s.seen.LastSeen[address]), address)
	}
	if s.seen.Asked {
		observed := 0.0
		if s.seen.Observed {
			observed = 1
		}
		gauge(observedDesc, observed)
	}
}

func byState(a, b class) int {
	return strings.Compare(a.state+" "+a.reason, b.state+" "+b.reason)
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
