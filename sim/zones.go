package sim

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"offramp.dev/dnsctl"
)

// Zones are in-process zones behind the port that the controllers use: a primary that checks prerequisites as RFC 2136
// section 3.2 asks, and secondaries that hand on every version in order, each with its own lag.
type Zones struct {
	now func() time.Time

	mu    sync.Mutex
	zones []*zone
	// refused: every update is answered as a primary does that does not take the key.
	refused bool
}

var (
	_ dnsctl.Port    = (*Zones)(nil)
	_ dnsctl.Orderer = (*Zones)(nil)
)

type zone struct {
	dnsctl.Zone
	// lag of each server behind the primary.
	lag map[string]time.Duration
	// history of each name, oldest first.
	history map[string][]version
}

type version struct {
	at     time.Time
	answer dnsctl.Answer
}

// NewZones starts without a zone.
func NewZones(now func() time.Time) *Zones { return &Zones{now: now} }

// Add serves a zone with these records; they have been there for ever.
func (z *Zones) Add(of dnsctl.Zone, records map[string]dnsctl.RecordSet) {
	z.mu.Lock()
	defer z.mu.Unlock()
	added := &zone{Zone: of, lag: map[string]time.Duration{of.Primary: 0}, history: map[string][]version{}}
	for _, s := range of.Servers {
		added.lag[s] = secondaryLag
	}
	for name, set := range records {
		added.history[name] = []version{{answer: dnsctl.Answer{Records: sortedSet(set)}}}
	}
	z.zones = append(z.zones, added)
}

// secondaryLag is the NOTIFY delay of well-behaved servers.
const secondaryLag = 5 * time.Second

// Query answers as one authoritative server does.
func (z *Zones) Query(ctx context.Context, of dnsctl.Zone, server, name string) (dnsctl.Answer, error) {
	if err := ctx.Err(); err != nil {
		return dnsctl.Answer{}, err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	found := z.zone(of.Apex)
	if found == nil || !dnsctl.Under(of.Apex, name) {
		return dnsctl.Answer{}, fmt.Errorf("query of %s at %s: no such zone or name", name, server)
	}
	lag, known := found.lag[server]
	if !known {
		return dnsctl.Answer{}, fmt.Errorf("query of %s at %s: no answer", name, server)
	}
	return found.at(name, z.now().Add(-lag)), nil
}

// Update applies all changes or none.
func (z *Zones) Update(ctx context.Context, of dnsctl.Zone, changes []dnsctl.Change) error {
	if len(changes) == 0 {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	fail := func(class dnsctl.Class, detail string) error {
		return &dnsctl.UpdateError{Class: class, Server: of.Primary, Name: changes[0].Name, Detail: detail, Err: ctx.Err()}
	}
	found := z.zone(of.Apex)
	switch {
	case ctx.Err() != nil:
		return fail(dnsctl.ClassRetry, "no answer")
	case of.Manual:
		return fail(dnsctl.ClassBug, "the zone is manual")
	case found == nil:
		return fail(dnsctl.ClassZone, "NOTAUTH: no such zone")
	case slices.ContainsFunc(changes, func(c dnsctl.Change) bool { return !dnsctl.Under(of.Apex, c.Name) }):
		return fail(dnsctl.ClassBug, "NOTZONE: a name is outside the zone")
	case z.refused:
		return fail(dnsctl.ClassAuth, "REFUSED: the key may not change this name")
	}
	for _, c := range changes {
		if !meets(found.at(c.Name, z.now()), c.Before) {
			return fail(dnsctl.ClassChanged, "NXRRSET: "+c.Name+" is not as it was when it was looked at")
		}
	}
	for _, c := range changes {
		found.put(c.Name, z.now(), dnsctl.Answer{Records: sortedSet(c.After.Records), Mark: c.After.Mark})
	}
	return nil
}

// Order says that the servers of the embedded world rotate.
func (z *Zones) Order(context.Context, dnsctl.Zone, string, string) (dnsctl.Order, error) {
	return dnsctl.OrderRotates, nil
}

// Edit is a change by hand: no prerequisites, and whatever mark is there stays.
func (z *Zones) Edit(name string, change func(dnsctl.RecordSet) dnsctl.RecordSet) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, found := range z.zones {
		if dnsctl.Under(found.Apex, name) {
			a := found.at(name, z.now())
			a.Records = change(a.Records)
			found.put(name, z.now(), a)
		}
	}
}

// Lag makes every secondary lag that far behind.
func (z *Zones) Lag(d time.Duration) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, found := range z.zones {
		for _, s := range found.Servers {
			found.lag[s] = d
		}
	}
}

// Refuse makes the primaries refuse updates, or take them again.
func (z *Zones) Refuse(yes bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refused = yes
}

// Ask is a resolver's question to the n-th server (any number); ok is false where no zone holds the name.
func (z *Zones) Ask(name string, n int) (set dnsctl.RecordSet, ok bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, found := range z.zones {
		if !dnsctl.Under(found.Apex, name) {
			continue
		}
		servers := append([]string{found.Primary}, found.Servers...)
		lag := found.lag[servers[n%len(servers)]]
		return found.at(name, z.now().Add(-lag)).Records, true
	}
	return dnsctl.RecordSet{}, false
}

// Dump prints every name of every zone, sorted: what a rollback is compared with. Marks are named by owner, and where
// sequences is set by their sequence too.
func (z *Zones) Dump(sequences bool) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	var lines []string
	for _, found := range z.zones {
		for name := range found.history {
			a := found.at(name, z.now())
			line := fmt.Sprintf("%s %s mark=%q", name, a.Records, a.Mark.Owner)
			if sequences {
				line += fmt.Sprintf(" seq=%d", a.Mark.Sequence)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (z *Zones) zone(apex string) *zone {
	for _, found := range z.zones {
		if found.Apex == apex {
			return found
		}
	}
	return nil
}

func (f *zone) at(name string, when time.Time) dnsctl.Answer {
	var out dnsctl.Answer
	for _, v := range f.history[name] {
		if v.at.After(when) {
			break
		}
		out = v.answer
	}
	return out
}

func (f *zone) put(name string, at time.Time, a dnsctl.Answer) {
	f.history[name] = append(f.history[name], version{at: at, answer: a})
}

// meets is RFC 2136 section 2.4.2: the sets are compared without their TTLs. A mark is a record as well.
func meets(live, before dnsctl.Answer) bool {
	return live.Foreign == "" && live.Mark.Equal(before.Mark) && live.Records.Alias == before.Records.Alias &&
		sameAddresses(live.Records.A, before.Records.A) && sameAddresses(live.Records.AAAA, before.Records.AAAA)
}

func sameAddresses(a, b dnsctl.RRset) bool {
	return slices.Equal(sortedAddresses(a.Addresses), sortedAddresses(b.Addresses))
}

func sortedAddresses(in []netip.Addr) []netip.Addr {
	out := slices.Clone(in)
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func sortedSet(r dnsctl.RecordSet) dnsctl.RecordSet {
	one := func(s dnsctl.RRset) dnsctl.RRset {
		if len(s.Addresses) == 0 {
			return dnsctl.RRset{}
		}
		return dnsctl.RRset{Addresses: sortedAddresses(s.Addresses), TTL: s.TTL}
	}
	return dnsctl.RecordSet{A: one(r.A), AAAA: one(r.AAAA), Alias: r.Alias}
}
