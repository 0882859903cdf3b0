package inventory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"offramp.dev/api/v1alpha1"
)

// web is a Service with a name, as tests need it.
func web(name, hostname string, addresses ...string) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	svc.Spec.ExternalIPs = addresses
	svc.Spec.Selector = map[string]string{"app": name}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}
	if hostname != "" {
		svc.Annotations = map[string]string{v1alpha1.AnnotationHostnames: hostname}
	}
	return svc
}

func only(t *testing.T, c Cluster) EntryPoint {
	t.Helper()
	got := Take(c)
	if len(got.EntryPoints) != 1 {
		t.Fatalf("%d entry points, want 1", len(got.EntryPoints))
	}
	return got.EntryPoints[0]
}

func count(e EntryPoint, reason string) int {
	n := 0
	for _, f := range e.Findings {
		if f.Reason == reason {
			n++
		}
	}
	return n
}

func TestTakeOfNothingIsNothingAndSaysWhatWasNotSeen(t *testing.T) {
	t.Parallel()
	got := Take(Cluster{Unseen: []Unseen{{Kind: "Node", Why: "forbidden"}}})
	if len(got.EntryPoints) != 0 || got.Summary != (Summary{}) {
		t.Errorf("%+v", got)
	}
	var kinds []string
	for _, f := range got.Findings {
		kinds = append(kinds, f.Object)
		if f.Reason != ReasonUnseen || f.Object == "Node" && !strings.Contains(f.Message, "forbidden") {
			t.Errorf("%+v", f)
		}
	}
	want := []string{
		"API server address", "ConfigMap of the cluster", "DNS", "EndpointSlice", "Gateway", "IPAddressPool", "Ingress",
		"MigrationPolicy", "NetworkPolicy", "Node", "Object of another project", "ServiceCIDR", "Workload",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("unseen %v, want %v", kinds, want)
	}
}

func TestTakeDoesNotDependOnTheOrderOfTheInputNorChangeIt(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"C12-partial-opt-in", "X09-conflict", "X15-names", "X20-pools", "X24-several-at-once",
		"C18-two-node-addresses-behind-one-name", "C27-cilium-without-kube-proxy", "X33-records", "X34-conflicts-ranked", "X35-settings-of-kubeadm",
		"X36-readers-of-the-field", "X37-endpoints-of-somebody-else", "S24-operators-with-a-service-in-their-object", "C36-two-announcers",
	} {
		c := readCluster(t, "testdata/cases/"+path+".in.yaml")
		before := mustJSON(t, c)
		want := Take(c)
		if got := mustJSON(t, c); got != before {
			t.Errorf("%s: the input was changed", path)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			random.Shuffle(len(c.Services), func(i, j int) { c.Services[i], c.Services[j] = c.Services[j], c.Services[i] })
			random.Shuffle(len(c.Nodes), func(i, j int) { c.Nodes[i], c.Nodes[j] = c.Nodes[j], c.Nodes[i] })
			random.Shuffle(len(c.Pools), func(i, j int) { c.Pools[i], c.Pools[j] = c.Pools[j], c.Pools[i] })
			random.Shuffle(len(c.Workloads), func(i, j int) { c.Workloads[i], c.Workloads[j] = c.Workloads[j], c.Workloads[i] })
			random.Shuffle(len(c.Others), func(i, j int) { c.Others[i], c.Others[j] = c.Others[j], c.Others[i] })
			random.Shuffle(len(c.ConfigMaps), func(i, j int) { c.ConfigMaps[i], c.ConfigMaps[j] = c.ConfigMaps[j], c.ConfigMaps[i] })
			random.Shuffle(len(c.Records), func(i, j int) { c.Records[i], c.Records[j] = c.Records[j], c.Records[i] })
			random.Shuffle(len(c.Audited), func(i, j int) { c.Audited[i], c.Audited[j] = c.Audited[j], c.Audited[i] })
			random.Shuffle(len(c.EndpointSlices), func(i, j int) {
				c.EndpointSlices[i], c.EndpointSlices[j] = c.EndpointSlices[j], c.EndpointSlices[i]
			})
			random.Shuffle(len(c.Zones), func(i, j int) { c.Zones[i], c.Zones[j] = c.Zones[j], c.Zones[i] })
			if got := Take(c); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: another order gives another answer:\n%s\n%s", path, mustJSON(t, got), mustJSON(t, want))
			}
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestNilObjectsAreNoObjects(t *testing.T) {
	t.Parallel()
	c := readCluster(t, "testdata/cases/X15-names.in.yaml")
	want := Take(c)
	c.Services, c.Nodes = append(c.Services, nil), append(c.Nodes, nil)
	c.Policies, c.Zones = append(c.Policies, nil), append(c.Zones, nil)
	if got := Take(c); !reflect.DeepEqual(got, want) {
		t.Errorf("nil objects change the answer:\n%s\n%s", mustJSON(t, got), mustJSON(t, want))
	}
}

func TestFiveThousandAddressesAreOneFindingNotFiveThousand(t *testing.T) {
	t.Parallel()
	svc := web("web", "www.example.com")
	for i := range 5000 {
		svc.Spec.ExternalIPs = append(svc.Spec.ExternalIPs, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String(),
			fmt.Sprintf("bad-%d", i))
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/16"}}
	e := only(t, Cluster{Services: []*corev1.Service{svc}, Nodes: []*corev1.Node{node}})
	if e.Verdict != Blocked || count(e, ReasonTooManyAddresses) != 1 {
		t.Errorf("verdict %s, %d findings of too many addresses", e.Verdict, count(e, ReasonTooManyAddresses))
	}
	if got := count(e, ReasonPodAddress); got != mostPerReason+1 {
		t.Errorf("%d findings of pod addresses, want %d and one for the rest", got, mostPerReason)
	}
	if got := count(e, ReasonBadAddress); got != mostPerReason+1 {
		t.Errorf("%d findings of bad addresses, want %d and one for the rest", got, mostPerReason)
	}
	if !slices.ContainsFunc(e.Findings, func(f v1alpha1.Finding) bool { return f.Message == "The same holds for 4992 more values." }) {
		t.Error("nothing says how many more there are")
	}
}

func TestThirtyTwoAddressesAreNotTooMany(t *testing.T) {
	t.Parallel()
	svc := web("web", "")
	for i := range MaxAddresses {
		svc.Spec.ExternalIPs = append(svc.Spec.ExternalIPs, netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}).String())
	}
	if e := only(t, Cluster{Services: []*corev1.Service{svc}}); count(e, ReasonTooManyAddresses) != 0 || e.Verdict != Ready {
		t.Errorf("verdict %s, findings %+v", e.Verdict, e.Findings)
	}
	svc.Spec.ExternalIPs = append(svc.Spec.ExternalIPs, "192.0.2.200")
	if e := only(t, Cluster{Services: []*corev1.Service{svc}}); count(e, ReasonTooManyAddresses) != 1 || e.Verdict != Blocked {
		t.Errorf("verdict %s, findings %+v", e.Verdict, e.Findings)
	}
}

