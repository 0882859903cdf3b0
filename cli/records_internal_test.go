package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/inventory"
)

// answering is a set of name servers: answers by name, servers that are dead, and how often each was asked.
type answering struct {
	answers map[string]dnsctl.Answer
	dead    []string

	mu    sync.Mutex
	asked map[string]int
}

func (a *answering) Query(_ context.Context, zone dnsctl.Zone, server, name string) (dnsctl.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked = map[string]int{}
	}
	a.asked[server]++
	if slices.Contains(a.dead, server) || !dnsctl.Under(zone.Apex, name) {
		return dnsctl.Answer{}, errors.New("no answer")
	}
	return a.answers[name], nil
}

func (a *answering) Update(context.Context, dnsctl.Zone, []dnsctl.Change) error {
	return errors.New("an inventory writes nothing")
}

func addresses(texts ...string) dnsctl.Answer {
	set := dnsctl.RRset{TTL: 300}
	for _, text := range texts {
		set.Addresses = append(set.Addresses, netip.MustParseAddr(text))
	}
	return dnsctl.Answer{Records: dnsctl.RecordSet{A: set}}
}

func claimedBy(answer dnsctl.Answer, text string) dnsctl.Answer {
	answer.External = text
	return answer
}

// withNames is a collection of one zone with two servers and one Service that brings these names.
func withNames(names ...string) *collection {
	svc := &corev1.Service{ObjectMeta: metaOf("shop", "web"), Spec: corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}}}
	svc.Annotations = map[string]string{v1alpha1.AnnotationHostnames: strings.Join(names, ",")}
	zone := &v1alpha1.DNSZone{ObjectMeta: metaOf("", "example")}
	zone.Spec = v1alpha1.DNSZoneSpec{Zone: "example.test", Primary: "ns1:53", Servers: []string{"ns2:53"}}
	c := &collection{}
	c.Services, c.Zones = []*corev1.Service{svc}, []*v1alpha1.DNSZone{zone}
	return c
}

func TestNameServersAreAskedForTheNamesOfServices(t *testing.T) {
	t.Parallel()
	const heritage = "heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/web"
	alias := dnsctl.Answer{Records: dnsctl.RecordSet{Alias: "web.example.test"}}
	away := dnsctl.Answer{Records: dnsctl.RecordSet{Alias: "web.elsewhere.test"}}
	tests := map[string]struct {
		c       *collection
		port    *answering
		records []string
		names   string
		unseen  []string
	}{
		"every server is asked": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": addresses("192.0.2.1")}},
			records: []string{"A www.example.test@ns1:53 ", "A www.example.test@ns2:53 "}, names: "map[www.example.test:[192.0.2.1]]",
		},
		"a dead server is unseen, the others are read": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": addresses("192.0.2.1")}, dead: []string{"ns2:53"}},
			records: []string{"A www.example.test@ns1:53 "}, names: "map[www.example.test:[192.0.2.1]]", unseen: []string{"name server ns2:53 of DNSZone example: no answer"},
		},
		"without the primary no name is known to be dead": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": addresses("192.0.2.1")}, dead: []string{"ns1:53"}},
			records: []string{"A www.example.test@ns2:53 "}, names: "map[]", unseen: []string{"name server ns1:53 of DNSZone example: no answer"},
		},
		"a name that does not exist is answered": {c: withNames("www.example.test"), names: "map[www.example.test:[]]"},
		"a name of no zone is not asked":         {c: withNames("www.elsewhere.test"), names: "map[]"},
		"an alias leads to its target's addresses": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": alias, "web.example.test": addresses("192.0.2.1")}},
			records: []string{"A web.example.test@ns1:53 ", "A web.example.test@ns2:53 ", "CNAME www.example.test@ns1:53 ", "CNAME www.example.test@ns2:53 "},
			names:   "map[web.example.test:[192.0.2.1] www.example.test:[192.0.2.1]]",
		},
		"where an alias leads out of the zone its addresses are unknown": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": away}},
			records: []string{"CNAME www.example.test@ns1:53 ", "CNAME www.example.test@ns2:53 "}, names: "map[]",
		},
		"external-dns owns a name": {
			c: withNames("www.example.test"), port: &answering{answers: map[string]dnsctl.Answer{"www.example.test": claimedBy(addresses("192.0.2.1"), heritage)}},
			records: []string{"A www.example.test@ns1:53 external-dns (owner prod)", "A www.example.test@ns2:53 external-dns (owner prod)"}, names: "map[www.example.test:[192.0.2.1]]",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.port == nil {
				tc.port = &answering{}
			}
			tc.c.readRecords(t.Context(), tc.port)
			var records, unseen []string
			for _, r := range tc.c.Records {
				records = append(records, fmt.Sprintf("%s %s@%s %s", r.Type, r.Name, r.Server, r.Owner))
			}
			for _, u := range tc.c.Unseen {
				unseen = append(unseen, u.Why)
			}
			same(t, "records", records, tc.records)
			same(t, "unseen", unseen, tc.unseen)
			if got := fmt.Sprint(tc.c.Names); got != tc.names {
				t.Errorf("names %s, want %s", got, tc.names)
			}
		})
	}
}

func TestADeadServerIsLeftAloneSoon(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("n%d.example.test", i))
	}
	c, port := withNames(names...), &answering{dead: []string{"ns2:53"}}
	c.readRecords(t.Context(), port)
	if port.asked["ns2:53"] != maxFailures || port.asked["ns1:53"] != 60 {
		t.Errorf("asked %v; want the dead server %d times and the other 60", port.asked, maxFailures)
	}
}

func TestOwnershipIsFoundBehindTheAffixOfTheExternalDNSThatRuns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		at   string
	}{
		"a prefix":                      {[]string{"--txt-prefix=own-"}, "own-a-www.example.test"},
		"a prefix as its own argument":  {[]string{"--txt-prefix", "own-"}, "own-a-www.example.test"},
		"a prefix of the older format":  {[]string{"--txt-prefix=own-"}, "own-www.example.test"},
		"a prefix that holds the type":  {[]string{"--txt-prefix=own-%{record_type}-"}, "own-a-www.example.test"},
		"a prefix that is a domain":     {[]string{"--txt-prefix=_own."}, "_own.a-www.example.test"},
		"a suffix":                      {[]string{"--txt-suffix=-own"}, "a-www-own.example.test"},
		"a suffix and a type before it": {[]string{"--txt-suffix=-%{record_type}-own"}, "www-a-own.example.test"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withNames("www.example.test")
			c.Workloads = []inventory.Workload{{Kind: "Deployment", Containers: []inventory.Container{{Image: "registry.k8s.io/external-dns/external-dns:v0.20.0", Args: tc.args}}}}
			c.readRecords(t.Context(), &answering{answers: map[string]dnsctl.Answer{
				"www.example.test": addresses("192.0.2.1"), tc.at: claimedBy(dnsctl.Answer{}, "heritage=external-dns,external-dns/owner=o"),
			}})
			if len(c.Records) != 2 || c.Records[0].Owner != "external-dns (owner o)" {
				t.Errorf("records %+v, want the first to be owned by external-dns", c.Records)
			}
		})
	}
}

func TestOtherFlagsOfDNSAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := (&app{}).collectFilesAnd(t.Context(), nil, sources{dns: "maybe"}); err == nil || !strings.Contains(err.Error(), "auto, on or off") {
		t.Errorf("got %v, want an error that names the words", err)
	}
}
