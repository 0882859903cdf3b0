package migration

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
)

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func name(host string, ttl uint32, addresses ...string) dnsctl.Name {
	n := dnsctl.Name{Name: host, Zone: "example"}
	for _, a := range addrs(addresses...) {
		set := &n.Snapshot.A
		if a.Is6() {
			set = &n.Snapshot.AAAA
		}
		set.Addresses, set.TTL = append(set.Addresses, a), ttl
	}
	return n
}

func pool(name, first, last string) addresspool.Pool {
	return addresspool.Pool{
		Name: name, Namespace: "metallb-system", Announcers: []string{"L2Advertisement metallb-system/l2"},
		Ranges: []addresspool.Range{{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}},
	}
}

func member(name string, ports []corev1.ServicePort, addresses ...string) *corev1.Service {
	return service(func(s *corev1.Service) {
		s.Name, s.UID, s.Spec.Ports, s.Spec.ExternalIPs = name, types.UID("uid-"+name), ports, addresses
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	})
}

var (
	httpPort = corev1.ServicePort{Name: "web", Port: 80, AppProtocol: new("http"), Protocol: corev1.ProtocolTCP}
	mailPort = corev1.ServicePort{Name: "smtp", Port: 25}
	dnsPort  = corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}
)

// planInput is one dual-stack HTTP Service that moves to a Gateway.
func planInput(edit func(*PlanInput)) PlanInput {
	in := PlanInput{
		EntryPoint: &v1alpha1.EntryPoint{
			ObjectMeta: metav1.ObjectMeta{Name: "shop-web-12345678"},
			Spec:       v1alpha1.EntryPointSpec{Policy: "standard", Members: []v1alpha1.ServiceReference{{Namespace: "shop", Name: "web"}}},
		},
		Policy: &v1alpha1.MigrationPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "standard"},
			Spec: v1alpha1.MigrationPolicySpec{
				Namespaces: []string{"shop"}, Pools: []string{"v4", "v6"}, Zones: []string{"example"},
				Gateway: &v1alpha1.GatewaySettings{ClassName: "edge", Namespace: "gateways"},
			},
		},
		Services: []*corev1.Service{member("web", []corev1.ServicePort{httpPort}, "203.0.113.10", "2001:DB8:0::10")},
		Strategy: v1alpha1.StrategyGateway, Why: "it speaks HTTP",
		Names: []dnsctl.Name{name("www.example.com", 3600, "203.0.113.10", "198.51.100.1"), name("shop.example.com", 20, "2001:db8::10")},
		Pools: []addresspool.Pool{pool("v4", "192.0.2.0", "192.0.2.20"), pool("v6", "2001:db8:1::1", "2001:db8:1::9")},
		Profile: gateway.Profile{
			ControllerName: "example.com/edge", Binding: v1alpha1.BindingAnnotation, Routes: []string{"HTTPRoute", "TLSRoute", "TCPRoute"},
		},
		TCPRouteVersion: "v1", ProxyMode: v1alpha1.ProxyNFTables,
	}
	if edit != nil {
		edit(&in)
	}
	return in
}

func mustPlan(t *testing.T, in PlanInput) *Plan {
	t.Helper()
	p, findings := MakePlan(in)
	if p == nil {
		t.Fatalf("no plan: %+v", findings)
	}
	return p
}

func asLoadBalancer(in *PlanInput) {
	in.Strategy = v1alpha1.StrategyLoadBalancer
	in.EntryPoint.Spec.Members = append(in.EntryPoint.Spec.Members, v1alpha1.ServiceReference{Namespace: "shop", Name: "mail"})
	in.Services = append(in.Services, member("mail", []corev1.ServicePort{mailPort, dnsPort}, "203.0.113.25"))
	in.Names = append(in.Names, name("mail.example.com", 300, "203.0.113.25"))
}

func asAdopt(in *PlanInput) { in.Strategy = v1alpha1.StrategyAdopt }

func asStatic(in *PlanInput) {
	in.Policy.Spec.Gateway.Profile = v1alpha1.BindingStaticService
	in.Policy.Spec.Gateway.StaticService = &v1alpha1.ServiceReference{Namespace: "ingress", Name: "edge"}
	in.StaticAddresses = addrs("198.51.100.7", "2001:db8:2::7")
}