// crowd is n Services that collide in the worst way: one address and one port for all, and a list of private addresses.
func crowd(n int, hostname string) []*corev1.Service {
	out := make([]*corev1.Service, 0, n)
	for i := range n {
		name := hostname
		if strings.Contains(hostname, "%") {
			name = fmt.Sprintf(hostname, i)
		}
		out = append(out, web(fmt.Sprintf("web-%05d", i), name, "192.0.2.50",
			netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()))
	}
	return out
}

// Eight times the Services would take 64 times as long, were anything quadratic. The bound is a ratio of processor time
// with room, on the smallest of several runs, so that a busy machine does not decide.
func TestTakeIsNotQuadratic(t *testing.T) {
	for name, hostname := range map[string]string{
		"without names": "", "one name for all": "www.example.com",
		"a name for each": "w%d.example.com",
	} {
		t.Run(name, func(t *testing.T) {
			small, large := crowd(500, hostname), crowd(4000, hostname)
			if ratio := float64(cost(t, Cluster{Services: large})) / float64(cost(t, Cluster{Services: small})); ratio > 8*4 {
				t.Errorf("8 times the Services take %.1f times as long", ratio)
			}
		})
	}
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		members []string
		want    string
	}{
		{"namespace, Service and hash", []string{"shop/web"}, "shop-web-"},
		{"the first member in order names the group", []string{"shop/web", "shop/api"}, "shop-api-"},
		{"what no object name may hold becomes a hyphen", []string{"Shop_1/we b.x"}, "shop-1-we-b-x-"},
		{"edges are trimmed", []string{"-/-"}, ""},
		{"no members are a hash alone", nil, ""},
		{"253 characters at most", []string{"shop/" + strings.Repeat("v", 253)}, "shop-" + strings.Repeat("v", 239) + "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Name(tt.members)
			base, hash := got[:len(got)-hashDigits], got[len(got)-hashDigits:]
			if base != tt.want || !objectName.MatchString(got) || len(got) > longestName || strings.Trim(hash, "0123456789abcdef") != "" {
				t.Errorf("Name(%v) = %q", tt.members, got)
			}
		})
	}
}

