//go:build dns

package dns

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/migration"
)

// The cell: a quarter asked, seven resolvers, a TTL of 3 s, and clients that take the first address they are given.
const (
	cellPercent = 25
	cellFor     = 100 * time.Second
	cellEvery   = 200 * time.Millisecond
)

func TestAQuarterIsSharedBySevenResolversOnEveryServer(t *testing.T) {
	t.Parallel()
	worst := 0.0
	for seed := range uint64(5) {
		worst = max(worst, math.Abs(simulatedCell(seed)-cellPercent))
	}
	onEach(t, options{records: []string{"www 4 IN A 192.0.2.10"}}, func(t *testing.T, s *primary) {
		resolvers := sevenResolvers(t, s.address)
		w := NewWalk(s.client(), []dnsctl.Zone{s.zone()}, []dnsctl.Name{moving(www, 4)}, []int32{cellPercent, 100})
		w.Plan.Settings.StepSoak = 3600
		inStep := func(d migration.Decision) bool {
			return d.Step == 1 && d.At.Reason == "Step1Of2" && d.At.Verdict == migration.Waiting
		}
		soon, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		if d, err := w.Until(soon, 1000, inStep); err != nil {
			t.Fatalf("%v: %s", err, d)
		}
		got := measuredCell(t, w, resolvers)
		t.Logf("%s: %.1f %% of the clients' first addresses are new, asked %d %%; the worst of five seeds is off by %.1f points", s.kind, got, cellPercent, worst)
		if math.Abs(got-cellPercent) > worst {
			t.Errorf("%.1f %%, want %d %% within %.1f points", got, cellPercent, worst)
		}
		if len(w.failures) > 0 {
			t.Errorf("updates failed: %v", w.failures)
		}
	})
}

func sevenResolvers(t *testing.T, authority string) []recursor {
	t.Helper()
	out := []recursor{
		startUnbound(t, "unbound that keeps answers 7 s", authority, habits{minTTL: 7}),
		startUnbound(t, "unbound that serves the expired", authority, habits{stale: true}),
		startResolvingBIND(t, "BIND that serves the expired", authority, habits{stale: true}),
		startResolvingBIND(t, "BIND", authority, habits{}),
	}
	for i := range 3 {
		out = append(out, startUnbound(t, "unbound "+strconv.Itoa(i), authority, habits{}))
	}
	return out
}

// measuredCell goes on walking while every resolver is asked, and gives the share of new first addresses in percent.
func measuredCell(t *testing.T, w *Walk, resolvers []recursor) float64 {
	t.Helper()
	goOn := func(d time.Duration) {
		end := time.Now().Add(d)
		if _, err := w.Until(t.Context(), 1<<30, func(migration.Decision) bool { return time.Now().After(end) }); err != nil {
			t.Fatal(err)
		}
	}
	goOn(25 * time.Second) // the first slot of a step stays low: the pass before it is longer ago than a slot
	ctx, stop := context.WithTimeout(t.Context(), cellFor)
	defer stop()
	fresh, all := make([]int, len(resolvers)), make([]int, len(resolvers))
	var group sync.WaitGroup
	for i, r := range resolvers {
		group.Go(func() { fresh[i], all[i] = askAlong(ctx, r) })
	}
	goOn(cellFor)
	group.Wait()
	sum := 0.0
	for i, r := range resolvers {
		if all[i] == 0 {
			t.Fatalf("%s was never asked", r.name)
		}
		share := 100 * float64(fresh[i]) / float64(all[i])
		t.Logf("%-32s %5.1f %% of %d", r.name, share, all[i])
		sum += share
	}
	return sum / float64(len(resolvers))
}

// askAlong is one client of one resolver.
func askAlong(ctx context.Context, r recursor) (fresh, all int) {
	for sleep(ctx, cellEvery) == nil {
		addresses, err := r.lookup(ctx, www)
		if err != nil {
			continue
		}
		all++
		if addresses[0] == Addresses("198.51.100.20")[0] {
			fresh++
		}
	}
	return fresh, all
}

