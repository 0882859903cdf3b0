// Package addresspool is the ledger: who may hold an address, who holds it, and which address is free. It is pure;
// package metallb below it turns MetalLB's objects into pools and back.
package addresspool

import "net/netip"

// Range is an inclusive range of addresses of one family.
type Range struct{ First, Last netip.Addr }

// Pool is a set of addresses that a load balancer implementation may assign.
type Pool struct {
	Name, Namespace string
	Ranges          []Range
	AutoAssign      bool
	// Namespaces that may take from it; empty means every namespace. Unreadable says why it cannot be told (selectors).
	Namespaces []string
	Unreadable string
	// Announcers are the advertisements that announce this pool ("L2Advertisement metallb-system/l2"); none: nobody would.
	Announcers []string
}

// Role of an address in a walk.
type Role string

// The roles (the same words as in api/v1alpha1).
const (
	Old     Role = "Old"
	New     Role = "New"
	Adopted Role = "Adopted"
)

// Holder is one Service that may carry an address on some ports ("TCP/80").
type Holder struct {
	Namespace, Name string
	Ports           []string
}

// Claim is one row of the ledger.
type Claim struct {
	Address    netip.Addr
	Role       Role
	EntryPoint string
	Holders    []Holder
}

// Use is somebody's present use of an address, claimed or not: a Service's externalIPs or ingress, a Gateway, a Node.
type Use struct {
	Address netip.Addr
	// Object is "Kind namespace/name".
	Object string
	Ports  []string
}

// Conflict is one reason why a claim cannot be admitted.
type Conflict struct {
	Address netip.Addr
	// Object that stands in the way, and the sentence that says so.
	Object, Message string
}

// To be written by the owner of this package (signatures are the contract):

// Canonical parses an address as a tenant may have written it. Leading zeros and IPv4-mapped forms are read as the
// address they mean, with strict=false; zones, brackets, CIDRs and names are errors.
func Canonical(text string) (addr netip.Addr, strict bool, err error) { panic("contract") }

// ClaimName is the object name of the claim of a: IPv4 dotted; IPv6 canonical with "-" for ":", an edge hyphen padded with 0.
func ClaimName(a netip.Addr) string { panic("contract") }

// ParseClaimName is the inverse of ClaimName.
func ParseClaimName(name string) (netip.Addr, error) { panic("contract") }

// Admit lists what stands in the way of claim: other entry points' rows, and other objects' uses on the same ports.
func Admit(ledger []Claim, uses []Use, claim Claim) []Conflict { panic("contract") }

// Pick finds the address of the wanted family for entryPoint: the one it already claims, else the first free one in
// the named pools, in order. The error names the pools and says why none fits.
func Pick(pools []Pool, names []string, ledger []Claim, uses []Use, entryPoint string, is6 bool) (netip.Addr, Pool, error) {
	panic("contract")
}
