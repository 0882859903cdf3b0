package agent

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

const (
	// maxRows is how many detailed rows an Observation holds; more is overflow, and overflow is unknown.
	maxRows = 500
	// maxGaps is how many gaps an Observation remembers.
	maxGaps = 10
	// maxMessage bounds the text of a gap, in bytes.
	maxMessage = 256
	// timerSlack is how many seconds earlier than it said an entry may end by itself: conntrack counts in whole ones.
	timerSlack = 2
)

// Observer remembers readings. It is not safe for concurrent use.
type Observer struct {
	identity Identity
	seed     maphash.Seed
	hash     string
	since    time.Time
	signals  []v1alpha1.Signal
	mode     v1alpha1.ProxyMode
	blind    []v1alpha1.BlindSpot
	tuples   map[Tuple]*usage
	standing map[connection]entry
	gaps     []v1alpha1.ObservationGap
}

// usage is what is known of one tuple.
type usage struct {
	tuple                 Tuple
	since                 time.Time
	established, halfOpen int64
	translated            int64
	listener              bool
	lastNew, lastAttempt  time.Time
	// counted is the count of the reading before, if there is one to compare with.
	counted *Count
}

// connection stands for a tuple and a client; a table may hold hundreds of thousands.
type connection uint64

// entry is what the reading before said of a connection.
type entry struct {
	usage                     *usage
	replied, open, halfClosed bool
	// missing in the reading before: whether it ended as it should may be known only now.
	missing bool
	// until is when it would end by itself, in seconds since 1970.
	until int64
}

// NewObserver begins with no coverage.
func NewObserver(id Identity) *Observer {
	return &Observer{identity: id, seed: maphash.MakeSeed(), tuples: map[Tuple]*usage{}, standing: map[connection]entry{}}
}

// Sweep takes one reading of the watched tuples in; hash is the hash of the set. Whatever happened is dated with now, the
// end of the reading: later than it was, which is the safe side.
func (o *Observer) Sweep(now time.Time, hash string, watched map[Tuple]bool, r Reading) {
	now = ceil(now)
	o.hash = hash
	for _, loss := range o.losses(&r) {
		o.gap(now, loss)
	}
	o.signals, o.mode, o.blind = r.Signals, r.Mode, r.Blind
	o.watch(now, watched)
	s := sweep{Observer: o, now: now, reading: &r, before: o.standing, orderly: map[connection]bool{}, talked: map[*usage]bool{}}
	s.run()
	o.standing = s.standing
	o.fold(now)
}

// ceil rounds up to the second, which is what the API stores: rounding down would claim coverage that there was not.
func ceil(at time.Time) time.Time {
	if whole := at.Truncate(time.Second); whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}

// losses are the reasons why this reading does not follow on the one before.
func (o *Observer) losses(r *Reading) []Loss {
	if o.since.IsZero() {
		return []Loss{{Reason: v1alpha1.GapStarted}}
	}
	out := r.Losses
	if !slices.Equal(o.signals, r.Signals) {
		out = append(slices.Clone(out), Loss{v1alpha1.GapSignals, "signals " + words(o.signals) + ", now " + words(r.Signals)})
	}
	if o.mode != r.Mode {
		out = append(slices.Clone(out), Loss{v1alpha1.GapDatapath, "proxy mode " + word(string(o.mode)) + ", now " + word(string(r.Mode))})
	}
	if before, now := reasons(o.blind), reasons(r.Blind); before != now {
		out = append(slices.Clone(out), Loss{v1alpha1.GapDatapath, "blind spots " + before + ", now " + now})
	}
	return out
}

func reasons(spots []v1alpha1.BlindSpot) string {
	var out []string
	for _, s := range spots {
		out = append(out, string(s.Reason))
	}
	slices.Sort(out)
	return word(strings.Join(slices.Compact(out), " "))
}

func words(signals []v1alpha1.Signal) string {
	out := make([]string, 0, len(signals))
	for _, s := range signals {
		out = append(out, string(s))
	}
	return word(strings.Join(out, " "))
}

func word(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// gap begins the coverage of everything anew.
func (o *Observer) gap(now time.Time, loss Loss) {
	o.since, o.tuples, o.standing = now, map[Tuple]*usage{}, map[connection]entry{}
	o.note(now, loss)
}

// note remembers a gap. A repeated one only moves its time: one that comes in every sweep would push the others out.
func (o *Observer) note(now time.Time, loss Loss) {
	g := v1alpha1.ObservationGap{Until: metav1.NewTime(now), Reason: loss.Reason, Message: short(loss.Why)}
	if n := len(o.gaps); n > 0 && o.gaps[n-1].Reason == g.Reason && o.gaps[n-1].Message == g.Message {
		o.gaps[n-1] = g
		return
	}
	o.gaps = append(slices.Clone(o.gaps), g)
	o.gaps = o.gaps[max(0, len(o.gaps)-maxGaps):]
}

// watch forgets what is not watched any more, and begins the coverage of what is new.
func (o *Observer) watch(now time.Time, watched map[Tuple]bool) {
	for t := range o.tuples {
		if !watched[t] {
			delete(o.tuples, t)
		}
	}
	for t := range watched {
		if o.tuples[t] == nil {
			o.tuples[t] = &usage{tuple: t, since: now}
		}
	}
}

// fold gives up the longer coverage of the old tuples where rows that only say "since" would not fit into the report: an
// overflow would make all of it unknown.
func (o *Observer) fold(now time.Time) {
	rows, latest := 0, o.since
	for _, u := range o.tuples {
		if u.shown(o.since) {
			rows++
		}
		if u.since.After(latest) {
			latest = u.since
		}
	}
	if rows <= maxRows || !latest.After(o.since) {
		return
	}
	o.since = latest
	o.note(now, Loss{v1alpha1.GapTuples, "too many tuples began later than the others"})
}

// shown tells whether a tuple needs a row in a report that is covered since then.
func (u *usage) shown(since time.Time) bool {
	return u.listener || u.established > 0 || u.halfOpen > 0 || !u.lastNew.IsZero() || !u.lastAttempt.IsZero() || u.since.After(since)
}

func (o *Observer) connection(t Tuple, client netip.AddrPort) connection {
	type key struct {
		Tuple
		netip.AddrPort
	}
	return connection(maphash.Comparable(o.seed, key{t, client}))
}
