package sim_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/e2e/dns"
	"offramp.dev/migration"
	"offramp.dev/sim"
)

// A population of resolvers that obey the TTL and meet the servers at random, in the embedded world.
const (
	populationSize = 20_000
	fetchesOfEach  = 50
	ttl            = 30 * time.Second
)

func TestAMillionFetchesAreSharedAsTheStepSays(t *testing.T) {
	t.Parallel()
	for _, percent := range []int32{10, 25, 50} {
		got := shareOfNew(t, percent)
		t.Logf("%d %% asked: %.3f %% of %d fetches", percent, got, populationSize*fetchesOfEach)
		if math.Abs(got-float64(percent)) > 0.1 {
			t.Errorf("%d %% asked: got %.3f %%, want it within a tenth of a point", percent, got)
		}
	}
}

// shareOfNew walks to the step and counts what a million fetches would send to the new address, if each answer's addresses
// are taken evenly.
func shareOfNew(t *testing.T, percent int32) float64 {
	t.Helper()
	zone := dnsctl.Zone{Object: "test", Apex: "example.test", Primary: "ns1:53", Servers: []string{"ns2:53"}}
	name := dnsctl.Name{
		Name: "www.example.test", Zone: "test", Old: dns.Addresses("192.0.2.10"), New: dns.Addresses("198.51.100.20"), LowTTL: uint32(ttl / time.Second),
		Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: dns.Addresses("192.0.2.10"), TTL: 3600}},
	}
	w := dns.NewWalk(nil, []dnsctl.Zone{zone}, []dnsctl.Name{name}, []int32{percent, 100}).Virtual(time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC))
	zones := sim.NewZones(w.Clock)
	zones.Add(zone, map[string]dnsctl.RecordSet{name.Name: name.Snapshot})
	w.Port, w.Plan.Settings.StepSoak = zones, 24*3600
	if _, err := w.Until(t.Context(), 1000, func(d migration.Decision) bool { return d.Step == 1 && d.Action == nil && d.At.Reason == "Step1Of2" }); err != nil {
		t.Fatal(err)
	}
	// A period and the lag of the servers pass, so that the first slot counts as whole as the others.
	if _, err := countFetches(t.Context(), w, zones, name, 150*time.Second); err != nil {
		t.Fatal(err)
	}
	got, err := countFetches(t.Context(), w, zones, name, fetchesOfEach*ttl)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// countFetches goes on for a while. Between two passes the servers' answers stay, so that whoever asks then gets them.
func countFetches(ctx context.Context, w *dns.Walk, zones *sim.Zones, name dnsctl.Name, during time.Duration) (float64, error) {
	rng := rand.New(rand.NewPCG(1, uint64(during)))
	begin, fetches, fresh := w.Clock(), 0, 0.0
	for at := begin; at.Before(begin.Add(during)); at = w.Clock() {
		d, err := w.Pass(ctx)
		if err != nil {
			return 0, err
		}
		next := d.Again
		if d.Action != nil {
			continue
		}
		if end := begin.Add(during); next.After(end) {
			next = end
		}
		due := int(math.Round(float64(populationSize) * next.Sub(at).Seconds() / ttl.Seconds()))
		for range due {
			set, _ := zones.Ask(name.Name, rng.IntN(2))
			fetches++
			fresh += float64(name.NominalShare(set)) / 100
		}
		if err := w.Wait(ctx, next, false); err != nil {
			return 0, err
		}
	}
	return 100 * fresh / float64(fetches), nil
}
