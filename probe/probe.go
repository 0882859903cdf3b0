// Package probe checks one literal address at a time and judges nothing: a Check goes in, a Result comes out.
package probe

import (
	"context"
	"net/netip"
	"time"

	"offramp.dev/migration"
)

// Kind of a check.
type Kind string

// The kinds. HTTP: one GET, no redirect followed, body read to 64 KiB. TLS: handshake without verification of trust,
// the chain's names are reported. TCP: connect. UDP and SCTP have none: they are Inconclusive (NoReplyProtocol).
const (
	TCP  Kind = "TCP"
	TLS  Kind = "TLS"
	HTTP Kind = "HTTP"
	UDP  Kind = "UDP"
	SCTP Kind = "SCTP"
)

// Check is one look at one literal address, one family, one port. The address comes from the ledger or a target object,
// never from tenant text. Host (header and SNI) and Path are validated again before anything is sent.
type Check struct {
	Address netip.Addr
	Port    uint16
	Kind    Kind
	Host    string
	Path    string
	Timeout time.Duration
}

// Outcome of a check.
type Outcome string

// The outcomes. Inconclusive means that nothing was learnt about the address; it is never success.
const (
	Good         Outcome = "Good"
	Failed       Outcome = "Failed"
	Inconclusive Outcome = "Inconclusive"
)

// Result of a check.
type Result struct {
	Check   Check
	Outcome Outcome
	// Detail is one sentence: the status, the error. It never holds a byte of an answer's body or headers.
	Detail string
	Took   time.Duration
	// Answer is what the server showed of itself, also where that made the check fail.
	Answer migration.Answer
}

// Port runs checks. Implementations: Dialer and the embedded world.
type Port interface {
	Probe(ctx context.Context, c Check) Result
}
