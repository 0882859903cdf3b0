//go:build e2e

package stories

import (
	"fmt"
	"time"

	"offramp.dev/e2e/traffic"
)

// Paths that a fault may hit, beside an address.
const (
	newPath   = "new"
	everyPath = "every"
)

// broken is a fault: on its path, an address, newPath or everyPath, requests may be lost from its begin until it is mended.
type broken struct {
	path     string
	from, to time.Time
	// first and last are when a request was lost; zero while none was.
	first, last time.Time
}

// recovery is how long after the mending requests may still be lost: the client's own deadline, and what kube-proxy takes to
// program an endpoint that is back.
const recovery = 10 * time.Second

// hits begins a fault.
func (s *story) hits(path string) { s.broken = broken{path: path, from: time.Now()} }

// mended ends it.
func (s *story) mended() { s.broken.to = time.Now() }

// excuses is the number of requests lost on the fault's path.
func (b broken) excuses(old string, st traffic.Stats) int64 {
	if b.path == everyPath {
		return st.Lost
	}
	var n int64
	for address, a := range st.PerAddress {
		if b.path == address || b.path == newPath && address != old {
			n += a.Lost
		}
	}
	return n
}

// holds insists that everything was lost within the fault's window.
func (b broken) holds(st traffic.Stats) error {
	if st.LastLost == nil {
		return nil
	}
	first, last := st.LostList[0].Time, st.LastLost.Time
	if first.Before(b.from) || last.After(b.to.Add(recovery)) {
		return fmt.Errorf("requests lost from %s to %s, the fault lasted from %s to %s", first, last, b.from, b.to)
	}
	return nil
}

// measure takes in what a client lost.
func (b *broken) measure(st traffic.Stats) {
	if st.LastLost == nil {
		return
	}
	if first := st.LostList[0].Time; b.first.IsZero() || first.Before(b.first) {
		b.first = first
	}
	if st.LastLost.Time.After(b.last) {
		b.last = st.LastLost.Time
	}
}

// lasted is the span of the fault, losing the one from the first request lost to the last.
func (b broken) lasted() time.Duration { return b.to.Sub(b.from) }
func (b broken) losing() time.Duration { return b.last.Sub(b.first) }

// String is a note for the table, empty without a fault.
func (b broken) String() string {
	if b.path == "" {
		return ""
	}
	return fmt.Sprintf("a fault hit path %s for %s; from the first request lost to the last: %s", b.path, b.lasted().Round(time.Second), b.losing().Round(100*time.Millisecond))
}