func TestAPlanClaimsOldAddressesForMembersAndNewOnesForTheTarget(t *testing.T) {
	t.Parallel()
	web := addresspool.Holder{Namespace: "shop", Name: "web", Ports: []string{"TCP/80"}}
	mail := addresspool.Holder{Namespace: "shop", Name: "mail", Ports: []string{"TCP/25", "UDP/53"}}
	parallel := []addresspool.Holder{
		{Namespace: "shop", Name: gateway.ServiceName("shop-web-12345678", "shop", "mail"), Ports: mail.Ports},
		{Namespace: "shop", Name: gateway.ServiceName("shop-web-12345678", "shop", "web"), Ports: web.Ports},
	}
	slices.SortFunc(parallel, func(a, b addresspool.Holder) int { return strings.Compare(a.Name, b.Name) })
	row := func(a string, role addresspool.Role, holders ...addresspool.Holder) addresspool.Claim {
		return addresspool.Claim{Address: netip.MustParseAddr(a), Role: role, EntryPoint: "shop-web-12345678", Holders: holders}
	}
	shared := func(c addresspool.Claim) addresspool.Claim {
		c.Listeners = []addresspool.Listener{{Port: "TCP/80", Protocol: "HTTP", Hostnames: []string{"shop.example.com", "www.example.com"}}}
		return c
	}
	generated := addresspool.Holder{Namespace: "gateways", Name: AnyHolder, Ports: web.Ports}
	static := addresspool.Holder{Namespace: "ingress", Name: "edge", Ports: web.Ports}
	for name, c := range map[string]struct {
		edit func(*PlanInput)
		want []addresspool.Claim
	}{
		"a Gateway's address is held by whatever its namespace generates": {nil, []addresspool.Claim{
			row("203.0.113.10", addresspool.Old, web), row("2001:db8::10", addresspool.Old, web),
			row("192.0.2.1", addresspool.New, generated), row("2001:db8:1::1", addresspool.New, generated),
		}},
		"a static Service's address is held by it and shared by hostname": {asStatic, []addresspool.Claim{
			row("203.0.113.10", addresspool.Old, web), row("2001:db8::10", addresspool.Old, web),
			shared(row("198.51.100.7", addresspool.New, static)), shared(row("2001:db8:2::7", addresspool.New, static)),
		}},
		"a parallel Service holds the new address, members hold their own old ones": {asLoadBalancer, []addresspool.Claim{
			row("203.0.113.10", addresspool.Old, web), row("203.0.113.25", addresspool.Old, mail), row("2001:db8::10", addresspool.Old, web),
			row("192.0.2.1", addresspool.New, parallel...), row("2001:db8:1::1", addresspool.New, parallel...),
		}},
		"an adopted address stays with its members": {asAdopt, []addresspool.Claim{
			row("203.0.113.10", addresspool.Adopted, web), row("2001:db8::10", addresspool.Adopted, web),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustPlan(t, planInput(c.edit)).Ledger(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// sharer is another entry point's row of the static Service's IPv4 address.
func sharer(l ...addresspool.Listener) []addresspool.Claim {
	return []addresspool.Claim{{
		Address: netip.MustParseAddr("198.51.100.7"), Role: addresspool.New, EntryPoint: "other-web-1",
		Holders: []addresspool.Holder{{Namespace: "ingress", Name: "edge"}}, Listeners: l,
	}}
}

func TestEntryPointsPlanTheSameStaticAddressWhereTheirUsesDoNotMeet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*PlanInput)
		// want is what the blocking finding says; "": a plan is made.
		want string
	}{
		"another one has other hostnames on the port": {func(in *PlanInput) {
			in.Ledger = sharer(addresspool.Listener{Port: "TCP/80", Protocol: "HTTP", Hostnames: []string{"other.example.com"}})
		}, ""},
		"another one has one of our hostnames on the port": {func(in *PlanInput) {
			in.Ledger = sharer(addresspool.Listener{Port: "TCP/80", Protocol: "HTTP", Hostnames: []string{"www.example.com"}})
		}, "hostname www.example.com at port TCP/80 on shared address 198.51.100.7 belongs to entry point other-web-1"},
		"another one has the whole port": {func(in *PlanInput) {
			in.Ledger = sharer(addresspool.Listener{Port: "TCP/80", Protocol: "TCP"})
		}, "port TCP/80 on shared address 198.51.100.7 belongs to entry point other-web-1"},
		"another one has a TCP port of ours": {func(in *PlanInput) {
			in.Services[0].Spec.Ports = append(in.Services[0].Spec.Ports, mailPort)
			in.Ledger = sharer(addresspool.Listener{Port: "TCP/25", Protocol: "TCP"})
		}, "port TCP/25 on shared address 198.51.100.7 belongs to entry point other-web-1"},
		"another one holds the address alone": {func(in *PlanInput) { in.Ledger = sharer() }, "is claimed by entry point other-web-1"},
		"another one only means to take the address": {func(in *PlanInput) {
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("198.51.100.7"), Object: "EntryPoint other-web-1"}}
		}, ""},
		"the static Service carries its address": {func(in *PlanInput) {
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("198.51.100.7"), Object: "Service ingress/edge", Ports: []string{"TCP/80"}}}
		}, ""},
		"a stranger carries the static Service's address": {func(in *PlanInput) {
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("198.51.100.7"), Object: "Service evil/web", Ports: []string{"TCP/80"}}}
		}, "Service evil/web uses 198.51.100.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := planInput(asStatic)
			c.edit(&in)
			plan, findings := MakePlan(in)
			at := slices.IndexFunc(findings, func(f v1alpha1.Finding) bool { return f.Severity == v1alpha1.SeverityBlock })
			switch {
			case c.want == "" && plan == nil:
				t.Errorf("no plan: %+v", findings)
			case c.want != "" && (plan != nil || at < 0 || !strings.Contains(strings.ToLower(findings[at].Message), strings.ToLower(c.want))):
				t.Errorf("findings %+v, want one that says %q", findings, c.want)
			}
		})
	}
}

