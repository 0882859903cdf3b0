package observe

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func TestAliasesLeadToTheNameThatMovesAndGrantNothing(t *testing.T) {
	t.Parallel()
	old := netip.MustParseAddr("192.0.2.50")
	address := dnsctl.Answer{Records: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{old}, TTL: 60}}}
	alias := func(to string, ttl uint32) dnsctl.Answer {
		return dnsctl.Answer{Records: dnsctl.RecordSet{Alias: to}, AliasTTL: ttl}
	}
	dns := fakeDNS{
		"www.example.com": alias("cdn.example.com", 7200), "shop.example.com": alias("edge.example.com", 300),
		"cdn.example.com": alias("edge.example.com", 60), "edge.example.com": address,
		"out.example.com": alias("edge.example.net", 60), "theirs.example.com": alias("x.tenant.example.com", 60),
		"x.tenant.example.com": address, "round.example.com": alias("trip.example.com", 60), "trip.example.com": alias("round.example.com", 60),
	}
	edge := func(ttl uint32, aliases ...string) []dnsctl.Name {
		return []dnsctl.Name{{Name: "edge.example.com", Zone: "z", Snapshot: address.Records, Old: []netip.Addr{old}, Aliases: aliases, ChainTTL: ttl}}
	}
	for name, c := range map[string]struct {
		hostnames string
		want      []dnsctl.Name
		problem   bool
	}{
		"the end of the chain moves, and the largest TTL on the way counts": {hostnames: "www.example.com", want: edge(7200, "www.example.com")},
		"two aliases of one name are one name":                              {hostnames: "www.example.com,shop.example.com", want: edge(7200, "shop.example.com", "www.example.com")},
		"an alias and what it leads to are one name":                        {hostnames: "edge.example.com,shop.example.com", want: edge(300, "shop.example.com")},
		"an alias out of the zones does not move":                           {hostnames: "out.example.com"},
		"an alias to a name that another namespace was granted does not":    {hostnames: "theirs.example.com"},
		"aliases in a circle are a problem, not an absent name":             {hostnames: "round.example.com", problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLooker(Ports{DNS: dns, Now: func() time.Time { return noon }})
			var own []string
			for _, n := range []string{"www", "shop", "cdn", "edge", "out", "theirs", "round", "trip"} {
				own = append(own, n+".example.com")
			}
			zone := &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: v1alpha1.DNSZoneSpec{Zone: "example.com", Domains: []v1alpha1.DomainGrant{
				{Namespace: "shop", Suffixes: own}, {Namespace: "tenant", Suffixes: []string{"x.tenant.example.com"}},
			}}}
			w := &World{
				Policy: &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Zones: []string{"z"}}},
				Zones:  map[string]*v1alpha1.DNSZone{"z": zone},
			}
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{v1alpha1.AnnotationHostnames: c.hostnames}},
				Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.50"}},
			}
			got, _, problem := l.planNames(t.Context(), w, []*corev1.Service{svc}, nil)
			if !reflect.DeepEqual(got, c.want) || (problem != "") != c.problem {
				t.Errorf("got %+v, problem %q; want %+v", got, problem, c.want)
			}
		})
	}
}
