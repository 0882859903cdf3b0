package metallb

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.universe.tf/metallb/api/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/addresspool"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "metallb-system", Name: name, Labels: map[string]string{"zone": "a"}}
}

func pool(name string, addresses ...string) v1beta1.IPAddressPool {
	return v1beta1.IPAddressPool{ObjectMeta: objectMeta(name), Spec: v1beta1.IPAddressPoolSpec{Addresses: addresses}}
}

func l2(name string, spec v1beta1.L2AdvertisementSpec) v1beta1.L2Advertisement {
	return v1beta1.L2Advertisement{ObjectMeta: objectMeta(name), Spec: spec}
}

func label(key, value string) []metav1.LabelSelector {
	return []metav1.LabelSelector{{MatchLabels: map[string]string{key: value}}}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want, err string }{
		{name: "a prefix", text: "192.0.2.0/24", want: "192.0.2.0-192.0.2.255"},
		{name: "a prefix with host bits", text: "192.0.2.77/28", want: "192.0.2.64-192.0.2.79"},
		{name: "a single address as a prefix", text: "192.0.2.50/32", want: "192.0.2.50"},
		{name: "everything", text: "0.0.0.0/0", want: "0.0.0.0-255.255.255.255"},
		{name: "an IPv6 prefix", text: "2001:db8::/126", want: "2001:db8::-2001:db8::3"},
		{name: "an IPv4-mapped prefix", text: "::ffff:192.0.2.0/120", want: "192.0.2.0-192.0.2.255"},
		{name: "first and last with spaces", text: "192.0.2.10 - 192.0.2.20", want: "192.0.2.10-192.0.2.20"},
		{name: "an IPv6 range", text: "2001:db8::1-2001:db8::9", want: "2001:db8::1-2001:db8::9"},
		{name: "a bare address is refused", text: "192.0.2.1", err: "neither a prefix"},
		{name: "a reversed range", text: "192.0.2.9-192.0.2.1", err: "and an order"},
		{name: "a range of two families", text: "192.0.2.9-2001:db8::1", err: "one family"},
		{name: "a range of names", text: "a-b", err: "first address of the range"},
		{name: "a range without end", text: "192.0.2.1-", err: "last address of the range"},
		{name: "nothing", text: "", err: "neither a prefix"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseRange(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("ParseRange(%q) = %v, %v, want %s", tt.text, got, err, tt.want)
			}
		})
	}
}

func FuzzParseRange(f *testing.F) {
	for _, text := range []string{"192.0.2.0/24", "192.0.2.1-192.0.2.9", "2001:db8::/64", "::ffff:192.0.2.0/120", "0.0.0.0/0", "-", "/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRange(text)
		if err == nil && (!r.Contains(r.First) || !r.Contains(r.Last)) {
			t.Errorf("ParseRange(%q) = %v does not hold its own ends", text, r)
		}
	})
}

type advertisements struct {
	L2  []v1beta1.L2Advertisement
	BGP []v1beta1.BGPAdvertisement
}