func TestAPooledAddressIsNeverShared(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*PlanInput){"gateway": nil, "balancer": asLoadBalancer, "adopt": asAdopt} {
		for _, c := range mustPlan(t, planInput(edit)).Ledger() {
			if c.Shared() {
				t.Errorf("%s: %v is shared", name, c)
			}
		}
	}
}

func TestAStoredPlanSharesAsTheOneThatWasMade(t *testing.T) {
	t.Parallel()
	plan := mustPlan(t, planInput(asStatic))
	doc, err := EncodeDocument(plan)
	if err != nil {
		t.Fatal(err)
	}
	var stored Plan
	if err := DecodeDocument(doc, &stored); err != nil {
		t.Fatal(err)
	}
	if got, want := stored.Ledger(), plan.Ledger(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	stored.Objects = nil
	for _, c := range stored.Ledger() {
		if c.Shared() {
			t.Errorf("%v is shared, though nothing says what it serves", c)
		}
	}
}

func TestAPlanMovesOnlyTheOldMembersOfANameAndOnlyInTheirFamily(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planInput(nil))
	if len(p.Names) != 2 || p.Names[0].Name != "shop.example.com" || p.Names[1].Name != "www.example.com" {
		t.Fatalf("names %+v", p.Names)
	}
	shop, www := p.Names[0], p.Names[1]
	if !slices.Equal(shop.Old, addrs("2001:db8::10")) || !slices.Equal(shop.New, addrs("2001:db8:1::1")) || shop.LowTTL != 20 {
		t.Errorf("shop: old %v new %v low TTL %d", shop.Old, shop.New, shop.LowTTL)
	}
	if !slices.Equal(www.Old, addrs("203.0.113.10")) || !slices.Equal(www.New, addrs("192.0.2.1")) || www.LowTTL != 30 {
		t.Errorf("www: old %v new %v low TTL %d", www.Old, www.New, www.LowTTL)
	}
	if got := mustPlan(t, planInput(asAdopt)).Names; got != nil {
		t.Errorf("adoption moves names: %v", got)
	}
}

