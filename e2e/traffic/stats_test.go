package traffic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAVerdictIsGoodOnlyIfAllThatWasDueWasAnswered(t *testing.T) {
	t.Parallel()
	good := Stats{Sent: 3, Answered: 2, InFlight: 1}
	if err := good.Verdict(); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]Stats{
		"nothing was measured":            {},
		"do not trust":                    {Sent: 3, Answered: 1},
		"1 requests were due":             {Sent: 1, Answered: 1, MissedTicks: 1},
		"1 of 2 requests lost (1 dns)":    {Sent: 2, Answered: 1, Lost: 1, LostByClass: map[Class]int64{DNS: 1}},
		`to "192.0.2.1": it was late`:     {Sent: 2, Answered: 1, Lost: 1, LostList: []Lost{{Address: "192.0.2.1", Error: "it was late"}}},
		"1 of 4 held connections cut":     {Sent: 1, Answered: 1, Held: HeldStats{Open: 1, Ended: 2, Cut: 1}},
		"from 10.0.0.1:2 to 192.0.2.1:80": {Sent: 1, Answered: 1, Held: HeldStats{Cut: 1, CutList: []Cut{{Local: "10.0.0.1:2", Remote: "192.0.2.1:80"}}}},
		"could not be opened: refused":    {Sent: 1, Answered: 1, Held: HeldStats{Failed: 1, LastFailure: "refused"}},
	} {
		if err := s.Verdict(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestAWindowForgetsWhatIsOlder(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	tally := newTally(now)
	end := func(at time.Time, address string, class Class) {
		tally.begin(10)
		tally.end(outcome{at: at, address: address, class: class, err: errors.New("x")})
	}
	end(now, "192.0.2.1", "")
	end(now.Add(5*time.Second), "192.0.2.2", "")
	end(now.Add(6*time.Second), "192.0.2.2", Reset)
	end(now.Add(7*time.Second), "", DNS)
	w := tally.stats(now.Add(10*time.Second), 5*time.Second).Window
	want := map[string]WindowCount{"192.0.2.2": {Answered: 1, Lost: 1}, "": {Lost: 1}}
	if !maps.Equal(w.PerAddress, want) {
		t.Errorf("got %v", w.PerAddress)
	}
	if share, ok := w.Share("192.0.2.2"); !ok || share != 1 {
		t.Errorf("share %v %v", share, ok)
	}
	end(now.Add(ringSeconds*time.Second), "192.0.2.3", "") // the same place in the ring as the first
	w = tally.stats(now.Add(ringSeconds*time.Second), 2*time.Second).Window
	if !maps.Equal(w.PerAddress, map[string]WindowCount{"192.0.2.3": {Answered: 1}}) {
		t.Errorf("got %v", w.PerAddress)
	}
	if _, ok := (Window{PerAddress: map[string]WindowCount{"": {Lost: 3}}}).Share("192.0.2.1"); ok {
		t.Error("a share of nothing is known")
	}
}

func TestPercentilesAreAtMostOneStepTooHigh(t *testing.T) {
	t.Parallel()
	var l latency
	if got := l.percentile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for ms := range 100 {
		l.add(time.Duration(ms+1) * time.Millisecond)
	}
	for p, exact := range map[float64]float64{0.50: 50, 0.99: 99, 0.01: 1, 1: 100} {
		if got := l.percentile(p); got < exact || got > exact*latencyGrow+0.001 {
			t.Errorf("p%v is %v, exactly %v", 100*p, got, exact)
		}
	}
	var edges latency
	edges.add(0)
	edges.add(5 * time.Second)
	if got := edges.percentile(1); got < 5000 || got > 5250 {
		t.Errorf("the slowest valid reply has %v", got)
	}
}

func TestDetailsAreBoundedAndCountsAreNot(t *testing.T) {
	t.Parallel()
	tally := newTally(time.Now())
	const n = maxDetailed + 500
	began := time.Now()
	for i := range n {
		tally.begin(1)
		tally.end(outcome{at: began.Add(time.Duration(i)), address: "192.0.2.1", class: Reset, err: errors.New("reset")})
		tally.begin(1)
		tally.end(outcome{at: time.Now(), address: "192.0.2.1", source: fmt.Sprintf("10.0.%d.%d", i/250, i%250)})
	}
	s := tally.stats(time.Now(), 0)
	a := s.PerAddress["192.0.2.1"]
	if len(s.LostList) != maxDetailed || s.Lost != n || s.LostByClass[Reset] != n || len(a.Sources) != maxSources || !slices.IsSorted(a.Sources) {
		t.Errorf("%d told, %d lost, %d sources", len(s.LostList), s.Lost, len(a.Sources))
	}
	if s.LastLost == nil || !s.LastLost.Time.Equal(began.Add(n-1)) {
		t.Errorf("the last one lost is told as %+v", s.LastLost)
	}
}
