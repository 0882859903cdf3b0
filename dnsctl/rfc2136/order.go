package rfc2136

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// orderLooks is how often the same question is asked before the order counts as fixed: a server that shuffles two members
// gives the same order that often once in half a million times.
const orderLooks = 20

// How long an order is remembered. What the name's own set showed holds longest; the name servers of the zone only stand in
// for it until it has two members, which it has in some slots and not in others.
const (
	rememberOwn   = 10 * time.Minute
	rememberOther = 20 * time.Second
)

// orders remembers what servers showed, so that a pass does not ask twenty times.
type orders struct {
	mu   sync.Mutex
	seen map[string]ordered
}

type ordered struct {
	order dnsctl.Order
	until time.Time
}

var _ dnsctl.Orderer = (*Client)(nil)

// Order asks one server up to 20 times for the addresses of name, or where they are no two, for the name servers of the
// zone, and says whether their order ever changed. The answer is remembered for a while.
func (c *Client) Order(ctx context.Context, zone dnsctl.Zone, server, name string) (dnsctl.Order, error) {
	key := server + " " + name
	c.orders.mu.Lock()
	known, ok := c.orders.seen[key]
	c.orders.mu.Unlock()
	if ok && c.options.Now().Before(known.until) {
		return known.order, nil
	}
	order, own, err := c.findOrder(ctx, zone, server, name)
	if err != nil {
		return dnsctl.OrderUnknown, err
	}
	keep := rememberOther
	if own && order == dnsctl.OrderRotates {
		keep = rememberOwn
	}
	c.orders.mu.Lock()
	defer c.orders.mu.Unlock()
	if c.orders.seen == nil {
		c.orders.seen = map[string]ordered{}
	}
	c.orders.seen[key] = ordered{order, c.options.Now().Add(keep)}
	return order, nil
}

// findOrder takes the first set that has several members; own tells whether it is the name's.
func (c *Client) findOrder(ctx context.Context, zone dnsctl.Zone, server, name string) (order dnsctl.Order, own bool, err error) {
	for _, q := range []struct {
		name string
		kind uint16
		own  bool
	}{{name, dns.TypeA, true}, {name, dns.TypeAAAA, true}, {zone.Apex, dns.TypeNS, false}} {
		order, err := c.orderOf(ctx, server, q.name, q.kind)
		if err != nil || order != dnsctl.OrderUnknown {
			return order, q.own, err
		}
	}
	return dnsctl.OrderUnknown, false, nil
}

func (c *Client) orderOf(ctx context.Context, server, name string, kind uint16) (dnsctl.Order, error) {
	var first []string
	for range orderLooks {
		members, err := c.members(ctx, server, name, kind)
		switch {
		case err != nil:
			return dnsctl.OrderUnknown, err
		case len(members) < 2 || first != nil && len(members) != len(first):
			return dnsctl.OrderUnknown, nil // too few, or changed under our hands
		case first == nil:
			first = members
		case !slices.Equal(members, first):
			return dnsctl.OrderRotates, nil
		}
	}
	return dnsctl.OrderFixed, nil
}

// members are the records of one set as the server gives them, in its order.
func (c *Client) members(ctx context.Context, server, name string, kind uint16) ([]string, error) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), kind)
	m.RecursionDesired = false
	reply, err := c.ask(ctx, server, m)
	if err == nil {
		err = acceptable(m, reply)
	}
	if err != nil {
		return nil, fmt.Errorf("query of the order of %s %s at %s: %w", name, dns.TypeToString[kind], server, err)
	}
	var out []string
	for _, rr := range reply.Answer {
		if rr.Header().Rrtype == kind && dns.CanonicalName(rr.Header().Name) == dns.CanonicalName(name) {
			out = append(out, strings.TrimPrefix(rr.String(), rr.Header().String()))
		}
	}
	return out, nil
}
