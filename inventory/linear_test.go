package inventory

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// processorTime is what this process has used, so that a busy machine does not decide a ratio.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// surrounded is n Services on as many addresses, and one of everything around each of them.
func surrounded(n int) Cluster {
	c := Cluster{Surroundings: Surroundings{Others: others()}}
	for i := range n {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		ns, name := fmt.Sprintf("ns-%d", i%100), fmt.Sprintf("web-%06d", i)
		svc := web(name, fmt.Sprintf("w%d.example.com", i), a.String(), "192.0.2.50")
		svc.Namespace, svc.Spec.Ports[0].Port = ns, int32(i%60000+1)
		c.Services = append(c.Services, svc)
		c.addAround(ns, name, a)
	}
	return c
}

func (c *Cluster) addAround(ns, name string, a netip.Addr) {
	meta := metav1.ObjectMeta{Namespace: ns, Name: name}
	c.Workloads = append(c.Workloads, Workload{
		Kind: "Deployment", Namespace: ns, Name: name, Labels: map[string]string{"app": "client"},
		Containers: []Container{{Name: "main", Args: []string{"--upstream=http://" + a.String() + ":80"}, Env: map[string]string{"SHARED": "192.0.2.50"}}},
	})
	in := &networkingv1.Ingress{ObjectMeta: meta}
	in.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: a.String()}, {IP: "192.0.2.50"}}
	c.Ingresses = append(c.Ingresses, in)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta}
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: a.String() + "/32"}}}}}
	c.NetworkPolicies = append(c.NetworkPolicies, policy)
	c.EndpointSlices = append(c.EndpointSlices, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.250.0.1"}}},
	})
	c.Others = append(c.Others, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "App", "metadata": map[string]any{"namespace": ns, "name": name},
		"spec": map[string]any{"service": map[string]any{"externalIPs": []any{a.String(), "192.0.2.50"}}},
	}})
	c.Audited = append(c.Audited, Audited{User: "u", Service: ns + "/" + name, Addresses: []string{a.String(), "192.0.2.50"}, Denied: len(c.Audited)%2 == 0})
	c.Records = append(c.Records, Record{Name: name + ".example.com", Type: "A", TTL: 60, Addresses: []netip.Addr{a, netip.MustParseAddr("192.0.2.50")}})
}

// others announce and give out, so that every Service asks them.
func others() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "projectcalico.org/v3", "kind": kindCalicoBGP, "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"serviceExternalIPs": []any{map[string]any{"cidr": "10.0.0.0/16"}}},
		}},
		{Object: map[string]any{
			"apiVersion": "cilium.io/v2alpha1", "kind": kindCiliumL2, "metadata": map[string]any{"name": "lan"},
			"spec": map[string]any{"externalIPs": true, "serviceSelector": map[string]any{"matchLabels": map[string]any{"app": "none"}}},
		}},
		{Object: map[string]any{
			"apiVersion": "cilium.io/v2", "kind": kindCiliumPool, "metadata": map[string]any{"name": "lan"},
			"spec": map[string]any{"blocks": []any{map[string]any{"cidr": "10.0.0.0/16"}}},
		}},
	}
}

func cost(tb testing.TB, c Cluster) time.Duration {
	tb.Helper()
	best := time.Hour
	for range 2 {
		start := processorTime(tb)
		Take(c)
		best = min(best, processorTime(tb)-start)
	}
	return best
}

func TestSurroundingsAreJudgedInLinearTime(t *testing.T) {
	small, large := cost(t, surrounded(250)), cost(t, surrounded(2000))
	if ratio := float64(large) / float64(small); ratio > 8*4 {
		t.Errorf("8 times the cluster takes %.1f times as long (%s, %s)", ratio, small, large)
	}
}

// BenchmarkTakeSurrounded tells the time for each Service; linear is when it stays.
func BenchmarkTakeSurrounded(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		c := surrounded(n)
		b.Run(fmt.Sprintf("%d Services", n), func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				Take(c)
			}
			b.ReportMetric(float64((processorTime(b)-start).Microseconds())/float64(b.N*n), "cpu-µs/Service")
		})
	}
}

func TestAddressesInTexts(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"192.0.2.50":                             {"192.0.2.50"},
		"EXTERNAL://192.0.2.50:9094,INTERNAL://": {"192.0.2.50"},
		"FACE:192.0.2.50":                        {"192.0.2.50"},
		"https://[2001:db8::1]:443/x":            {"2001:db8::1"},
		"::ffff:192.0.2.1":                       {"192.0.2.1"},
		"a=192.0.2.1;b=192.0.2.2/24.":            {"192.0.2.1", "192.0.2.2"},
		"sha256:0123456789abcdef":                nil,
		"1.2.3":                                  nil,
		"12:34:56":                               nil,
		"http://web.shop.svc:8080":               nil,
		"":                                       nil,
	}
	for text, want := range tests {
		var got []string
		for _, a := range addressesIn(text) {
			got = append(got, a.String())
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("addressesIn(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestFlagValues(t *testing.T) {
	t.Parallel()
	args := []string{"run", "--a=1", "-a", "2", "--b", "--a", "--c=x=y"}
	for name, want := range map[string]string{"--a": "[1 2 true]", "--b": "[true]", "--c": "[x=y]", "--d": "[]", "run": "[]"} {
		if got := fmt.Sprint(flagValues(args, name)); got != want {
			t.Errorf("flagValues(%s) = %s, want %s", name, got, want)
		}
	}
}

// A tenant's workload may make the inventory more careful about the tenant's own Services, never less careful about any, and
// never stop somebody else's.
func TestNoTenantCanClearOrStopAnotherByAWorkload(t *testing.T) {
	t.Parallel()
	svc := web("web", "www.example.com", "192.0.2.50")
	before := only(t, Cluster{Services: []*corev1.Service{svc}, Surroundings: Surroundings{Workloads: []Workload{}}})
	for _, image := range []string{"kube-vip", "keepalived", "kube-router", "client"} {
		hostile := Workload{
			Kind: "Pod", Namespace: "mallory", Name: "x", HostNetwork: true,
			Labels: map[string]string{"app": "web", "svccontroller.k3s.cattle.io/svcname": "x"},
			Containers: []Container{{
				Image: image, Args: []string{"--advertise-external-ip=true", "--run-service-proxy=true", "--service-external-ip-range=203.0.113.0/24"},
				Env: map[string]string{"cp_enable": "true", "address": "192.0.2.50"},
			}},
		}
		after := only(t, Cluster{Services: []*corev1.Service{svc}, Surroundings: Surroundings{Workloads: []Workload{hostile}}})
		if after.Verdict != before.Verdict || after.Strategy != before.Strategy || after.Attraction[0] != before.Attraction[0] {
			t.Errorf("%s: %s %s %+v, before %s %s %+v", image, after.Strategy, after.Verdict, after.Attraction, before.Strategy, before.Verdict,
				before.Attraction)
		}
	}
}
