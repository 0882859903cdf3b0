package dnsctl

import "context"

// Order is how a server gives the addresses of a set: whoever takes the first one goes where the order sends him.
type Order string

// The orders.
const (
	// OrderUnknown: no set of several members was there to look at.
	OrderUnknown Order = ""
	// OrderRotates: the same question was answered in two orders.
	OrderRotates Order = "Rotates"
	// OrderFixed: it was answered in one order every time.
	OrderFixed Order = "Fixed"
)

// Orderer is a Port that can tell the order. It is asked only where a share below 50 percent depends on it.
type Orderer interface {
	// Order asks one authoritative server several times for a set that holds several members: the addresses of name, else
	// the zone's name servers. An error means unknown too.
	Order(ctx context.Context, zone Zone, server, name string) (Order, error)
}

// NeedsOrder tells whether a list of shares has a step in which two sets take turns. That gives the share only where
// the servers rotate: a fixed order sends everybody to one side.
func NeedsOrder(percents []int32) bool {
	for _, p := range percents {
		if p > 0 && p < 50 {
			return true
		}
	}
	return false
}
