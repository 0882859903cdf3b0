package dnsctl

import (
	"math"
	"time"
)

// minSlot in seconds: a slot must outlast the slowest hand-over to a secondary that well-behaved servers need (5 s of
// NOTIFY delay, twice).
const minSlot = 10

// maxSlots bounds the period, and with it the time after which the share is exact.
const maxSlots = 100

// Schedule cuts time after an anchor into slots of equal length; of every Slots slots in a row HighSlots are high, spread
// evenly. While a slot is high the larger set of a step is wanted, else the safe one. Length and Slots are chosen so
// that a resolver that asks again every TTL walks through all slots (TTL = m*Length with gcd(m, Slots) = 1); a period
// that the TTL divides would pin it to one side for ever.
type Schedule struct {
	// Length of a slot.
	Length time.Duration
	// Slots in a period, and how many of them are high.
	Slots, HighSlots int
}

// Schedule gives the slots for a share below 50 percent. It depends on the name alone, so every replica and every
// restart agrees. A share that the larger set cannot reach is that set all the time.
func (n Name) Schedule(percent int32) Schedule {
	both := n.low(n.bothSet)
	s := n.shareOf(both.A).larger(n.shareOf(both.AAAA))
	high, slots := int(percent)*s.of, 100*s.part
	if percent <= 0 || s.part == 0 {
		high, slots = 0, 1
	}
	high, slots = fraction(min(high, slots), slots)
	length := slotLength(int(both.largestTTL()), slots)
	return Schedule{Length: time.Duration(length) * time.Second, Slots: slots, HighSlots: high}
}

// High tells whether the slot at now is a high one. Before the anchor none is.
func (s Schedule) High(anchor, now time.Time) bool {
	if now.Before(anchor) || s.Slots <= 0 || s.Length <= 0 {
		return false
	}
	place := int(now.Sub(anchor)/s.Length) % s.Slots
	return place*s.HighSlots%s.Slots < s.HighSlots
}

// Next is when the slot after the one at now begins.
func (s Schedule) Next(anchor, now time.Time) time.Time {
	if now.Before(anchor) || s.Length <= 0 {
		return anchor
	}
	return anchor.Add((now.Sub(anchor)/s.Length + 1) * s.Length)
}

// Period is the time after which the share is exact.
func (s Schedule) Period() time.Duration { return time.Duration(s.Slots) * s.Length }

// StepShare is the share of new that step s asks for in the long run, and the standard deviation to expect of it over a
// window, both in percent, where as many resolvers of equal weight ask as said. A static set has none; two sets that take
// turns have sqrt(w(1-2w)/2 * TTL/(window*resolvers)), for resolvers that come at random.
func (n Name) StepShare(s Step, percents []int32, window time.Duration, resolvers float64) (share, deviation float64) {
	sets := n.Allowed(s, percents)
	if len(sets) == 0 {
		return 0, 0
	}
	p, _ := percentOf(s, percents)
	if len(sets) == 1 {
		return float64(n.NominalShare(sets[0])), 0
	}
	schedule := n.Schedule(p)
	share = float64(n.NominalShare(sets[1])) * float64(schedule.HighSlots) / float64(schedule.Slots)
	w, ttl := share/100, float64(sets[1].largestTTL())
	if schedule.HighSlots == schedule.Slots || w >= 0.5 {
		return share, 0
	}
	return share, 100 * math.Sqrt(w*(1-2*w)/2*ttl/(max(window.Seconds(), ttl)*max(resolvers, 1)))
}

// fraction reduces high/slots and rounds it to at most maxSlots slots, of which at least one is high if any was.
func fraction(high, slots int) (int, int) {
	g := gcd(high, slots)
	high, slots = high/g, slots/g
	if slots <= maxSlots {
		return high, slots
	}
	rounded := max(1, (high*maxSlots+slots/2)/slots)
	g = gcd(rounded, maxSlots)
	return rounded / g, maxSlots / g
}

// slotLength is the shortest length of at least minSlot seconds that divides the TTL into m slots with gcd(m, slots) = 1.
// The TTL itself always does. Below minSlot a resolver asks more than once in every slot and cannot be pinned.
func slotLength(ttl, slots int) int {
	for m := ttl / minSlot; m > 1; m-- {
		if ttl%m == 0 && gcd(m, slots) == 1 {
			return ttl / m
		}
	}
	return max(ttl, minSlot)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, 1)
}
