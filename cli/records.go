package cli

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/inventory"
)

// The bounds of asking name servers: names come from tenants.
const (
	// maxAskedNames of all zones together.
	maxAskedNames = 2000
	// maxAskTime for all servers, which are asked side by side.
	maxAskTime = time.Minute
	// maxFailures in a row after which a server is left alone.
	maxFailures = 3
)

// dnsMode says whether name servers are asked.
type dnsMode string

const (
	dnsAuto dnsMode = "auto"
	dnsOn   dnsMode = "on"
	dnsOff  dnsMode = "off"
)

// check tells a word that is none of them.
func (m dnsMode) check() error {
	if slices.Contains([]dnsMode{"", dnsAuto, dnsOn, dnsOff}, m) {
		return nil
	}
	return fmt.Errorf("--dns %s: is auto, on or off", m)
}

// readDNS asks the authoritative servers of the DNSZones for the names that may lead to an address.
func (a *app) readDNS(ctx context.Context, c *collection, wanted bool) {
	if !wanted || len(c.Zones) == 0 {
		return
	}
	c.readRecords(ctx, rfc2136.New(rfc2136.Options{Now: a.Now}))
}

// readRecords fills Records, and Names if every name of a Service was answered: a name that was not asked is not dead.
func (c *collection) readRecords(ctx context.Context, port dnsctl.Port) {
	ctx, stop := context.WithTimeout(ctx, maxAskTime)
	defer stop()
	look := newDNSLook(c, port)
	for range 2 { // the targets of aliases are asked in a second round
		look.ask(ctx)
	}
	slices.SortFunc(look.records, compareRecords)
	c.Records = append([]inventory.Record{}, look.records...)
	c.Unseen = append(c.Unseen, look.unseen()...)
	if live, whole := look.live(); whole {
		c.Names = live
	}
}

// dnsLook is one look at name servers.
type dnsLook struct {
	port    dnsctl.Port
	zones   []dnsctl.Zone
	affixes []affix
	// names to ask next, and those that were.
	next  []string
	asked map[string]bool
	// needed are the names of Services in a zone; skipped counts names for which there was no room.
	needed  []string
	skipped int

	mu      sync.Mutex
	records []inventory.Record
	// answers of the zones' primaries by name.
	answers map[string]dnsctl.RecordSet
	// failed says of each server that did not answer everything why.
	failed map[string]string
}

func newDNSLook(c *collection, port dnsctl.Port) *dnsLook {
	look := &dnsLook{
		port: port, affixes: affixesOf(c.Workloads), asked: map[string]bool{}, answers: map[string]dnsctl.RecordSet{}, failed: map[string]string{},
	}
	for _, z := range c.Zones {
		look.zones = append(look.zones, zoneOf(z))
	}
	for _, svc := range c.Services {
		if len(svc.Spec.ExternalIPs) > 0 {
			names := inventory.Candidates(svc)
			look.needed = append(look.needed, slices.DeleteFunc(slices.Clone(names), look.outside)...)
			look.add(names)
		}
	}
	look.add(otherNames(c))
	return look
}

// zoneOf is how to reach the zone of a DNSZone.
func zoneOf(z *v1alpha1.DNSZone) dnsctl.Zone {
	return dnsctl.Zone{
		Object: z.Name, Apex: strings.TrimSuffix(strings.ToLower(z.Spec.Zone), "."), Primary: z.Spec.Primary, Servers: z.Spec.Servers, Manual: true,
	}
}

func (l *dnsLook) outside(name string) bool {
	_, found := dnsctl.ZoneFor(name, l.zones)
	return !found
}

// add asks for names in the next round, each once.
func (l *dnsLook) add(names []string) {
	for _, name := range names {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		if l.asked[name] || l.outside(name) || dnsctl.ValidateName(name) != nil {
			continue
		}
		if len(l.asked) == maxAskedNames {
			l.skipped++
			continue
		}
		l.asked[name] = true
		l.next = append(l.next, name)
	}
}

// ask asks every server of every zone side by side for the names of this round.
func (l *dnsLook) ask(ctx context.Context) {
	names := map[string][]string{}
	for _, name := range l.next {
		zone, _ := dnsctl.ZoneFor(name, l.zones)
		names[zone.Object] = append(names[zone.Object], name)
	}
	l.next = nil
	var all sync.WaitGroup
	for _, zone := range l.zones {
		for _, server := range append([]string{zone.Primary}, zone.Servers...) {
			if len(names[zone.Object]) > 0 {
				all.Go(func() { l.askServer(ctx, zone, server, names[zone.Object]) })
			}
		}
	}
	all.Wait()
	for _, name := range slices.Sorted(maps.Keys(l.answers)) {
		if alias := l.answers[name].Alias; alias != "" {
			l.add([]string{alias})
		}
	}
}

// askServer asks one server name after name, and leaves it alone once it fails several times in a row.
func (l *dnsLook) askServer(ctx context.Context, zone dnsctl.Zone, server string, names []string) {
	failures := 0
	for i, name := range names {
		answer, err := l.port.Query(ctx, zone, server, name)
		if err != nil {
			l.fail(zone, server, len(names)-i, err)
			if failures++; failures == maxFailures || ctx.Err() != nil {
				return
			}
			continue
		}
		failures = 0
		if answer.External == "" && server == zone.Primary {
			answer.External = l.affixed(ctx, zone, server, name)
		}
		l.keep(zone, server, name, answer)
	}
}

func (l *dnsLook) fail(zone dnsctl.Zone, server string, open int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := server + " of DNSZone " + zone.Object
	if l.failed[key] == "" {
		l.failed[key] = fmt.Sprintf("%s: %v (%d names stayed open at most)", key, err, open)
	}
}

func (l *dnsLook) keep(zone dnsctl.Zone, server, name string, answer dnsctl.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if server == zone.Primary {
		l.answers[name] = answer.Records
	}
	l.records = append(l.records, recordsOf(server, name, answer)...)
}

// live maps every name that an authoritative primary answered to its addresses, behind aliases too; whole is false where a
// name of a Service stayed open.
func (l *dnsLook) live() (live map[string][]netip.Addr, whole bool) {
	live = map[string][]netip.Addr{}
	for name := range l.answers {
		if addresses, known := l.resolve(name); known {
			live[name] = addresses
		}
	}
	return live, !slices.ContainsFunc(l.needed, func(name string) bool { _, known := live[name]; return !known })
}

// resolve follows an alias where its target was answered.
func (l *dnsLook) resolve(name string) (addresses []netip.Addr, known bool) {
	records, known := l.answers[name]
	if known && records.Alias != "" {
		records, known = l.answers[records.Alias]
	}
	if !known || records.Alias != "" {
		return nil, false
	}
	return slices.Concat(records.A.Addresses, records.AAAA.Addresses), true
}

// unseen says what stayed open.
func (l *dnsLook) unseen() []inventory.Unseen {
	var out []inventory.Unseen
	for _, key := range slices.Sorted(maps.Keys(l.failed)) {
		out = append(out, inventory.Unseen{Kind: "DNS", Why: "name server " + l.failed[key]})
	}
	if l.skipped > 0 {
		out = append(out, inventory.Unseen{Kind: "DNS", Why: fmt.Sprintf("there are more than %d names, and %d were not asked for", maxAskedNames, l.skipped)})
	}
	return out
}
