package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// planNames finds the names that may move: during a walk the snapshot's; before it every candidate that a zone grants to
// the namespace and whose live answer holds an old address. problem says that a look failed, so that nothing may be
// concluded; what is granted to nobody or points elsewhere is left to the inventory's findings.
func (l *Looker) planNames(
	ctx context.Context, w *World, services []*corev1.Service, s *migration.Snapshot,
) (names []dnsctl.Name, live map[string][]netip.Addr, problem string) {
	live = map[string][]netip.Addr{}
	if s != nil {
		for _, n := range s.Names {
			for _, name := range append(slices.Clone(n.Aliases), n.Name) {
				live[name] = held(n.Snapshot)
			}
		}
		return slices.Clone(s.Names), live, ""
	}
	for _, svc := range services {
		for _, name := range inventory.Candidates(svc) {
			if _, done := live[name]; done {
				continue
			}
			n, err := l.candidate(ctx, w, svc, name, oldAddresses(services))
			if err != nil {
				return nil, nil, err.Error()
			}
			live[name] = held(n.Snapshot)
			if len(n.Old) > 0 {
				live[n.Name] = live[name]
				names = withName(names, n)
			}
		}
	}
	slices.SortFunc(names, func(a, b dnsctl.Name) int { return strings.Compare(a.Name, b.Name) })
	return names, live, ""
}

func held(r dnsctl.RecordSet) []netip.Addr { return slices.Concat(r.A.Addresses, r.AAAA.Addresses) }

