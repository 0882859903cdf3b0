// Package inventory says what depends on Service.spec.externalIPs, what to do about each, and why. It is pure: objects
// in, entry points and findings out, in a stable order. It never changes its input, and whatever a tenant wrote ends in a
// finding, never in a crash.
//
//	Services -> members (addresses, ports, names) -> groups (by name; by address where it stays) -> the choice -> findings -> verdict
package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// Cluster is everything the inventory looks at. A nil list means "not looked at", which is never "none": the findings
// that would need it are left out, and Unseen says what could not be seen.
type Cluster struct {
	Services       []*corev1.Service
	Nodes          []*corev1.Node
	EndpointSlices []*discoveryv1.EndpointSlice
	ServiceCIDRs   []*networkingv1.ServiceCIDR
	Gateways       []*gatewayv1.Gateway
	GatewayClasses []*gatewayv1.GatewayClass
	Policies       []*v1alpha1.MigrationPolicy
	Pools          []addresspool.Pool
	// APIServers are addresses of the API server (Endpoints of default/kubernetes, kubeconfig), NameServers of cluster DNS.
	APIServers, NameServers []netip.Addr
	// ProxyMode of kube-proxy, if known.
	ProxyMode v1alpha1.ProxyMode
	// Names maps a live DNS name to the addresses it answers; nil: DNS was not looked at (candidates come from annotations).
	Names map[string][]netip.Addr
	// Zones say which names a namespace may move; nil: not looked at, candidates stand unchecked.
	Zones []*v1alpha1.DNSZone
	// Unseen lists kinds that could not be read, with the reason.
	Unseen []Unseen
	Surroundings
}

// Unseen is a kind that could not be read.
type Unseen struct{ Kind, Why string }

// EntryPoint is one unit that moves, as the inventory sees it.
type EntryPoint struct {
	// Name is <ns>-<svc>-<hash8 of members>, see Name.
	Name string `json:"name"`
	// Addresses in canonical form, sorted; a value that is no address stands as written.
	Addresses []string `json:"addresses"`
	// Services as "ns/name", sorted.
	Services []string `json:"services"`
	// Ports as "TCP/80", sorted by protocol and number.
	Ports []string `json:"ports"`
	// Names are candidate DNS names (annotations) or, where DNS was looked at, the live ones.
	Names []string `json:"names,omitempty"`
	// DNS holds the live records that lead to the addresses, by name and type; empty where DNS was not looked at.
	DNS []Pointer `json:"dns,omitempty"`
	// Attraction says for each live address, in their order, who brings its packets.
	Attraction []Attracted `json:"attraction,omitempty"`
	// Policy that the members opted into, or "".
	Policy string `json:"policy,omitempty"`
	// Strategy, recommended even where the verdict is Blocked.
	Strategy v1alpha1.Strategy `json:"strategy"`
	// Why says, in one sentence, why this strategy was chosen.
	Why string `json:"why"`
	// Verdict sums up the findings.
	Verdict  Verdict            `json:"verdict"`
	Findings []v1alpha1.Finding `json:"findings"`
}

// Verdict of an entry point.
type Verdict string

// The verdicts.
const (
	Ready   Verdict = "Ready"
	Ask     Verdict = "Ask"
	Blocked Verdict = "Blocked"
	CleanUp Verdict = "CleanUp"
)

// Catalog is the result.
type Catalog struct {
	EntryPoints []EntryPoint `json:"entryPoints"`
	// Findings that belong to no entry point.
	Findings []v1alpha1.Finding `json:"findings,omitempty"`
	// Conflicts are addresses claimed twice or not a Service's to claim, the riskiest first.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Summary   Summary    `json:"summary"`
}

// Summary counts.
type Summary struct {
	Services        int `json:"services"`
	WithExternalIPs int `json:"withExternalIPs"`
	EntryPoints     int `json:"entryPoints"`
}

// Take takes the inventory of a cluster. The answer depends on the content of c alone, not on the order of its lists.
func Take(c Cluster) Catalog {
	services, doubles := unique(c.Services)
	w := look(c, services)
	members := w.members(services)
	w.addUsers(services, members, c.Gateways)
	groups := w.groups(members)
	catalog := Catalog{Findings: append(doubles, w.clusterFindings(c)...)}
	for _, g := range groups {
		catalog.EntryPoints = append(catalog.EntryPoints, w.entryPoint(g))
	}
	slices.SortFunc(catalog.EntryPoints, func(a, b EntryPoint) int { return strings.Compare(a.Name, b.Name) })
	sortFindings(catalog.Findings)
	catalog.Conflicts = w.conflictView(c.Audited)
	catalog.Summary = Summary{Services: len(services), WithExternalIPs: len(members), EntryPoints: len(groups)}
	return catalog
}

// entryPoint judges one group.
func (w *world) entryPoint(g *group) EntryPoint {
	keys := g.keys()
	return EntryPoint{
		Name:       Name(keys),
		Addresses:  g.addressTexts(),
		Services:   keys,
		Ports:      g.portTexts(),
		Names:      g.names(),
		DNS:        w.pointersTo(g.addresses()),
		Attraction: w.attraction(g),
		Policy:     g.policyName(),
		Strategy:   g.choice.strategy,
		Why:        g.choice.why,
		Findings:   w.judge(g),
	}.withVerdict(g.cleanUp() != "")
}

// withVerdict sums up: what blocks beats what asks, and both beat a field that can simply be removed.
func (e EntryPoint) withVerdict(inert bool) EntryPoint {
	has := func(s v1alpha1.Severity) bool {
		return slices.ContainsFunc(e.Findings, func(f v1alpha1.Finding) bool { return f.Severity == s })
	}
	switch {
	case has(v1alpha1.SeverityBlock):
		e.Verdict = Blocked
	case has(v1alpha1.SeverityAsk):
		e.Verdict = Ask
	case inert:
		e.Verdict = CleanUp
	default:
		e.Verdict = Ready
	}
	return e
}

// The parts of an entry point's name.
const (
	longestName = 253
	hashDigits  = 8
)

// Name is the name of an entry point with these members ("ns/name"): <ns>-<svc>-<hash8>, at most 253 characters, of the
// first member in order. The order and repetition of members do not matter. Characters that no object name may have are
// replaced by hyphens; the hash (SHA-256 of the members) tells such names apart.
func Name(members []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(members)))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	hash := hex.EncodeToString(sum[:])[:hashDigits]
	base := ""
	if len(sorted) > 0 {
		base = strings.Map(nameRune, strings.ToLower(sorted[0]))
	}
	base = strings.Trim(base[:min(len(base), longestName-hashDigits-1)], "-")
	if base == "" {
		return hash
	}
	return base + "-" + hash
}

// nameRune keeps what an RFC 1123 label may hold. A dot becomes a hyphen too, so that no label can be empty.
func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
