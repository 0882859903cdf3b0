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
// the namespace and whose live answer holds an old address. problem says that a look failed, so that nothing may be concluded.
func (l *Looker) planNames(
	ctx context.Context, w *World, services []*corev1.Service, s *migration.Snapshot,
) (names []dnsctl.Name, findings []v1alpha1.Finding, problem string) {
	if s != nil {
		return slices.Clone(s.Names), nil, ""
	}
	seen := map[string]bool{}
	for _, svc := range services {
		for _, name := range inventory.Candidates(svc) {
			if seen[name] || dnsctl.ValidateName(name) != nil {
				continue
			}
			seen[name] = true
			n, finding, trouble := l.candidate(ctx, w, svc, name, oldAddresses(services))
			if trouble != "" {
				return nil, findings, trouble
			}
			if finding != nil {
				findings = append(findings, *finding)
			}
			if n != nil {
				names = append(names, *n)
			}
		}
	}
	slices.SortFunc(names, func(a, b dnsctl.Name) int { return strings.Compare(a.Name, b.Name) })
	return names, findings, ""
}

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

// candidate judges one name of one member.
func (l *Looker) candidate(
	ctx context.Context, w *World, svc *corev1.Service, name string, old []netip.Addr,
) (n *dnsctl.Name, finding *v1alpha1.Finding, problem string) {
	zone, ok := dnsctl.ZoneFor(name, zones(w))
	if !ok {
		return nil, nameFinding(svc, name, inventory.ReasonNameOutsideZones, "lies in no DNSZone of the policy",
			"add the zone to spec.zones of the MigrationPolicy, or take the name off the annotation"), ""
	}
	if !granted(w.Zones[zone.Object], svc.Namespace, name) {
		return nil, nameFinding(svc, name, inventory.ReasonNameNotGranted, "is not granted to namespace "+svc.Namespace+" by DNSZone "+zone.Object,
			"an admin adds it to spec.domains of the DNSZone, or the tenant takes it off the annotation"), ""
	}
	answer, err := l.DNS.Query(ctx, zone, zone.Primary, name)
	if err != nil {
		return nil, nil, fmt.Sprintf("the primary %s of DNSZone %s could not be asked for %s: %v", zone.Primary, zone.Object, name, err)
	}
	held := slices.Concat(answer.Records.A.Addresses, answer.Records.AAAA.Addresses)
	var mine []netip.Addr
	for _, a := range old {
		if slices.Contains(held, a) {
			mine = append(mine, a)
		}
	}
	if len(mine) == 0 {
		return nil, nameFinding(svc, name, inventory.ReasonNameElsewhere, "holds none of the old addresses now ("+answer.Records.String()+")",
			"nothing to do: a name that does not point here is never touched"), ""
	}
	return &dnsctl.Name{Name: name, Zone: zone.Object, Snapshot: answer.Records, Old: mine}, nil, ""
}

func nameFinding(svc *corev1.Service, name, reason, message, fix string) *v1alpha1.Finding {
	return &v1alpha1.Finding{
		Reason: reason, Severity: v1alpha1.SeverityInform, Object: "Service " + svc.Namespace + "/" + svc.Name + " metadata.annotations",
		Message: "The name " + name + " " + message + ".", Fix: fix,
	}
}

func granted(z *v1alpha1.DNSZone, namespace, name string) bool {
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
		Manual: z.Spec.Mode == v1alpha1.ZoneModeManual,
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
		f.Names = append(f.Names, l.nameFacts(ctx, w, n))
	}
}

func (l *Looker) nameFacts(ctx context.Context, w *World, n dnsctl.Name) migration.NameFacts {
	z := w.Zones[n.Zone]
	if z == nil {
		why := "DNSZone " + n.Zone + " does not exist, or the policy no longer names it"
		return migration.NameFacts{Name: n, Servers: []migration.Seen[dnsctl.Answer]{migration.Unseen[dnsctl.Answer](why)}}
	}
	zone := ZoneOf(z)
	out := migration.NameFacts{Name: n, Manual: zone.Manual}
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