// simulatedCell is the same cell in a model: slots whose flips come late by up to the time between two passes, resolvers that
// begin at random and hold an answer for the TTL and up to a second, clients that take either address.
func simulatedCell(seed uint64) float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	schedule := moving(www, 4).Schedule(cellPercent)
	anchor := time.Unix(1_900_000_000, 0)
	late := make([]time.Duration, int(cellFor/schedule.Length)+2)
	for i := range late {
		late[i] = time.Duration(rng.Int64N(int64(5 * time.Second)))
	}
	offset := time.Duration(rng.Int64N(int64(schedule.Period())))
	high := func(at time.Duration) bool {
		slot := int(at / schedule.Length)
		if at%schedule.Length < late[min(slot, len(late)-1)] {
			at -= schedule.Length // the flip into this slot has not come yet
		}
		return schedule.High(anchor, anchor.Add(offset.Truncate(schedule.Length)+schedule.Period()+at))
	}
	sum := 0.0
	holds := []time.Duration{7 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second}
	for _, hold := range holds {
		fresh, all, both, until := 0, 0, false, time.Duration(0)
		until = time.Duration(rng.Int64N(int64(hold)))
		for at := time.Duration(0); at < cellFor; at += cellEvery {
			if at >= until {
				both, until = high(at), at+hold+time.Duration(rng.Int64N(int64(time.Second)))
			}
			all++
			if both && rng.IntN(2) == 0 {
				fresh++
			}
		}
		sum += 100 * float64(fresh) / float64(all)
	}
	return sum / float64(len(holds))
}

func TestSlotsAreRefusedOnAServerThatDoesNotRotate(t *testing.T) {
	t.Parallel()
	onEach(t, options{fixed: true}, func(t *testing.T, s *primary) {
		w := s.walk(s.client(), s.zone(), 25, 50, 100)
		if _, err := w.Until(t.Context(), 500, heldFor(migration.ReasonOrderFixed)); err != nil {
			t.Fatal(err)
		}
		s.wants(t, a(3, "192.0.2.10"), Record)
		w.Plan.Settings.Percents = []int32{50, 100}
		w.Attempt++
		if _, err := w.Until(t.Context(), 500, Settled); err != nil {
			t.Fatalf("half and half needs no rotation: %v", err)
		}
	})
}

func TestAResolverThatKeepsAnswersLongerThanTheTTLStillSendsToTheOldAddress(t *testing.T) {
	t.Parallel()
	s := startBIND(t, options{records: []string{"www 2 IN A 192.0.2.10"}})
	before, after := Addresses("192.0.2.10")[0], Addresses("198.51.100.20")[0]
	clamped := startUnbound(t, "unbound that keeps answers 12 s", s.address, habits{minTTL: 12})
	stale := startUnbound(t, "unbound that serves the expired", s.address, habits{stale: true})
	asked := time.Now()
	for _, r := range []recursor{clamped, stale} {
		if got, err := r.lookup(t.Context(), www); err != nil || got[0] != before {
			t.Fatalf("%s says %v (%v), want %s", r.name, got, err, before)
		}
	}
	change := dnsctl.Change{Zone: "test", Name: www, Before: dnsctl.Answer{Records: a(2, "192.0.2.10")}, After: dnsctl.Answer{Records: a(2, "198.51.100.20")}}
	if err := s.client().Update(t.Context(), s.zone(), []dnsctl.Change{change}); err != nil {
		t.Fatal(err)
	}
	_ = sleep(t.Context(), 5*time.Second) // TTL and rounding are over
	for _, r := range []recursor{clamped, stale} {
		if got, err := r.lookup(t.Context(), www); err != nil || got[0] != before {
			t.Errorf("%s says %v (%v) after the TTL, want still %s: no wait for a TTL is a hard bound", r.name, got, err, before)
		}
	}
	_ = sleep(t.Context(), time.Until(asked.Add(14*time.Second)))
	for _, r := range []recursor{clamped, stale} {
		if got, err := r.lookup(t.Context(), www); err != nil || got[0] != after {
			t.Errorf("%s says %v (%v) in the end, want %s", r.name, got, err, after)
		}
	}
}

func TestEveryAlgorithmAndSpellingOfAKeyWorksOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"hmac-sha256", "hmac-sha384", "hmac-sha512"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			key := stranger()
			key.Name, key.Algorithm = "move.key", algorithm
			onEach(t, options{key: key}, func(t *testing.T, s *primary) {
				spelled := rfc2136.Key{Name: "MOVE.key.", Algorithm: algorithm, Secret: key.Secret}
				port := s.client(func(o *rfc2136.Options) { o.Keys = func(string) (rfc2136.Key, error) { return spelled, nil } })
				change := dnsctl.Change{Zone: "test", Name: www, Before: dnsctl.Answer{Records: a(3600, "192.0.2.10")}, After: dnsctl.Answer{Records: a(3, "198.51.100.20")}}
				if err := port.Update(t.Context(), s.zone(), []dnsctl.Change{change}); err != nil {
					t.Fatal(err)
				}
				s.wants(t, a(3, "198.51.100.20"), "")
			})
		})
	}
}
