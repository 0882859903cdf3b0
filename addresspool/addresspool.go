// Package addresspool is the ledger: who may hold an address, who holds it, and which address is free. It is pure;
// package metallb below it turns MetalLB's objects into pools and back.
//
// It promises that one address has one spelling (Canonical) and one claim name (ClaimName), that Admit never overlooks a
// row or a use of the same address, that a shared row never holds two entry points whose uses meet, and that Pick gives the same answer to the same question. It refuses to guess: a pool
// that cannot be read, or that nobody announces, is not picked from.
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

// Claim is what one entry point holds of an address: a row of the ledger, or its share of one.
type Claim struct {
	Address    netip.Addr
	Role       Role
	EntryPoint string
	Holders    []Holder
	// Listeners are what it uses of an address that several entry points may share; none: it holds the address alone. They
	// are no part of a stored plan, which says the same by its objects.
	Listeners []Listener `json:"-"`
}

// Listener is one port of a shared address ("TCP/443") and how it is served there (HTTP, TLS or TCP). Hostnames are in
// lower case, without a final dot, sorted; none means the whole port, which is then one entry point's alone.
type Listener struct {
	Port, Protocol string
	Hostnames      []string
}

// Use is somebody's present use of an address, claimed or not: a Service's externalIPs or ingress, a Gateway, a Node.
type Use struct {
	Address netip.Addr
	// Object is "Kind namespace/name".
	Object string
	// Ports in use ("TCP/80"); none means all of them, or that they are not known.
	Ports []string
}

// Conflict is one reason why a claim cannot be admitted.
type Conflict struct {
	Address netip.Addr
	// Object that stands in the way, and the sentence that says so.
	Object, Message string
}

// PinAnnotation asks MetalLB for the addresses in its value, comma separated.
const PinAnnotation = "metallb.io/loadBalancerIPs"
