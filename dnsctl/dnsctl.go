// Package dnsctl decides about DNS and does none: record sets, the share a step asks for, what may change and what
// our ownership mark says. Package rfc2136 below it does the I/O behind the interface Port.
//
// It promises that members of a record set that are not ours stay, that no AAAA appears where none was, and that a
// change names the exact state it expects to find (RFC 2136 section 2.4.2), so that a concurrent edit makes it fail.
package dnsctl

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// RRset is the addresses of one type at one name, sorted and unique. No addresses: the set does not exist.
type RRset struct {
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// TTL in seconds.
	TTL uint32 `json:"ttl,omitempty"`
}

// RecordSet is what one name answers for A and AAAA. Alias is set where the name is a CNAME instead.
type RecordSet struct {
	A     RRset  `json:"a"`
	AAAA  RRset  `json:"aaaa"`
	Alias string `json:"alias,omitempty"`
}

// Mark is our ownership mark: a TXT record at MarkName(name). The zero value means that there is none.
type Mark struct {
	// Owner is the name of the MigrationRecord that owns the name.
	Owner string `json:"owner"`
	// Sequence is the journal place of the youngest intent when it was written.
	Sequence int `json:"sequence"`
	// Until is the end of the lease.
	Until time.Time `json:"until"`
}

// Answer is what one authoritative server says of one name: the records and the mark. Foreign holds a mark text at
// MarkName that is not ours to read (another holder), External an external-dns ownership text found at the name.
type Answer struct {
	Records  RecordSet `json:"records"`
	Mark     Mark      `json:"mark,omitzero"`
	Foreign  string    `json:"foreign,omitempty"`
	External string    `json:"external,omitempty"`
	// AliasTTL is the TTL in seconds of the CNAME, where Records are an alias.
	AliasTTL uint32 `json:"aliasTTL,omitempty"`
}

// Name is one name that moves: what it held, what is ours in it, where it goes.
type Name struct {
	// Name is lower case, without a trailing dot.
	Name string `json:"name"`
	// Zone is the name of the DNSZone object.
	Zone string `json:"zone"`
	// Snapshot is the answer before the walk.
	Snapshot RecordSet `json:"snapshot"`
	// Old are the members of Snapshot that leave, New those that come. Other members of Snapshot stay.
	Old []netip.Addr `json:"old"`
	New []netip.Addr `json:"new"`
	// LowTTL in seconds during the walk; never above the snapshot's own.
	LowTTL uint32 `json:"lowTTL"`
	// Aliases are the names that clients ask for where CNAMEs lead from them to Name; they are not written. ChainTTL is the
	// largest TTL in seconds of those CNAMEs.
	Aliases  []string `json:"aliases,omitempty"`
	ChainTTL uint32   `json:"chainTTL,omitempty"`
}

// Step is a place in the shift: -1 the snapshot, 0 old at low TTL, 1..n the shares, n+1 new at the original TTL.
type Step int

// The steps that every shift has.
const (
	StepSnapshot Step = -1
	StepLowTTL   Step = 0
)

// Change replaces the answer of one name. The write must carry Before as its prerequisite and fail if it is not so.
// Before.Mark zero: no mark may exist; After.Mark zero: the mark goes.
type Change struct {
	Zone   string `json:"zone"`
	Name   string `json:"name"`
	Before Answer `json:"before"`
	After  Answer `json:"after"`
}

// Zone is how to reach one zone. Servers do not repeat Primary.
type Zone struct {
	// Object is the name of the DNSZone; Apex the zone without a trailing dot.
	Object, Apex string
	// Primary and Servers are host:port.
	Primary string
	Servers []string
	// Manual: nothing is written.
	Manual bool
	// ExternalPrefix and ExternalSuffix are what external-dns was given for the names of its ownership texts.
	ExternalPrefix, ExternalSuffix string
}

// Port is how records are looked at and changed. Implementations: rfc2136 and the embedded world.
type Port interface {
	// Query asks one authoritative server (RD=0) for A, AAAA, CNAME and the marks of name. An error means unknown.
	Query(ctx context.Context, zone Zone, server, name string) (Answer, error)
	// Update applies the changes, all of one zone, in one message at the primary, with prerequisites, and reads them
	// back. Errors are of type *UpdateError.
	Update(ctx context.Context, zone Zone, changes []Change) error
}

// Clocked is a Port that can compare clocks with a primary before anything is written.
type Clocked interface {
	// Skew is how far the primary's clock is ahead of ours. ErrNoClock: the key is taken, but the server shows no clock. Any
	// other error means that nobody knows, or that the key is not taken.
	Skew(ctx context.Context, zone Zone) (time.Duration, error)
}

// ErrNoClock says that a server repeats the time of the question in place of its own.
var ErrNoClock = errors.New("the server repeats our time: its clock cannot be seen")

// MaxSkew is how far the clocks may differ before a zone counts as not usable: well before updates fail, at 300 s.
const MaxSkew = time.Minute

// Class says what kind of failure an update met, whatever the rcode was.
type Class string

// The classes.
const (
	ClassClock   Class = "Clock"   // the server's clock and ours disagree (BADTIME)
	ClassAuth    Class = "Auth"    // key or policy: refused, BADKEY, BADSIG, unsigned NOTAUTH
	ClassZone    Class = "Zone"    // wrong zone, or not its primary
	ClassChanged Class = "Changed" // somebody changed the name since we looked: plan anew
	ClassRetry   Class = "Retry"   // no or unclear answer: read before the next try
	ClassBug     Class = "Bug"     // NOTZONE, FORMERR: ours
)

// UpdateError is the failure of an update.
type UpdateError struct {
	Class  Class
	Server string
	Name   string
	Detail string
	Err    error
}

// Error names server, name, class and the way out.
func (e *UpdateError) Error() string {
	s := "update of " + e.Name + " at " + e.Server + ": " + string(e.Class) + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *UpdateError) Unwrap() error { return e.Err }
