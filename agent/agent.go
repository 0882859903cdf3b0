// Package agent measures, on one node, who uses the watched addresses, and decides nothing. It has three signals, each
// of which sees what the others miss:
//
//	Counters  packets, counted in a table of our own before conntrack     refused, stateless and asymmetric traffic
//	Entries   the conntrack table, listed in every sweep                  connections that stand, idle ones too
//	Events    what conntrack begins and ends between two sweeps           connections that were short
//
// A signal that cannot be had is left out of the Observation, and the drain verdict that needs it is unknown. Whatever
// was lost between two sweeps is a gap: coverage begins anew, and a gap never reads as quiet. Coverage is kept for each
// tuple, so that one that is watched from now on does not take the others' history away.
//
// What it cannot see: packets that never get to the node, or that a program on the network device takes before
// netfilter does. A node that serves Services by such programs is reported with proxy mode Other.
package agent

import (
	"net/netip"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// Tuple is what is watched: packets to one address, port and protocol.
type Tuple = migration.WatchedTuple

// The protocols of a Tuple.
const (
	tcp  = "TCP"
	udp  = "UDP"
	sctp = "SCTP"
)

// Flow is one connection-tracking entry whose original destination is a watched tuple.
type Flow struct {
	Tuple  Tuple
	Client netip.AddrPort
	// Replied: packets were seen both ways. Closing: it is being torn down.
	Replied, Closing bool
	// HalfClosed: one side has closed it, and the other may still send.
	HalfClosed bool
	// Translated: the backend sees another source address than the client's.
	Translated bool
	// Left is how long the entry would stand without another packet.
	Left time.Duration
	// zoned: it is in a conntrack zone, where another entry may have the same tuple.
	zoned bool
}

// Event is the begin or the end of a Flow.
type Event struct {
	Flow  Flow
	Ended bool
}

// Count is what was counted for one tuple since its element was made. Attempts are packets that ask for a connection: TCP
// with SYN and without ACK, SCTP with INIT; UDP has none.
type Count struct {
	Packets, Attempts uint64
}

// Reading is what one look saw.
type Reading struct {
	// Signals that could be had. What belongs to another one is empty and means nothing.
	Signals []v1alpha1.Signal
	// Mode is how the node serves Services; "" where that is not known.
	Mode v1alpha1.ProxyMode
	// Counts of all watched tuples.
	Counts map[Tuple]Count
	// Flows that stand now.
	Flows []Flow
	// Blind is what may keep the node from seeing everything.
	Blind []v1alpha1.BlindSpot
	// Listening are watched tuples that a process of the node would answer; nil where that is not known.
	Listening map[Tuple]bool
	// Events since the reading before, in their order.
	Events []Event
	// Losses say why this reading does not follow on the one before.
	Losses []Loss
}

// Loss is a reason why something may have been missed.
type Loss struct {
	Reason v1alpha1.GapReason
	Why    string
}

// Meter looks at the node.
type Meter interface {
	// Read looks at the watched tuples. It does not fail: a signal that cannot be had is missing from the reading.
	Read(watched map[Tuple]bool) Reading
}

// Identity is what a report says of the node beside traffic.
type Identity struct {
	Node, BootID string
	// ProxyMode as somebody said it is; "" to report what is found.
	ProxyMode v1alpha1.ProxyMode
	// StaleAfter is how long a report may be believed, in seconds.
	StaleAfter int32
}