func TestAPlanChecksEveryOldAddressAndPortBesideTheNewAddressOfItsFamily(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planInput(asLoadBalancer))
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8:1::1")
	want := []Check{
		{Old: netip.MustParseAddr("203.0.113.10"), New: v4, Port: 80, Kind: "HTTP", Host: "www.example.com", Path: "/"},
		{Old: netip.MustParseAddr("203.0.113.25"), New: v4, Port: 25, Kind: "TCP"},
		{Old: netip.MustParseAddr("203.0.113.25"), New: v4, Port: 53, Kind: "UDP"},
		{Old: netip.MustParseAddr("2001:db8::10"), New: v6, Port: 80, Kind: "HTTP", Host: "shop.example.com", Path: "/"},
	}
	if !reflect.DeepEqual(p.Checks, want) {
		t.Errorf("got  %v\nwant %v", p.Checks, want)
	}
	for _, c := range mustPlan(t, planInput(asAdopt)).Checks {
		if c.Old != c.New {
			t.Errorf("adoption compares %s with %s", c.Old, c.New)
		}
	}
}

func TestAPlanIsAFunctionOfItsInput(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*PlanInput){"gateway": nil, "balancer": asLoadBalancer, "adopt": asAdopt, "static": asStatic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := planInput(edit)
			first := mustPlan(t, in)
			shuffled := planInput(edit)
			slices.Reverse(shuffled.Services)
			slices.Reverse(shuffled.Names)
			slices.Reverse(shuffled.Pools)
			slices.Reverse(shuffled.EntryPoint.Spec.Members)
			for i := range shuffled.Names {
				slices.Reverse(shuffled.Names[i].Snapshot.A.Addresses)
			}
			if a, b := HashPlan(first), HashPlan(mustPlan(t, shuffled)); a != b || a == "" {
				t.Errorf("hash %s, in another order %s", a, b)
			}
			if !reflect.DeepEqual(in, planInput(edit)) {
				t.Error("MakePlan changed its input")
			}
			checkStored(t, first)
		})
	}
}

// checkStored stores a plan and reads it back.
func checkStored(t *testing.T, p *Plan) {
	t.Helper()
	doc, err := EncodeDocument(p)
	if err != nil {
		t.Fatal(err)
	}
	read := &Plan{}
	if err := DecodeDocument(doc, read); err != nil || HashPlan(read) != HashPlan(p) {
		t.Errorf("stored and read back: %v, hash %s, want %s", err, HashPlan(read), HashPlan(p))
	}
	targets, err := read.Targets()
	if err != nil || len(targets) != len(p.Objects) {
		t.Errorf("%d targets of %d objects: %v", len(targets), len(p.Objects), err)
	}
}

func TestAnAdoptionWithNamesIsPlannedAnewAsRecorded(t *testing.T) {
	t.Parallel()
	first := mustPlan(t, planInput(asAdopt))
	if first.Checks[0].Host == "" {
		t.Fatal("the plan checks no name, so this test could not fail")
	}
	again := mustPlan(t, planInput(func(in *PlanInput) {
		asAdopt(in)
		in.Frozen, in.Names = first, nil // the snapshot holds no names, for none moves
	}))
	if HashPlan(first) != HashPlan(again) {
		t.Errorf("checks %v, then %v", first.Checks, again.Checks)
	}
}

func TestWhatAPlanReliesOnChangesItsHash(t *testing.T) {
	t.Parallel()
	base := HashPlan(mustPlan(t, planInput(nil)))
	for name, edit := range map[string]func(*PlanInput){
		"a selector":    func(in *PlanInput) { in.Services[0].Spec.Selector = map[string]string{"app": "other"} },
		"a target port": func(in *PlanInput) { in.Services[0].Spec.Ports[0].TargetPort.IntVal = 8080 },
		"a traffic policy": func(in *PlanInput) {
			in.Services[0].Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		},
		"a recreation": func(in *PlanInput) { in.Services[0].UID = "again" },
		"a spelling":   func(in *PlanInput) { in.Services[0].Spec.ExternalIPs[1] = "2001:db8::10" },
		"a window":     func(in *PlanInput) { in.Policy.Spec.Drain.WindowSeconds = new(int32(60)) },
		"a record":     func(in *PlanInput) { in.Names[0].Snapshot.A.TTL = 60 },
		"a pool":       func(in *PlanInput) { in.Pools[0] = pool("v4", "192.0.2.9", "192.0.2.9") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if HashPlan(mustPlan(t, planInput(edit))) == base {
				t.Error("the hash stayed")
			}
		})
	}
	quiet := planInput(func(in *PlanInput) {
		in.Services[0].Labels, in.Services[0].ResourceVersion = map[string]string{"x": "y"}, "99"
		in.Services[0].Status.Conditions = []metav1.Condition{{Type: "x"}}
	})
	if got := HashPlan(mustPlan(t, quiet)); got != base {
		t.Error("a label or a status changes the hash")
	}
}

