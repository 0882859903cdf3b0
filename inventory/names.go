package inventory

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// MaxNames is how many names one Service may bring.
const MaxNames = 64

// externalDNSPrefixes are both prefixes of external-dns: it changed its own without reading the old one.
func externalDNSPrefixes() []string {
	return []string{"external-dns.alpha.kubernetes.io/", "external-dns.kubernetes.io/"}
}

// candidates reads the names that annotations bring, sorted, and the texts that are no names. They grant nothing.
func candidates(svc *corev1.Service) (names, bad []string) {
	texts := []string{svc.Annotations[v1alpha1.AnnotationHostnames]}
	for _, prefix := range externalDNSPrefixes() {
		texts = append(texts, svc.Annotations[prefix+"hostname"])
	}
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if name, ok := hostname(text); ok {
			names = append(names, name)
		} else {
			bad = append(bad, text)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), bad
}

// hostname is the name in lower case without trailing dot, if it is one that DNS, Gateways and certificates all take: at
// least two labels of letters, digits and inner hyphens, 253 characters; the first label may be "*".
func hostname(text string) (string, bool) {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	labels := strings.Split(name, ".")
	if len(name) > 253 || len(labels) < 2 {
		return "", false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", false
	}
	for i, label := range labels {
		if !isLabel(label) && (i > 0 || label != "*") {
			return "", false
		}
	}
	return name, true
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(label, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// under tells whether name equals the domain or lies under it, at a label border.
func under(name, domain string) bool {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	return domain != "" && (name == domain || strings.HasSuffix(name, "."+domain))
}

// granted tells whether a zone lets the namespace move the name. A policy narrows the zones to its own.
func (w *world) granted(name, namespace string, policy *v1alpha1.MigrationPolicy) bool {
	if w.zones == nil {
		return true
	}
	return slices.ContainsFunc(w.zones, func(z *v1alpha1.DNSZone) bool {
		if z == nil || policy != nil && !slices.Contains(policy.Spec.Zones, z.Name) || !under(name, z.Spec.Zone) {
			return false
		}
		return slices.ContainsFunc(z.Spec.Domains, func(g v1alpha1.DomainGrant) bool {
			return g.Namespace == namespace && slices.ContainsFunc(g.Suffixes, func(s string) bool { return under(name, s) })
		})
	})
}

// resolveNames decides which names belong to each member. Where DNS was looked at, a name belongs to one only while it
// answers with one of its addresses. Members that bring candidates get those; a member that brings none gets the names that
// answer with its addresses by themselves, unless another Service brings them: two unrelated Services may share an address
// on different ports, and a shared address joins nothing that moves.
func (w *world) resolveNames(members []*member) {
	brought := map[string]bool{}
	for _, m := range members {
		found, bad := candidates(m.svc)
		m.badNames, m.tooManyNames = bad, len(found)
		w.keepNames(m, found[:min(len(found), MaxNames)])
		for _, name := range m.names {
			brought[name] = true
		}
	}
	for _, m := range members {
		if m.tooManyNames == 0 && m.cleanUp == "" {
			w.keepNames(m, w.namesOf(m.addresses, brought))
		}
	}
}

// keepNames keeps what is granted and live. A field that can simply go moves no name.
func (w *world) keepNames(m *member, found []string) {
	if m.cleanUp != "" {
		return
	}
	for _, name := range found {
		switch {
		case !w.granted(name, namespaceOf(m), m.policy):
			m.refusedNames = append(m.refusedNames, name)
		case w.names != nil && !slices.ContainsFunc(w.names[name], func(a netip.Addr) bool { return m.has(a.Unmap()) }):
			m.deadNames = append(m.deadNames, name)
		default:
			m.names = append(m.names, name)
		}
	}
}

// namesOf are the live names that answer with one of the addresses, sorted, without those that another Service brings.
func (w *world) namesOf(addresses []netip.Addr, brought map[string]bool) []string {
	var out []string
	for _, a := range addresses {
		for _, name := range w.namesByAddress[a] {
			if !brought[name] {
				out = append(out, name)
			}
		}
		if len(out) > MaxNames {
			break
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), MaxNames)]
}