func TestNamesOfEntryPointsDependOnTheMembersAlone(t *testing.T) {
	t.Parallel()
	members := []string{"b/b", "a/a"}
	if Name(members) != Name([]string{"a/a", "b/b", "a/a"}) {
		t.Error("order or repetition matters")
	}
	if !slices.Equal(members, []string{"b/b", "a/a"}) {
		t.Error("the input was sorted in place")
	}
	for _, other := range [][]string{{"a/a"}, {"a/a", "b/c"}, {"a/a-b"}, {"a-a/b"}} {
		if Name(members) == Name(other) {
			t.Errorf("%v and %v have one name", members, other)
		}
	}
	if Name([]string{"a-b/c"}) == Name([]string{"a/b-c"}) {
		t.Error("the hash does not tell a-b/c and a/b-c apart")
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	app := func(s string) *string { return &s }
	tests := []struct {
		name string
		port corev1.ServicePort
		want PortKind
	}{
		{"a port named http proves nothing", corev1.ServicePort{Name: "http", Port: 80}, PortTCP},
		{"appProtocol http", corev1.ServicePort{Port: 80, AppProtocol: app("http")}, PortHTTP},
		{"appProtocol in another case", corev1.ServicePort{Port: 80, AppProtocol: app("HTTP")}, PortHTTP},
		{"appProtocol grpc", corev1.ServicePort{Port: 80, AppProtocol: app("grpc")}, PortHTTP},
		{"HTTP/2 without TLS", corev1.ServicePort{Port: 80, AppProtocol: app("kubernetes.io/h2c")}, PortHTTP},
		{"WebSocket", corev1.ServicePort{Port: 80, AppProtocol: app("kubernetes.io/ws")}, PortHTTP},
		{"appProtocol https", corev1.ServicePort{Port: 443, AppProtocol: app("https")}, PortTLS},
		{"WebSocket over TLS", corev1.ServicePort{Port: 443, AppProtocol: app("kubernetes.io/wss")}, PortTLS},
		{"an appProtocol that says something else", corev1.ServicePort{Port: 5432, AppProtocol: app("postgresql")}, PortTCP},
		{"a port that the policy lists", corev1.ServicePort{Port: 8080}, PortHTTP},
		{"an empty appProtocol on a listed port", corev1.ServicePort{Port: 8080, AppProtocol: app("")}, PortHTTP},
		{"appProtocol wins over the list", corev1.ServicePort{Port: 8080, AppProtocol: app("tls")}, PortTLS},
		{"UDP whatever else is said", corev1.ServicePort{Port: 8080, Protocol: corev1.ProtocolUDP, AppProtocol: app("http")}, PortUDP},
		{"SCTP", corev1.ServicePort{Port: 8080, Protocol: corev1.ProtocolSCTP}, PortSCTP},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := KindOf(tt.port, []int32{8080}); got != tt.want {
				t.Errorf("KindOf = %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzTake reads whatever JSON a tenant's Service may be, twice, in the surroundings that make every check run.
func FuzzTake(f *testing.F) {
	c := Cluster{
		Nodes:      []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/16"}}},
		APIServers: []netip.Addr{netip.MustParseAddr("192.0.2.9")}, ProxyMode: v1alpha1.ProxyIPVS,
		Names:    map[string][]netip.Addr{"www.example.com": {netip.MustParseAddr("192.0.2.50")}},
		Policies: []*v1alpha1.MigrationPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}},
		Zones:    []*v1alpha1.DNSZone{{Spec: v1alpha1.DNSZoneSpec{Zone: "example.com"}}},
	}
	for _, svc := range crowd(2, "www.example.com") {
		raw, err := json.Marshal(svc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"spec":{"externalIPs":["010.0.0.5","[a b]","","::ffff:192.0.2.1","fe80::1%eth0"],"ports":[{"port":-1}]}}`))
	f.Add([]byte(`{"metadata":{"name":"` + strings.Repeat("x", 300) + `","annotations":{"offramp.dev/policy":"edge"}},` +
		`"spec":{"type":"?","externalIPs":["192.0.2.50"],"ports":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		svc := &corev1.Service{}
		if json.Unmarshal(raw, svc) != nil {
			return
		}
		twin := svc.DeepCopy()
		twin.Name += "-twin"
		in := c
		in.Services = []*corev1.Service{svc, twin}
		got := Take(in)
		checkDocumented(t, got)
		for _, e := range got.EntryPoints {
			if !objectName.MatchString(e.Name) || len(e.Name) > longestName {
				t.Errorf("name %q", e.Name)
			}
		}
		if (len(svc.Spec.ExternalIPs) > 0) != (got.Summary.WithExternalIPs > 0) {
			t.Errorf("%d Services with the field", got.Summary.WithExternalIPs)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	for name, services := range map[string][]*corev1.Service{
		"10000 alike":       crowd(10000, "w%d.example.com"),
		"10000 on one name": crowd(10000, "www.example.com"),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Take(Cluster{Services: services})
			}
		})
	}
}