func TestTheRecordedAddressIsKeptWhileItIsOursToKeep(t *testing.T) {
	t.Parallel()
	frozen := func(in *PlanInput) {
		in.Frozen = &Plan{Strategy: in.Strategy, NewAddresses: addrs("192.0.2.15", "2001:db8:1::5")}
	}
	own := func(object string) addresspool.Use {
		return addresspool.Use{Address: netip.MustParseAddr("192.0.2.15"), Object: object, Ports: []string{"TCP/80"}}
	}
	for name, c := range map[string]struct {
		edit func(*PlanInput)
		want string
	}{
		"it is free": {nil, "192.0.2.15"},
		"the generated Service of our Gateway uses it": {
			func(in *PlanInput) { in.Uses = []addresspool.Use{own("Service gateways/edge-7f")} }, "192.0.2.15",
		},
		"a stranger uses it": {func(in *PlanInput) { in.Uses = []addresspool.Use{own("Service else/x")} }, "192.0.2.1"},
		"the pool lost it":   {func(in *PlanInput) { in.Pools[0] = pool("v4", "192.0.2.1", "192.0.2.4") }, "192.0.2.1"},
		"another walk holds it": {func(in *PlanInput) {
			in.Ledger = []addresspool.Claim{{Address: netip.MustParseAddr("192.0.2.15"), Role: addresspool.New, EntryPoint: "other"}}
		}, "192.0.2.1"},
		"the policy dropped its pool": {func(in *PlanInput) {
			in.Policy.Spec.Pools = []string{"other", "v6"}
			in.Pools = append(in.Pools, pool("other", "198.51.100.40", "198.51.100.41"))
		}, "198.51.100.40"},
		"it was adopted before": {func(in *PlanInput) { in.Frozen.Strategy = v1alpha1.StrategyAdopt }, "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := planInput(frozen)
			if c.edit != nil {
				c.edit(&in)
			}
			if got := mustPlan(t, in).NewAddresses[0]; got != netip.MustParseAddr(c.want) {
				t.Errorf("new address %s, want %s", got, c.want)
			}
		})
	}
}

func TestNoPlanIsMadeAndTheFindingNamesTheWayOut(t *testing.T) {
	t.Parallel()
	for name, c := range blockedPlans() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, findings := MakePlan(planInput(c.edit))
			if p != nil {
				t.Fatalf("a plan was made; findings %+v", findings)
			}
			i := slices.IndexFunc(findings, func(f v1alpha1.Finding) bool { return f.Reason == c.reason })
			if i < 0 {
				t.Fatalf("no finding %s in %+v", c.reason, findings)
			}
			f := findings[i]
			if f.Severity != v1alpha1.SeverityBlock || f.Fix == "" || f.Message == "" || !strings.Contains(f.Object, c.object) {
				t.Errorf("finding %+v, want an object with %q", f, c.object)
			}
		})
	}
}

type blockedPlan struct {
	reason, object string
	edit           func(*PlanInput)
}

func blockedPlans() map[string]blockedPlan {
	out := blockedByPolicy()
	maps.Copy(out, blockedByServices())
	return out
}

