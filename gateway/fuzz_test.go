package gateway_test

import (
	"net/netip"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
)

// hostile builds an Input from what a tenant could write.
func hostile(entryPoint, namespace, name, portName, app, host, target string, port int32, kind uint8) gateway.Input {
	protocols := []corev1.Protocol{"", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP, corev1.Protocol(app)}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": host, portName: app},
		},
		Spec: corev1.ServiceSpec{
			Selector:                 map[string]string{"app": portName},
			LoadBalancerSourceRanges: []string{host},
			Ports: []corev1.ServicePort{
				{Name: portName, Port: port, AppProtocol: &app, Protocol: protocols[int(kind)%len(protocols)], TargetPort: intstr.FromString(target)},
				{Name: "http", Port: 80, NodePort: port},
			},
		},
	}
	return gateway.Input{
		EntryPoint: entryPoint, Services: []*corev1.Service{svc, svc}, Hostnames: []string{host, "ok.example.test"},
		Strategy: v1alpha1.StrategyLoadBalancer, TCPRouteVersion: "v1", Addresses: []netip.Addr{netip.MustParseAddr("198.51.100.10")},
		Settings: &v1alpha1.GatewaySettings{ClassName: "edge", Namespace: "gateways", HTTPPorts: []int32{80}},
		Profile:  gateway.Profile{Binding: v1alpha1.BindingAnnotation},
	}
}

// FuzzConvert: whatever a tenant writes, nothing panics, every name is legal, and the same input gives the same output.
func FuzzConvert(f *testing.F) {
	f.Add("shop-web-1a2b3c4d", "shop", "web", "https", "https", "shop.example.test", "http", int32(443), uint8(1))
	f.Add("", "", "", "", "", "", "", int32(0), uint8(0))
	f.Add("A\x00b", "9ns", "9web", "db", "tcp", "*.example.test", "8080", int32(5432), uint8(1))
	f.Add("x", "shop", "web", "dns", "http", "a..b", "-", int32(-1), uint8(2))
	f.Add("x", "shop", "web", "a\nb", "kubernetes.io/h2c", "203.0.113.1", "x", int32(70000), uint8(4))
	f.Fuzz(func(t *testing.T, entryPoint, namespace, name, portName, app, host, target string, port int32, kind uint8) {
		for _, strategy := range []v1alpha1.Strategy{v1alpha1.StrategyGateway, v1alpha1.StrategyLoadBalancer, v1alpha1.StrategyAdopt} {
			in := hostile(entryPoint, namespace, name, portName, app, host, target, port, kind)
			before := hostile(entryPoint, namespace, name, portName, app, host, target, port, kind)
			in.Strategy, before.Strategy = strategy, strategy
			out := gateway.Convert(in)
			if !reflect.DeepEqual(in, before) || !reflect.DeepEqual(out, gateway.Convert(in)) {
				t.Error("the input was changed, or the second output differs")
			}
			for _, o := range out.Objects {
				mustBeLegal(t, in, o)
				if ok, difference := gateway.Exact(o, o); !ok {
					t.Errorf("an object differs from itself: %s", difference)
				}
			}
		}
	})
}
