package sim

import (
	"net/netip"
	"time"

	"offramp.dev/dnsctl"
)

// resolver caches answers. One that obeys drops them when the TTL is over; a sticky one keeps them twice as long.
type resolver struct {
	zones   *Zones
	sticky  bool
	entries map[string]cached
}

type cached struct {
	addrs   []netip.Addr
	expires time.Time
}

// lookup gives the addresses in the order of this answer: name servers rotate.
func (r *resolver) lookup(name string, now time.Time, rng *dice) []netip.Addr {
	e, ok := r.entries[name]
	if !ok || !now.Before(e.expires) {
		set, found := r.zones.Ask(name, rng.IntN(16))
		if !found {
			return nil
		}
		e = cached{addrs: ipv4First(set), expires: now.Add(r.keep(set))}
		r.entries[name] = e
	}
	if n := len(e.addrs); n > 1 {
		at := rng.IntN(n)
		return append(append([]netip.Addr(nil), e.addrs[at:]...), e.addrs[:at]...)
	}
	return e.addrs
}

func (r *resolver) keep(set dnsctl.RecordSet) time.Duration {
	ttl := time.Duration(max(set.A.TTL, set.AAAA.TTL)) * time.Second
	if r.sticky {
		return 2 * ttl
	}
	return ttl
}

// ipv4First: a client of the embedded world speaks IPv4 where the name has an A record, else IPv6.
func ipv4First(set dnsctl.RecordSet) []netip.Addr {
	if len(set.A.Addresses) > 0 {
		return set.A.Addresses
	}
	return set.AAAA.Addresses
}

// flow is one client population: a Service's port, reached by a name or by a literal address.
type flow struct {
	service  string
	name     string
	literals []netip.Addr
	port     int32
	protocol string
	sent     int64
	lost     int64
	// held is the connection that is kept for minutes, if any.
	held *connection
}

// connection is one that was established and is still open.
type connection struct {
	tuple   Tuple
	binding binding
	until   time.Time
}

// traffic is everybody who uses the cluster from outside.
type traffic struct {
	path      *datapath
	resolvers []*resolver
	flows     []*flow
	rng       *dice
	now       func() time.Time
	// seen is what a node's agent could have measured: the last new connection of each tuple.
	seen map[Tuple]time.Time
	// onLoss is told of every lost request.
	onLoss func(f *flow, t Tuple)
}

// tick lets every client make one attempt: one connect, no retry, to the first address answered.
func (t *traffic) tick() {
	for _, f := range t.flows {
		for _, r := range t.resolvers {
			t.request(f, t.target(f, r))
		}
		t.hold(f)
	}
}

func (t *traffic) target(f *flow, r *resolver) Tuple {
	addrs := f.literals
	if f.name != "" {
		addrs = r.lookup(f.name, t.now(), t.rng)
	}
	if len(addrs) == 0 {
		return Tuple{Port: f.port, Protocol: f.protocol}
	}
	return Tuple{addrs[0], f.port, f.protocol}
}

func (t *traffic) request(f *flow, to Tuple) (binding, bool) {
	f.sent++
	b, ok := t.path.dial(to, f.name)
	if !ok {
		t.lose(f, to)
		return b, false
	}
	t.seen[to] = t.now()
	return b, true
}

func (t *traffic) lose(f *flow, to Tuple) {
	f.lost++
	if t.onLoss != nil {
		t.onLoss(f, to)
	}
}

// hold opens a connection of some minutes, and another one when it has ended.
func (t *traffic) hold(f *flow) {
	if f.protocol != "TCP" || f.held != nil && t.now().Before(f.held.until) {
		return
	}
	f.held = nil
	to := t.target(f, t.resolvers[0])
	if b, ok := t.request(f, to); ok {
		f.held = &connection{to, b, t.now().Add(time.Duration(2+t.rng.IntN(8)) * time.Minute)}
	}
}

// check ends connections that are over and counts those that were cut as lost requests.
func (t *traffic) check() {
	for _, f := range t.flows {
		switch {
		case f.held == nil:
		case !t.now().Before(f.held.until):
			f.held = nil
		case !t.path.alive(f.held.tuple, f.held.binding):
			t.lose(f, f.held.tuple)
			f.held = nil
		}
	}
}

// established counts the open connections of each tuple.
func (t *traffic) established() map[Tuple]int64 {
	out := map[Tuple]int64{}
	for _, f := range t.flows {
		if f.held != nil {
			out[f.held.tuple]++
		}
	}
	return out
}

// nodeOf is the node that receives a tuple: the address has a static route to one.
func nodeOf(t Tuple, nodes int) int {
	sum := 0
	for _, b := range t.Address.AsSlice() {
		sum += int(b)
	}
	return sum % max(nodes, 1)
}