func blockedByPolicy() map[string]blockedPlan {
	spec := func(f func(*v1alpha1.MigrationPolicySpec)) func(*PlanInput) {
		return func(in *PlanInput) { f(&in.Policy.Spec) }
	}
	const policy = "MigrationPolicy standard spec."
	type s = v1alpha1.MigrationPolicySpec
	return map[string]blockedPlan{
		"no entry point":     {FindingMemberMissing, "EntryPoint", func(in *PlanInput) { in.EntryPoint = nil }},
		"the policy is gone": {inventory.ReasonPolicyMissing, "spec.policy", func(in *PlanInput) { in.Policy = nil }},
		"no class":           {gateway.ReasonNoGatewaySettings, "spec.gateway", spec(func(p *s) { p.Gateway = nil })},
		"a class without a name": {
			gateway.ReasonNoGatewaySettings, "spec.gateway", spec(func(p *s) { p.Gateway.ClassName = "" }),
		},
		"nothing is known about the class": {
			gateway.ReasonUnknownGatewayClass, "GatewayClass edge", func(in *PlanInput) { in.Profile = gateway.Profile{} },
		},
		"no pool":                    {inventory.ReasonPoolMissing, policy + "pools", spec(func(p *s) { p.Pools = nil })},
		"a pool that does not exist": {inventory.ReasonPoolUnusable, policy + "pools", spec(func(p *s) { p.Pools = []string{"x"} })},
		"a pool of one family only":  {inventory.ReasonPoolUnusable, policy + "pools", spec(func(p *s) { p.Pools = []string{"v4"} })},
		"a pool of another namespace": {
			inventory.ReasonPoolUnusable, policy + "pools",
			func(in *PlanInput) { in.Pools[0].Namespaces = []string{"x"} },
		},
		"a pool that cannot be read": {
			inventory.ReasonPoolUnusable, policy + "pools",
			func(in *PlanInput) { in.Pools[0].Unreadable = "selector" },
		},
		"a pool that nobody announces": {inventory.ReasonPoolUnusable, policy + "pools", func(in *PlanInput) { in.Pools[0].Announcers = nil }},
		"an exhausted pool": {inventory.ReasonPoolUnusable, policy + "pools", func(in *PlanInput) {
			in.Pools[0] = pool("v4", "192.0.2.1", "192.0.2.1")
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("192.0.2.1"), Object: "Service a/b"}}
		}},
		"a name in a zone of others": {inventory.ReasonNameNotAllowed, "Name shop.example.com", spec(func(p *s) { p.Zones = nil })},
		"another namespace": {
			inventory.ReasonPolicyForbidsNamespace, "Service shop/web",
			spec(func(p *s) { p.Namespaces = []string{"x"} }),
		},
		"another strategy": {
			inventory.ReasonPolicyForbidsStrategy, policy + "strategies",
			spec(func(p *s) { p.Strategies = []v1alpha1.Strategy{v1alpha1.StrategyAdopt} }),
		},
		"a strategy that is none": {inventory.ReasonPolicyForbidsStrategy, "spec.strategy", func(in *PlanInput) { in.Strategy = "Magic" }},
		"nothing to move":         {FindingNothingToMove, "EntryPoint", func(in *PlanInput) { in.Strategy = v1alpha1.StrategyNone }},
		"shares that fall": {
			FindingBadShares, policy + "dns.sharePercents",
			spec(func(p *s) { p.DNS.SharePercents = []int32{50, 10, 100} }),
		},
		"a static Service of one family": {FindingFamilyMismatch, policy + "gateway.staticService", func(in *PlanInput) {
			asStatic(in)
			in.StaticAddresses = addrs("198.51.100.7")
		}},
		"adoption in ipvs mode": {
			inventory.ReasonIPVSMode, "EntryPoint",
			func(in *PlanInput) { asAdopt(in); in.ProxyMode = v1alpha1.ProxyIPVS },
		},
	}
}

