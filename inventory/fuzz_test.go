package inventory

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzTakeSurroundings reads hostile objects of every kind around one Service: the same text as a member of an object of
// another project, an argument, a variable, settings, a record, an audited address.
func FuzzTakeSurroundings(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"projectcalico.org/v3","kind":"BGPConfiguration","spec":{"serviceExternalIPs":[{"cidr":"192.0.2.0/24"},1]}}`),
		"--publish-service=$(POD_NAMESPACE)/web", "192.0.2.50")
	f.Add([]byte(`{"apiVersion":"cilium.io/v2","kind":"CiliumBGPAdvertisement","spec":{"advertisements":[{"advertisementType":"Service",`+
		`"service":{"addresses":["ExternalIP"]},"selector":{"matchExpressions":[{"key":"a","operator":"?"}]}}]}}`), "mode: [", "[2001:db8::1]:1")
	f.Add([]byte(`{"kind":"A","metadata":{"name":"a","namespace":"shop","ownerReferences":[{"kind":"A","name":"a"}]},"spec":`+
		`{"valuesContent":"externalIPs:\n- 192.0.2.50\n"}}`), "controlPlaneEndpoint: 192.0.2.50:6443", "www.example.com")
	f.Add([]byte(`{"kind":"DNSEndpoint","apiVersion":"externaldns.k8s.io/v1alpha1","spec":{"endpoints":[{"targets":["192.0.2.50",{}]}]}}`),
		"k8s_external a.b c.d", "-")
	f.Fuzz(func(t *testing.T, raw []byte, text, address string) {
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil {
			return
		}
		if meta, ok := object["metadata"]; ok { // an API server's metadata is never anything else
			if _, ok := meta.(map[string]any); !ok {
				return
			}
		}
		svc := web("web", "www.example.com", "192.0.2.50", address)
		svc.OwnerReferences = []metav1.OwnerReference{{Kind: "A", Name: "a"}}
		c := Cluster{
			Services: []*corev1.Service{svc},
		}
		c.Surroundings = Surroundings{
			Others:  []*unstructured.Unstructured{{Object: object}, nil},
			Audited: []Audited{{User: text, Service: text, Addresses: []string{address}, Denied: len(text)%2 == 0}},
			Records: []Record{{Name: address, Type: "A", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.50")}}, {Name: text, Type: "CNAME", Target: text}},
		}
		for _, name := range ClusterConfigMaps() {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: map[string]string{}}
			for _, key := range []string{"config.conf", "ClusterConfiguration", "Corefile", "kube-proxy-replacement"} {
				cm.Data[key] = text
			}
			c.ConfigMaps = append(c.ConfigMaps, cm)
		}
		for _, image := range []string{"kube-router", "kube-vip", "web"} {
			c.Workloads = append(c.Workloads, Workload{
				Kind: "Pod", Namespace: "kube-system", Name: text, HostNetwork: true, Labels: map[string]string{"app": "web"},
				Containers: []Container{{Name: text, Image: image, Args: []string{text, address}, Env: map[string]string{text: address}}},
			})
		}
		got := Take(c)
		checkDocumented(t, got)
		if !reflect.DeepEqual(got, Take(c)) {
			t.Error("the same input gives two answers")
		}
		for _, conflict := range got.Conflicts {
			if conflict.Message == "" || conflict.Fix == "" || riskRank(conflict.Risk) < 0 || len(conflict.Later) > MaxClaims {
				t.Errorf("%+v", conflict)
			}
		}
	})
}
