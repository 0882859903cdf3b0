// Package agent measures, on one node, who uses the watched addresses, and decides nothing. This version measures one of
// the three signals, the conntrack entries, by a dump in every sweep; it says so in the Observation (signals: Entries),
// and a drain verdict that needs the packet counters stays unknown on such a node. A sweep that failed or was
// interrupted is a gap: coverage begins anew, and never reads as quiet.
package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// maxRows is how many detailed rows an Observation holds; more is overflow, and overflow is unknown.
const maxRows = 500

// Tuple is what is watched: packets to one address, port and protocol.
type Tuple = migration.WatchedTuple

// Flow is one connection-tracking entry whose original destination is a watched tuple.
type Flow struct {
	Tuple  Tuple
	Client netip.AddrPort
	// Replied: packets were seen both ways. Closing: it is being torn down.
	Replied, Closing bool
}

// Table is the node's connection-tracking table.
type Table interface {
	// Flows lists the entries of the watched tuples. An interrupted dump is an error: it would read as zero.
	Flows(watched map[Tuple]bool) ([]Flow, error)
}

// Identity is what a report says of the node beside traffic.
type Identity struct {
	Node, BootID string
	ProxyMode    v1alpha1.ProxyMode
	// StaleAfter is how long a report may be believed, in seconds.
	StaleAfter int32
}

// Observer remembers sweeps. It is not safe for concurrent use.
type Observer struct {
	identity Identity
	watched  string
	since    time.Time
	seen     map[Flow]bool
	traffic  map[Tuple]*usage
}

type usage struct {
	established int64
	lastNew     time.Time
}

// NewObserver begins with no coverage.
func NewObserver(id Identity) *Observer {
	return &Observer{identity: id, seen: map[Flow]bool{}, traffic: map[Tuple]*usage{}}
}

// Gap says that nothing was seen until now: what was not looked at may have happened.
func (o *Observer) Gap() {
	o.since, o.seen, o.traffic = time.Time{}, map[Flow]bool{}, map[Tuple]*usage{}
}

// Sweep takes one listing in. watched is the hash of the watched set; another one is a gap.
func (o *Observer) Sweep(now time.Time, watched string, flows []Flow) {
	if o.watched != watched || o.since.IsZero() {
		o.Gap()
		o.watched, o.since = watched, now
	}
	seen := map[Flow]bool{}
	for _, u := range o.traffic {
		u.established = 0
	}
	for _, f := range flows {
		key := Flow{Tuple: f.Tuple, Client: f.Client}
		u := o.usage(f.Tuple)
		if f.Replied && !f.Closing && !seen[key] {
			u.established++
		}
		// An entry that stood in the last listing is not new. UDP has no connections: every entry is use now.
		if !o.seen[key] || f.Tuple.Protocol == "UDP" {
			u.lastNew = now
		}
		seen[key] = true
	}
	o.seen = seen
}

func (o *Observer) usage(t Tuple) *usage {
	u, ok := o.traffic[t]
	if !ok {
		u = &usage{}
		o.traffic[t] = u
	}
	return u
}

// Status is the report of what was seen.
func (o *Observer) Status(now time.Time) v1alpha1.ObservationStatus {
	out := v1alpha1.ObservationStatus{
		Source: v1alpha1.SourceNode, Node: o.identity.Node, BootID: o.identity.BootID, ProxyMode: o.identity.ProxyMode,
		ReportedAt: metav1.NewTime(now), CoverageSince: metav1.NewTime(o.since), Watched: o.watched,
		StaleAfterSeconds: o.identity.StaleAfter, Signals: []v1alpha1.Signal{v1alpha1.SignalEntries},
	}
	for _, t := range o.tuples() {
		if len(out.Traffic) == maxRows {
			out.Overflow = true
			break
		}
		u := o.traffic[t]
		last := metav1.NewTime(u.lastNew)
		out.Traffic = append(out.Traffic, v1alpha1.TupleTraffic{
			Address: t.Address.String(), Port: t.Port, Protocol: t.Protocol, Established: u.established, LastNew: &last,
		})
	}
	return out
}

func (o *Observer) tuples() []Tuple {
	out := make([]Tuple, 0, len(o.traffic))
	for t := range o.traffic {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Tuple) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol))
	})
	return out
}