func blockedByServices() map[string]blockedPlan {
	svc := func(f func(*corev1.Service)) func(*PlanInput) { return func(in *PlanInput) { f(in.Services[0]) } }
	adopted := func(f func(*corev1.Service)) func(*PlanInput) {
		return func(in *PlanInput) { asAdopt(in); f(in.Services[0]) }
	}
	const field, web = "Service shop/web spec.externalIPs", "Service shop/web"
	return map[string]blockedPlan{
		"a member is gone":    {FindingMemberMissing, web, func(in *PlanInput) { in.Services = nil }},
		"no address":          {FindingNothingToMove, "EntryPoint", svc(func(s *corev1.Service) { s.Spec.ExternalIPs = nil })},
		"a bracketed address": {inventory.ReasonBadAddress, field, svc(func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"[a b]"} })},
		"5,000 addresses": {
			inventory.ReasonTooManyAddresses, field,
			svc(func(s *corev1.Service) { s.Spec.ExternalIPs = make([]string, 5000) }),
		},
		"a family not served": {
			FindingFamilyMismatch, field,
			svc(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} }),
		},
		"no port":                {inventory.ReasonTooManyPorts, web, svc(func(s *corev1.Service) { s.Spec.Ports = nil })},
		"65 ports":               {inventory.ReasonTooManyPorts, web, svc(func(s *corev1.Service) { s.Spec.Ports = manyPorts(65) })},
		"port 0":                 {FindingBadPort, web, svc(func(s *corev1.Service) { s.Spec.Ports[0].Port = 0 })},
		"an unheard-of protocol": {FindingBadPort, web, svc(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = "QUIC" })},
		"64 ports on 9 addresses": {FindingPlanTooLarge, "EntryPoint", func(in *PlanInput) {
			asAdopt(in)
			in.Services[0].Spec.Ports, in.Services[0].Spec.ExternalIPs = manyPorts(64), nil
			for i := range 9 {
				in.Services[0].Spec.ExternalIPs = append(in.Services[0].Spec.ExternalIPs, fmt.Sprintf("203.0.113.%d", i+1))
			}
		}},
		"annotations of a megabyte": {FindingPlanTooLarge, "EntryPoint", svc(func(s *corev1.Service) {
			s.Annotations = map[string]string{"x": strings.Repeat("y", 1<<20)}
		})},
		"65 names":            {inventory.ReasonTooManyNames, "EntryPoint", func(in *PlanInput) { in.Names = make([]dnsctl.Name, 65) }},
		"a name that is none": {inventory.ReasonHostnameInvalid, "Name", func(in *PlanInput) { in.Names[0].Name = "a b" }},
		"an alias": {
			FindingNameCannotMove, "Name www.example.com",
			func(in *PlanInput) { in.Names[0].Snapshot.Alias = "cdn.example.net" },
		},
		"a name that answers the new address already": {FindingNameCannotMove, "Name www.example.com", func(in *PlanInput) {
			in.Names[0] = name("www.example.com", 60, "203.0.113.10", "192.0.2.1")
		}},
		"an old address of another walk": {inventory.ReasonAddressConflict, "AddressClaim 203.0.113.10", func(in *PlanInput) {
			in.Ledger = []addresspool.Claim{{Address: netip.MustParseAddr("203.0.113.10"), Role: addresspool.Old, EntryPoint: "other"}}
		}},
		"an old address in use by a stranger": {inventory.ReasonAddressConflict, "Service else/x", func(in *PlanInput) {
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("203.0.113.10"), Object: "Service else/x", Ports: []string{"TCP/80"}}}
		}},
		"a stranger in the Gateways' namespace": {inventory.ReasonAddressConflict, "Service gateways/x", func(in *PlanInput) {
			in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("203.0.113.10"), Object: "Service gateways/x", Ports: []string{"TCP/80"}}}
		}},
		"the pool holds the old address only": {inventory.ReasonPoolUnusable, "spec.pools", func(in *PlanInput) {
			in.Pools[0] = pool("v4", "203.0.113.10", "203.0.113.10")
		}},
		"a stranger in the Gateways' namespace, on an address that was ours to adopt": {
			inventory.ReasonAddressConflict, "Service gateways/x", func(in *PlanInput) {
				in.Frozen = &Plan{Strategy: v1alpha1.StrategyAdopt, NewAddresses: addrs("203.0.113.10")}
				in.Uses = []addresspool.Use{{Address: netip.MustParseAddr("203.0.113.10"), Object: "Service gateways/x"}}
			},
		},
		"the static Service has the old address": {inventory.ReasonAddressConflict, "EntryPoint", func(in *PlanInput) {
			asStatic(in)
			in.StaticAddresses[0] = netip.MustParseAddr("203.0.113.10")
		}},
		"adoption of a balancer": {
			FindingCannotAdopt, web + " spec.type",
			adopted(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }),
		},
		"adoption of a headless": {
			FindingCannotAdopt, web + " spec.type",
			adopted(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }),
		},
		"adoption of a CNAME": {
			FindingCannotAdopt, web + " spec.type",
			adopted(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }),
		},
	}
}

func manyPorts(n int) []corev1.ServicePort {
	out := make([]corev1.ServicePort, n)
	for i := range out {
		out[i] = corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i)}
	}
	return out
}