func oldAddresses(services []*corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, s := range services {
		for _, text := range s.Spec.ExternalIPs {
			if a, _, err := addresspool.Canonical(text); err == nil && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// withName adds a name; where it is there already, as the end of another alias, the two are one.
func withName(names []dnsctl.Name, n dnsctl.Name) []dnsctl.Name {
	at := slices.IndexFunc(names, func(o dnsctl.Name) bool { return o.Name == n.Name })
	if at < 0 {
		return append(names, n)
	}
	same := &names[at]
	same.Aliases = append(same.Aliases, n.Aliases...)
	slices.Sort(same.Aliases)
	same.Aliases = slices.Compact(same.Aliases)
	same.ChainTTL = max(same.ChainTTL, n.ChainTTL)
	return names
}

// maxChain is how many CNAMEs in a row are followed; resolvers give up soon after.
const maxChain = 8

// candidate looks at one name of one member, and follows aliases to the name that holds addresses. Every name on the way must
// be granted to the namespace: an alias that a tenant may write gives no right to what it leads to. Old is empty where the
// name may not or need not move.
func (l *Looker) candidate(
	ctx context.Context, w *World, svc *corev1.Service, name string, old []netip.Addr,
) (dnsctl.Name, error) {
	n := dnsctl.Name{Name: name}
	for range maxChain {
		zone, ok := dnsctl.ZoneFor(n.Name, zones(w))
		if !ok || !granted(w.Zones[zone.Object], svc.Namespace, n.Name) {
			return dnsctl.Name{Name: name}, nil
		}
		answer, err := l.DNS.Query(ctx, zone, zone.Primary, n.Name)
		if err != nil {
			return n, fmt.Errorf("the primary %s of DNSZone %s could not be asked for %s: %w", zone.Primary, zone.Object, n.Name, err)
		}
		if answer.Records.Alias == "" {
			n.Zone, n.Snapshot, n.Old = zone.Object, answer.Records, among(old, held(answer.Records))
			return n, nil
		}
		n.Aliases, n.ChainTTL = []string{name}, max(n.ChainTTL, answer.AliasTTL)
		n.Name = answer.Records.Alias
	}
	return n, fmt.Errorf("name %s: more than %d aliases in a row, or a circle: point it at a name with addresses", name, maxChain)
}

// among keeps of old what is there.
func among(old, there []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range old {
		if slices.Contains(there, a) {
			out = append(out, a)
		}
	}
	return out
}

func granted(z *v1alpha1.DNSZone, namespace, name string) bool {
	if err := dnsctl.ValidateName(name); err != nil {
		return false
	}
	for _, d := range z.Spec.Domains {
		if d.Namespace == namespace && dnsctl.Permits(d.Suffixes, name) {
			return true
		}
	}
	return false
}

// ZoneOf is how to reach the zone of a DNSZone object.
func ZoneOf(z *v1alpha1.DNSZone) dnsctl.Zone {
	return dnsctl.Zone{
		Object: z.Name, Apex: strings.TrimSuffix(strings.ToLower(z.Spec.Zone), "."), Primary: z.Spec.Primary, Servers: z.Spec.Servers,
		Manual: z.Spec.Mode == v1alpha1.ZoneModeManual, ExternalPrefix: z.Spec.ExternalDNSPrefix, ExternalSuffix: z.Spec.ExternalDNSSuffix,
	}
}

func zones(w *World) []dnsctl.Zone {
	var out []dnsctl.Zone
	for _, name := range w.Policy.Spec.Zones {
		if z := w.Zones[name]; z != nil {
			out = append(out, ZoneOf(z))
		}
	}
	return out
}

// names asks every server for every name of the plan. A zone that is gone makes all of its servers unknown.
func (l *Looker) names(ctx context.Context, w *World, plan *migration.Plan, f *migration.Facts) {
	if plan == nil || !f.Record.Exists {
		return
	}
	for _, n := range plan.Names {
		facts := l.nameFacts(ctx, w, n)
		if z := w.Zones[n.Zone]; z != nil && !facts.Manual && dnsctl.NeedsOrder(plan.Settings.Percents) {
			facts.Rotates = l.rotates(ctx, ZoneOf(z), n.Name)
		}
		f.Names = append(f.Names, facts)
	}
}

// rotates tells whether every server gives the addresses of a set in changing order. One that could not be asked, or has no
// set of two to show, leaves it unknown; one that does not rotate settles it.
func (l *Looker) rotates(ctx context.Context, zone dnsctl.Zone, name string) migration.Seen[bool] {
	port, ok := l.DNS.(dnsctl.Orderer)
	if !ok {
		return migration.Unseen[bool]("this controller cannot ask for it")
	}
	out := migration.See(true)
	for _, server := range append([]string{zone.Primary}, zone.Servers...) {
		switch order, err := port.Order(ctx, zone, server, name); {
		case err != nil:
			out = migration.Unseen[bool](err.Error())
		case order == dnsctl.OrderUnknown:
			out = migration.Unseen[bool](server + " has no set of two addresses or name servers to show: add a second NS record")
		case order == dnsctl.OrderFixed:
			return migration.Seen[bool]{Known: true, Why: server + " gives addresses always in the same order; " +
				"let it rotate (Knot: answer-rotation, BIND: rrset-order)"}
		}
	}
	return out
}

func (l *Looker) nameFacts(ctx context.Context, w *World, n dnsctl.Name) migration.NameFacts {
	z := w.Zones[n.Zone]
	if z == nil {
		why := "DNSZone " + n.Zone + " does not exist, or the policy no longer names it"
		return migration.NameFacts{Name: n, Servers: []migration.Seen[dnsctl.Answer]{migration.Unseen[dnsctl.Answer](why)}}
	}
	zone := ZoneOf(z)
	out := migration.NameFacts{Name: n, Manual: zone.Manual, At: zone}
	for _, server := range append([]string{zone.Primary}, zone.Servers...) {
		answer, err := l.DNS.Query(ctx, zone, server, n.Name)
		if err != nil {
			out.Servers = append(out.Servers, migration.Unseen[dnsctl.Answer](server+": "+err.Error()))
			continue
		}
		out.Servers = append(out.Servers, migration.See(answer))
	}
	return out
}