func TestAnnouncers(t *testing.T) {
	t.Parallel()
	elsewhere := l2("x", v1beta1.L2AdvertisementSpec{})
	elsewhere.Namespace = "other"
	tests := []struct {
		name       string
		objects    advertisements
		announcers []string
		unreadable string
	}{
		{name: "no advertisement, no announcer"},
		{
			name:       "an advertisement without selectors announces every pool",
			objects:    advertisements{L2: []v1beta1.L2Advertisement{l2("all", v1beta1.L2AdvertisementSpec{})}},
			announcers: []string{"L2Advertisement metallb-system/all"},
		},
		{
			name:       "an advertisement that names the pool",
			objects:    advertisements{L2: []v1beta1.L2Advertisement{l2("named", v1beta1.L2AdvertisementSpec{IPAddressPools: []string{"p"}})}},
			announcers: []string{"L2Advertisement metallb-system/named"},
		},
		{
			name:    "an advertisement that names another pool",
			objects: advertisements{L2: []v1beta1.L2Advertisement{l2("named", v1beta1.L2AdvertisementSpec{IPAddressPools: []string{"q"}})}},
		},
		{
			name: "an advertisement that selects the pool by label",
			objects: advertisements{L2: []v1beta1.L2Advertisement{l2("sel",
				v1beta1.L2AdvertisementSpec{IPAddressPoolSelectors: label("zone", "a")})}},
			announcers: []string{"L2Advertisement metallb-system/sel"},
		},
		{
			name: "an advertisement that selects others by label",
			objects: advertisements{L2: []v1beta1.L2Advertisement{l2("sel",
				v1beta1.L2AdvertisementSpec{IPAddressPoolSelectors: label("zone", "b")})}},
		},
		{
			name:    "an advertisement for labeled Services only",
			objects: advertisements{L2: []v1beta1.L2Advertisement{l2("svc", v1beta1.L2AdvertisementSpec{ServiceSelectors: label("a", "b")})}},
		},
		{name: "an advertisement of another MetalLB", objects: advertisements{L2: []v1beta1.L2Advertisement{elsewhere}}},
		{
			name: "a selector that cannot be read", unreadable: "L2Advertisement metallb-system/odd spec.ipAddressPoolSelectors: selector 0 " +
				"cannot be read",
			objects: advertisements{L2: []v1beta1.L2Advertisement{l2("odd",
				v1beta1.L2AdvertisementSpec{IPAddressPoolSelectors: []metav1.LabelSelector{
					{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}},
				}})}},
		},
		{
			name: "layer 2 and BGP together, sorted",
			objects: advertisements{
				L2:  []v1beta1.L2Advertisement{l2("z", v1beta1.L2AdvertisementSpec{}), l2("a", v1beta1.L2AdvertisementSpec{})},
				BGP: []v1beta1.BGPAdvertisement{{ObjectMeta: objectMeta("bgp")}},
			},
			announcers: []string{"BGPAdvertisement metallb-system/bgp", "L2Advertisement metallb-system/a", "L2Advertisement metallb-system/z"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Pools([]v1beta1.IPAddressPool{pool("p", "192.0.2.0/30")}, tt.objects.L2, tt.objects.BGP)
			if len(got) != 1 || !slices.Equal(got[0].Announcers, tt.announcers) || !strings.HasPrefix(got[0].Unreadable,
				tt.unreadable) || (tt.unreadable == "") != (got[0].Unreadable == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	no := false
	fenced := pool("fenced", "192.0.2.0/30", "198.51.100.1-198.51.100.2")
	fenced.Spec.AutoAssign = &no
	fenced.Spec.AllocateTo = &v1beta1.ServiceAllocation{Namespaces: []string{"b", "a", "b"}}
	selected := pool("selected", "2001:db8::/127")
	selected.Spec.AllocateTo = &v1beta1.ServiceAllocation{NamespaceSelectors: label("team", "x"), ServiceSelectors: label("a", "b")}
	got := Pools([]v1beta1.IPAddressPool{selected, fenced, pool("bad", "192.0.2.9", "192.0.2.8/32")}, nil, nil)
	want := []addresspool.Pool{
		{
			Name: "bad", Namespace: "metallb-system", AutoAssign: true, Ranges: []addresspool.Range{{First: ip("192.0.2.8"), Last: ip("192.0.2.8")}},
			Unreadable: `spec.addresses[0]: "192.0.2.9" is neither a prefix such as 192.0.2.0/24 nor a range such as 192.0.2.1-192.0.2.9`,
		},
		{Name: "fenced", Namespace: "metallb-system", Namespaces: []string{"a", "b"}, Ranges: []addresspool.Range{
			{First: ip("192.0.2.0"), Last: ip("192.0.2.3")}, {First: ip("198.51.100.1"), Last: ip("198.51.100.2")},
		}},
		{
			Name: "selected", Namespace: "metallb-system", AutoAssign: true, Ranges: []addresspool.Range{{
				First: ip("2001:db8::"),
				Last:  ip("2001:db8::1"),
			}},
			Unreadable: "spec.serviceAllocation.namespaceSelectors: namespaces are selected by label; spec.serviceAllocation.serviceSelectors: " +
				"Services are selected by label",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !slices.Equal(fenced.Spec.AllocateTo.Namespaces, []string{"b", "a", "b"}) {
		t.Error("the input was changed")
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		addresses []netip.Addr
		want      string
	}{
		{"one address", []netip.Addr{ip("192.0.2.50")}, "192.0.2.50"},
		{"one of each family, IPv4 first", []netip.Addr{ip("2001:db8::50"), ip("192.0.2.50")}, "192.0.2.50,2001:db8::50"},
		{"twice the same", []netip.Addr{ip("192.0.2.50"), ip("::ffff:192.0.2.50")}, "192.0.2.50"},
		{"none is an error", nil, ""},
		{"two of one family are an error", []netip.Addr{ip("192.0.2.50"), ip("192.0.2.51")}, ""},
		{"three are an error", []netip.Addr{ip("192.0.2.50"), ip("192.0.2.51"), ip("2001:db8::50")}, ""},
		{"a zone is an error", []netip.Addr{ip("fe80::1%eth0")}, ""},
		{"no address is an error", []netip.Addr{{}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Pin(tt.addresses)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("Pin(%v) = %q, %v, want %q", tt.addresses, got, err, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	service := func(change func(*corev1.Service), ingress ...string) *corev1.Service {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web",
			Annotations: map[string]string{AnnotationAddresses: "192.0.2.50", AnnotationPool: "public"},
		}}
		svc.Spec.Type = corev1.ServiceTypeLoadBalancer
		for _, a := range ingress {
			svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
		}
		if change != nil {
			change(svc)
		}
		return svc
	}
	foreign := "gateway.nginx.org/nginx-gateway-controller"
	tests := []struct {
		name    string
		svc     *corev1.Service
		class   string
		want    State
		message string
	}{
		{"as pinned", service(nil, "192.0.2.50"), "", Allocated, "carries [192.0.2.50] as pinned"},
		{"nothing yet", service(nil), "", Pending, "see its Events"},
		{"another address", service(nil, "192.0.2.51"), "", Different, "make a second Service"},
		{"one address too many", service(nil, "192.0.2.50", "2001:db8::1"), "", Different, "instead of [192.0.2.50]"},
		{"a host name is no address", service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
		}), "", Pending, "has no address yet"},
		{"a foreign class is ignored, whatever status says", service(func(s *corev1.Service) { s.Spec.LoadBalancerClass = &foreign },
			"192.0.2.50"), "", Ignored, foreign},
		{"no class where MetalLB has one", service(nil), "metallb", Ignored, `MetalLB serves "metallb" only`},
		{
			"the class of MetalLB", service(func(s *corev1.Service) { s.Spec.LoadBalancerClass = &foreign }, "192.0.2.50"), foreign, Allocated,
			"as pinned",
		},
		{
			"not of type LoadBalancer", service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }), "", Ignored,
			"not of type LoadBalancer",
		},
		{
			"both ways of asking", service(func(s *corev1.Service) { s.Spec.LoadBalancerIP = "192.0.2.50" }), "", Ignored,
			"remove spec.loadBalancerIP",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Read(tt.svc, []netip.Addr{ip("192.0.2.50")}, tt.class, nil)
			if got.State != tt.want || !strings.Contains(got.Message, tt.message) || !strings.HasPrefix(got.Message,
				"Service shop/web ") || got.Pool != "public" || got.Known {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestReadTellsWhoAnnounces(t *testing.T) {
	t.Parallel()
	says := func(node, namespace, name string) *v1beta1.ServiceL2Status {
		return &v1beta1.ServiceL2Status{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelServiceNamespace: namespace, labelServiceName: name}},
			Status:     v1beta1.MetalLBServiceL2Status{Node: node},
		}
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	got := Read(svc, nil, "", []*v1beta1.ServiceL2Status{
		says("n2", "shop", "web"), nil, says("n1", "shop", "web"), says("n3", "other", "web"),
		says("", "shop", "web"),
	})
	if !got.Known || !slices.Equal(got.Announcing, []string{"n1", "n2"}) {
		t.Errorf("%+v", got)
	}
	if got := Read(svc, nil, "", []*v1beta1.ServiceL2Status{}); !got.Known || len(got.Announcing) != 0 {
		t.Errorf("an empty list was looked at: %+v", got)
	}
}

func TestAPoolOverNodesIsRefused(t *testing.T) {
	t.Parallel()
	p := Pools([]v1beta1.IPAddressPool{pool("p", "192.0.2.13-192.0.2.15")}, nil, nil)[0]
	node := addresspool.Reserved{
		Range: addresspool.Range{First: ip("192.0.2.13"), Last: ip("192.0.2.13")}, Object: "Node n3",
		What: "node address",
	}
	if got := addresspool.Touching(p, []addresspool.Reserved{node}); len(got) != 1 || got[0].Object != "Node n3" {
		t.Errorf("%+v", got)
	}
}
