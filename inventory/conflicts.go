package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"offramp.dev/addresspool"
)

// conflictView looks at every address that the field holds, or that somebody tried to write into it, and ranks what is
// wrong by who can be hurt.
func (w *world) conflictView(audited []Audited) []Conflict {
	claims := claimsOf(audited)
	addresses := map[netip.Addr]bool{}
	for a := range w.users {
		addresses[a] = true
	}
	for a := range claims {
		addresses[a] = true
	}
	var out []Conflict
	for a := range addresses {
		out = append(out, w.conflictsAt(a, claims[a])...)
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(riskRank(a.Risk), riskRank(b.Risk)), compareTexts(a.Address, b.Address), strings.Compare(a.Reason, b.Reason))
	})
	return out
}

func riskRank(r Risk) int {
	return slices.Index([]Risk{RiskCritical, RiskHigh, RiskMedium, RiskLow}, r)
}

// compareTexts orders canonical addresses as addresses.
func compareTexts(a, b string) int {
	x, _ := netip.ParseAddr(a)
	y, _ := netip.ParseAddr(b)
	return x.Compare(y)
}

// conflictsAt are the conflicts about one address, each with who holds it and who claimed it when.
func (w *world) conflictsAt(a netip.Addr, claims []Claim) []Conflict {
	services := w.fieldHolders(a)
	first, later := split(claims)
	var out []Conflict
	add := func(risk Risk, reason, message, fix string) {
		out = append(out, Conflict{
			Address: a.String(), Risk: risk, Reason: reason, Message: message, Fix: fix,
			Services: services[:min(len(services), MaxClaims)], First: first, Later: later,
		})
	}
	if len(services) > 0 {
		w.notItsOwn(add, a, services)
		w.shared(add, a, services)
	}
	if i := slices.IndexFunc(claims, func(c Claim) bool { return c.Denied }); i >= 0 {
		add(RiskMedium, ReasonClaimDenied, fmt.Sprintf("User %s tried to write %s into Service %s and was refused.", quote(claims[i].User), a,
			quote(claims[i].Service)), "See whether that user still needs an address, and give one from a pool.")
	}
	return out
}

// fieldHolders are the Services that hold a by the field, as "ns/name", sorted.
func (w *world) fieldHolders(a netip.Addr) []string {
	out := []string{}
	for _, u := range w.users[a] {
		if u.byField[a] {
			out = append(out, strings.TrimPrefix(u.object, "Service "))
		}
	}
	slices.Sort(out)
	return out
}

// notItsOwn finds addresses that are somebody else's.
func (w *world) notItsOwn(add func(risk Risk, reason, message, fix string), a netip.Addr, services []string) {
	held := " It is an externalIP of " + some(services) + "."
	if b := w.forbidden(a); b.reason != "" {
		risk := RiskCritical
		if special(a).reason != "" {
			risk = RiskMedium
		}
		add(risk, b.reason, b.message+held, b.fix)
		return
	}
	if n, ok := w.nodes[a]; ok {
		add(RiskMedium, ReasonNodeAddress, fmt.Sprintf("%s is an address of node %s.%s", a, n.name, held),
			"Who may write the field may take over ports of that node: keep the field behind an admission policy until it is gone.")
		return
	}
	if w.poolsSeen && len(w.pools) > 0 && !slices.ContainsFunc(w.pools, func(p poolView) bool { return p.Contains(a) }) {
		add(RiskLow, ReasonOutsidePools, fmt.Sprintf("%s lies in no pool, so no admin has given it out.%s", a, held),
			"Ask whose address it is; give the application one from a pool, or adopt it knowingly.")
	}
}

// shared finds addresses that several hold. On one port chance, or whoever came last, decides who gets a connection.
func (w *world) shared(add func(risk Risk, reason, message, fix string), a netip.Addr, services []string) {
	namespaces := namespacesOf(services)
	objects, ports := w.meeting(a, services)
	switch {
	case len(objects) > 0:
		risk := RiskLow
		if len(namespacesAnd(namespaces, objects)) > 1 {
			risk = RiskHigh
		}
		add(risk, ReasonAddressConflict, fmt.Sprintf("%s is served on %s by more than one: %s.", a, some(ports), some(objects)),
			"Take the address or the port out of all but one of them.")
	case len(namespaces) > 1:
		add(RiskMedium, ReasonSharedAddress, fmt.Sprintf("%s is used by several namespaces (%s) on different ports.", a, some(namespaces)),
			"Give each an address of its own; until then one can take ports that another will need.")
	}
}

// meeting are the objects that meet on a port of the address, and those ports. A Gateway and the Service that was made for
// it do not meet.
func (w *world) meeting(a netip.Addr, services []string) (objects, ports []string) {
	clashes := w.clashes(a)
	for _, key := range services {
		got, ok := clashes["Service "+key]
		if !ok {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(got.others), func(o string) bool { return ownGateway(w.carried[key], o) })
		if len(others) > 0 {
			objects, ports = append(append(objects, "Service "+key), others...), append(ports, got.ports...)
		}
	}
	slices.Sort(objects)
	slices.Sort(ports)
	return slices.Compact(objects), slices.Compact(ports)
}

func namespacesOf(services []string) []string {
	var out []string
	for _, key := range services {
		ns, _, _ := strings.Cut(key, "/")
		out = append(out, ns)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namespacesAnd adds the namespaces of objects such as "Gateway infra/edge"; more than a few make no difference.
func namespacesAnd(namespaces, objects []string) []string {
	for _, object := range objects {
		_, key, _ := strings.Cut(object, " ")
		if ns, _, ok := strings.Cut(key, "/"); ok && !slices.Contains(namespaces, ns) && len(namespaces) <= MaxClaims {
			namespaces = append(namespaces, ns)
		}
	}
	return namespaces
}

// claimsOf are the claims of each address in order of time.
func claimsOf(audited []Audited) map[netip.Addr][]Claim {
	out := map[netip.Addr][]Claim{}
	for _, e := range audited {
		for _, text := range e.Addresses {
			if a, _, err := addresspool.Canonical(text); err == nil {
				out[a] = append(out[a], Claim{At: e.At, User: e.User, Service: e.Service, Denied: e.Denied})
			}
		}
	}
	for a, list := range out {
		slices.SortFunc(list, func(x, y Claim) int {
			return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Service, y.Service), strings.Compare(x.User, y.User))
		})
		out[a] = list
	}
	return out
}

// split tells the first claim that was granted from those of others after it, and from refused ones.
func split(claims []Claim) (first *Claim, later []Claim) {
	i := slices.IndexFunc(claims, func(c Claim) bool { return !c.Denied })
	for j := range claims {
		c := claims[j]
		switch {
		case j == i:
			first = &c
		case c.Denied || c.Service != claims[max(i, 0)].Service:
			if len(later) < MaxClaims {
				later = append(later, c)
			}
		}
	}
	return first, later
}
