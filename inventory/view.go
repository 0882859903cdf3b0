package inventory

import (
	"time"

	"offramp.dev/api/v1alpha1"
)

// Attracted says who brings the packets for one address to a node. It decides what removing the field does: where the
// address is announced because of the field, established connections end with it.
type Attracted struct {
	// Address in canonical form.
	Address string `json:"address"`
	// By is Unknown unless something seen proves more.
	By v1alpha1.Attraction `json:"by"`
	// Why names what was seen, in one sentence.
	Why string `json:"why"`
}

// Pointer is a live DNS record that leads to an address of an entry point.
type Pointer struct {
	// Name of the record, without the final dot, and its type: A, AAAA or CNAME.
	Name string `json:"name"`
	Type string `json:"type"`
	// Addresses of the entry point that the record leads to, sorted.
	Addresses []string `json:"addresses"`
	// Target of a CNAME.
	Target string `json:"target,omitempty"`
	// TTL in seconds, the longest that any server answered.
	TTL uint32 `json:"ttl"`
	// Servers that answered so, sorted.
	Servers []string `json:"servers,omitempty"`
	// Owner who manages the record by its marks, or "" where no mark is known.
	Owner string `json:"owner,omitempty"`
	// MovesByItself: its owner rewrites it when the Service changes.
	MovesByItself bool `json:"movesByItself,omitempty"`
}

// Risk ranks conflicts.
type Risk string

// The risks, the worst first.
const (
	// RiskCritical: traffic of the cluster itself, or of every node, can end at a Service.
	RiskCritical Risk = "Critical"
	// RiskHigh: traffic of another namespace can.
	RiskHigh Risk = "High"
	// RiskMedium: the address belongs to a node, namespaces share it without meeting, or somebody was refused it.
	RiskMedium Risk = "Medium"
	// RiskLow: one namespace is at odds with itself, or no pool holds the address.
	RiskLow Risk = "Low"
)

// Conflict is one address that more than one claims, or that is not a Service's to claim.
type Conflict struct {
	// Address in canonical form.
	Address string `json:"address"`
	Risk    Risk   `json:"risk"`
	// Reason is a reason code (docs/reasons.md).
	Reason string `json:"reason"`
	// Message says in one sentence what is wrong, Fix the way out.
	Message string `json:"message"`
	Fix     string `json:"fix"`
	// Services that hold the address by the field, as "ns/name", sorted and at most MaxClaims.
	Services []string `json:"services"`
	// First is the first claim that the audit log shows, Later are those of others, in order of time and at most MaxClaims.
	// Both are empty where no audit log was read.
	First *Claim  `json:"first,omitempty"`
	Later []Claim `json:"later,omitempty"`
}

// MaxClaims is how many Services and claims one Conflict lists.
const MaxClaims = 16

// Claim is one write of an address into a Service's field, or the attempt.
type Claim struct {
	At      time.Time `json:"at"`
	User    string    `json:"user"`
	Service string    `json:"service"`
	// Denied: the API server refused it.
	Denied bool `json:"denied,omitempty"`
}