func TestFindingsThatAskOrInformComeBesideAPlan(t *testing.T) {
	t.Parallel()
	p, findings := MakePlan(planInput(func(in *PlanInput) {
		in.Strategy = v1alpha1.StrategyLoadBalancer
		in.Names = []dnsctl.Name{name("www.example.com", 60, "198.51.100.1")}
	}))
	var got []string
	for _, f := range findings {
		got = append(got, string(f.Severity)+" "+f.Reason)
	}
	if want := []string{"Inform NameNotLive", "Ask NoName"}; p == nil || len(p.Names) != 0 || !slices.Equal(got, want) {
		t.Errorf("plan %v, findings %v, want %v", p != nil, got, want)
	}
}

func TestAWildcardIsNoHostOfACheck(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planInput(func(in *PlanInput) { in.Names = append(in.Names, name("*.example.com", 60, "203.0.113.10")) }))
	if got := p.Checks[0].Host; got != "www.example.com" {
		t.Errorf("host %q, want www.example.com", got)
	}
}

func TestAdoptionNeedsNoName(t *testing.T) {
	t.Parallel()
	p, findings := MakePlan(planInput(func(in *PlanInput) { asAdopt(in); in.Names = nil }))
	if p == nil || len(findings) != 0 {
		t.Errorf("plan %v, findings %+v", p != nil, findings)
	}
}

func TestServicesThatAreNoMembersAreLeftAlone(t *testing.T) {
	t.Parallel()
	with := planInput(func(in *PlanInput) {
		in.Services = append(in.Services, nil, member("mail", []corev1.ServicePort{mailPort}, "203.0.113.25"))
	})
	if HashPlan(mustPlan(t, with)) != HashPlan(mustPlan(t, planInput(nil))) {
		t.Error("a Service that is no member changes the plan")
	}
}

func TestSettingsAreThePolicysNumbersOrTheDocumentedDefaults(t *testing.T) {
	t.Parallel()
	defaults := Settings{
		LowTTL: 30, Percents: []int32{50, 100}, StepSoak: 300, Soak: 600, DrainWindow: 3600, Attraction: v1alpha1.AttractionUnknown,
		Rounds: 3, ProbeInterval: 10, ProbeTimeout: 5, Vantages: []v1alpha1.Vantage{v1alpha1.VantagePod}, Recheck: 3600,
		OnFailure: v1alpha1.OnFailureShiftBack,
	}
	if got := SettingsFrom(nil); !reflect.DeepEqual(got, defaults) {
		t.Errorf("defaults: got %+v, want %+v", got, defaults)
	}
	p := &v1alpha1.MigrationPolicy{}
	p.Spec.SoakSeconds, p.Spec.Drain.WindowSeconds, p.Spec.DNS.SoakSeconds = new(int32(0)), new(int32(0)), new(int32(-5))
	p.Spec.Probes.Rounds, p.Spec.Probes.IntervalSeconds, p.Spec.DNS.LowTTLSeconds = new(int32(0)), new(int32(0)), new(int32(-1))
	want := defaults
	want.Soak, want.DrainWindow = 0, 0
	if got := SettingsFrom(p); !reflect.DeepEqual(got, want) {
		t.Errorf("zeros: got %+v, want %+v", got, want)
	}
	p.Spec.Probes.Rounds, p.Spec.Drain.MaxConnectionLifetimeSeconds = new(int32(7)), new(int32(86400))
	p.Spec.OnFailure, p.Spec.DNS.SharePercents = v1alpha1.OnFailureHold, []int32{100}
	want.Rounds, want.MaxLifetime, want.OnFailure, want.Percents = 7, 86400, v1alpha1.OnFailureHold, []int32{100}
	p.Spec.Probes.MustMatch, p.Spec.Probes.LatencyPercent = []v1alpha1.ProbeAspect{v1alpha1.AspectBody}, new(int32(300))
	want.MustMatch, want.LatencyPercent = []v1alpha1.ProbeAspect{v1alpha1.AspectBody}, 300
	if got := SettingsFrom(p); !reflect.DeepEqual(got, want) {
		t.Errorf("written: got %+v, want %+v", got, want)
	}
}
