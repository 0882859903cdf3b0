package dnsctl

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestTheScheduleOfUsualShares(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ttl     uint32
		percent int32
		want    Schedule
	}{
		{30, 10, Schedule{10 * time.Second, 5, 1}},
		{30, 25, Schedule{10 * time.Second, 2, 1}},
		{30, 5, Schedule{10 * time.Second, 10, 1}},
		{30, 1, Schedule{10 * time.Second, 50, 1}},
		{30, 49, Schedule{10 * time.Second, 50, 49}},
		{60, 25, Schedule{12 * time.Second, 2, 1}},
		{60, 10, Schedule{10 * time.Second, 5, 1}},
		{100, 10, Schedule{25 * time.Second, 5, 1}},
		{47, 10, Schedule{47 * time.Second, 5, 1}},
		{5, 10, Schedule{10 * time.Second, 5, 1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %% at TTL %d", tt.percent, tt.ttl), func(t *testing.T) {
			t.Parallel()
			n := with(single(), func(n *Name) { n.LowTTL = tt.ttl })
			if got := n.Schedule(tt.percent); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTheExpectedErrorIsThatOfTheFormula(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		step             Step
		share, deviation float64
	}{
		"a tenth":                 {1, 10, 1.414},
		"a quarter":               {2, 25, 1.768},
		"half is one set":         {3, 50, 0},
		"all is one set":          {4, 100, 0},
		"before the first share":  {StepLowTTL, 0, 0},
		"behind the last share":   {5, 100, 0},
		"the snapshot is nothing": {StepSnapshot, 0, 0},
	} {
		n := with(single(), func(n *Name) { n.LowTTL = 30 })
		share, sd := n.StepShare(tt.step, []int32{10, 25, 50, 100}, 10*time.Minute, 10)
		if math.Abs(share-tt.share) > 1e-9 || math.Abs(sd-tt.deviation) > 0.001 {
			t.Errorf("%s: got %v +- %.3f, want %v +- %.3f", name, share, sd, tt.share, tt.deviation)
		}
	}
}

func TestAShareThatTheLargerSetCannotReachIsThatSetAllTheTime(t *testing.T) {
	t.Parallel()
	n := with(single(), func(n *Name) {
		n.Snapshot.A = set(3600, "192.0.2.10", "192.0.2.11", "192.0.2.12")
		n.Old = n.Snapshot.A.Addresses
	})
	for percent, want := range map[int32]Schedule{
		10: {10 * time.Second, 5, 2},
		25: {10 * time.Second, 1, 1},
		40: {10 * time.Second, 1, 1},
		0:  {10 * time.Second, 1, 0},
		-3: {10 * time.Second, 1, 0},
	} {
		if got := n.Schedule(percent); got != want {
			t.Errorf("%d %%: got %+v, want %+v", percent, got, want)
		}
	}
}

// TestTheShareIsExactForEveryResolver walks resolvers that ask again every TTL, at every phase, through as many fetches
// as there are slots: each sees every slot once, so the share is exact and nobody is pinned to one side.
func TestTheShareIsExactForEveryResolver(t *testing.T) {
	t.Parallel()
	for ttl := uint32(minSlot); ttl <= 120; ttl++ {
		n := with(single(), func(n *Name) { n.LowTTL = ttl })
		for percent := int32(1); percent < 50; percent++ {
			s := n.Schedule(percent)
			if 100*s.HighSlots != int(2*percent)*s.Slots {
				t.Fatalf("TTL %d, %d %%: %d of %d slots are high", ttl, percent, s.HighSlots, s.Slots)
			}
			if s.Length < minSlot*time.Second {
				t.Fatalf("TTL %d, %d %%: slots of %s", ttl, percent, s.Length)
			}
			for _, phase := range []time.Duration{0, s.Length / 3, s.Length - 1} {
				if got := highFetches(s, phase, time.Duration(ttl)*time.Second); got != s.HighSlots {
					t.Fatalf("TTL %d, %d %%, phase %s: %d of %d fetches are high, want %d", ttl, percent, phase, got, s.Slots, s.HighSlots)
				}
			}
		}
	}
}

// TestHighSlotsAreSpreadEvenly: any run of slots holds its share of high ones, to less than one slot.
func TestHighSlotsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for percent := int32(1); percent < 50; percent++ {
		s := single().Schedule(percent)
		high := make([]int, 2*s.Slots+1)
		for i := range 2 * s.Slots {
			high[i+1] = high[i]
			if s.High(anchor, anchor.Add(time.Duration(i)*s.Length)) {
				high[i+1]++
			}
		}
		for from := range high {
			for to := from; to < len(high); to++ {
				if off := (high[to]-high[from])*s.Slots - (to-from)*s.HighSlots; off <= -s.Slots || off >= s.Slots {
					t.Fatalf("%d %%: %d of the slots %d to %d are high", percent, high[to]-high[from], from, to)
				}
			}
		}
	}
}

func highFetches(s Schedule, phase, ttl time.Duration) int {
	high := 0
	for i := range s.Slots {
		if s.High(anchor, anchor.Add(phase+time.Duration(i)*ttl)) {
			high++
		}
	}
	return high
}

// TestTheShareOfTheServersTimeIsExact counts seconds over many periods.
func TestTheShareOfTheServersTimeIsExact(t *testing.T) {
	t.Parallel()
	for _, percent := range []int32{1, 5, 10, 20, 25, 33, 49} {
		s := single().Schedule(percent)
		seconds, high := int(20*s.Period()/time.Second), 0
		for i := range seconds {
			if s.High(anchor, anchor.Add(time.Duration(i)*time.Second)) {
				high++
			}
		}
		if 100*high != int(2*percent)*seconds {
			t.Errorf("%d %%: high for %d of %d seconds", percent, high, seconds)
		}
	}
}

func TestTheNextSlotBeginsWhereTheOldOneEnds(t *testing.T) {
	t.Parallel()
	s := single().Schedule(10)
	for name, tt := range map[string]struct{ after, next time.Duration }{
		"at the anchor":         {0, 10 * time.Second},
		"inside a slot":         {13 * time.Second, 20 * time.Second},
		"on a border":           {20 * time.Second, 30 * time.Second},
		"just before a border":  {20*time.Second - 1, 20 * time.Second},
		"before the anchor":     {-time.Hour, 0},
		"a long while later on": {100*time.Hour + time.Second, 100*time.Hour + 10*time.Second},
	} {
		if got := s.Next(anchor, anchor.Add(tt.after)); !got.Equal(anchor.Add(tt.next)) {
			t.Errorf("%s: got %s, want %s", name, got.Sub(anchor), tt.next)
		}
	}
	if (Schedule{}).High(anchor, anchor) || !(Schedule{}).Next(anchor, anchor.Add(time.Second)).Equal(anchor) {
		t.Error("the zero schedule has a high slot or a next one")
	}
}

func TestOddMembersNeverMakeAnEndlessPeriod(t *testing.T) {
	t.Parallel()
	for olds := 1; olds <= 12; olds++ {
		for news := 1; news <= 12; news++ {
			n := Name{Snapshot: RecordSet{A: RRset{TTL: 600}}, LowTTL: 30}
			for i := range olds {
				n.Old = append(n.Old, addrs(fmt.Sprintf("192.0.2.%d", i+1))...)
			}
			for i := range news {
				n.New = append(n.New, addrs(fmt.Sprintf("198.51.100.%d", i+1))...)
			}
			n.Snapshot.A.Addresses = n.Old
			for percent := int32(1); percent < 50; percent++ {
				s := n.Schedule(percent)
				if s.Slots > maxSlots || s.HighSlots < 1 || s.HighSlots > s.Slots {
					t.Fatalf("%d old, %d new, %d %%: %+v", olds, news, percent, s)
				}
				most := float64(100*news) / float64(olds+news)
				share := most * float64(s.HighSlots) / float64(s.Slots)
				if want := min(float64(percent), most); share < want-1 || share > want+1 {
					t.Fatalf("%d old, %d new, %d %%: the schedule gives %.2f %%", olds, news, percent, share)
				}
			}
		}
	}
}
