package inventory

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

// surroundings is a document of the golden inputs for what is no Kubernetes object.
type surroundings struct {
	APIServers  []netip.Addr            `json:"apiServers"`
	NameServers []netip.Addr            `json:"nameServers"`
	ProxyMode   v1alpha1.ProxyMode      `json:"proxyMode"`
	Names       map[string][]netip.Addr `json:"names"`
	Pools       []addresspool.Pool      `json:"pools"`
	Unseen      []Unseen                `json:"unseen"`
	Audited     []Audited               `json:"audited"`
	Records     []Record                `json:"records"`
	// Looked lists kinds that were looked at though there are none.
	Looked []string `json:"looked"`
}

// addDocument decodes by kind into the cluster.
func addDocument(t *testing.T, c *Cluster, kind string, raw []byte) {
	t.Helper()
	switch kind {
	case "Service":
		c.Services = append(c.Services, decode[corev1.Service](t, raw))
	case "Node":
		c.Nodes = append(c.Nodes, decode[corev1.Node](t, raw))
	case "EndpointSlice":
		c.EndpointSlices = append(c.EndpointSlices, decode[discoveryv1.EndpointSlice](t, raw))
	case "ServiceCIDR":
		c.ServiceCIDRs = append(c.ServiceCIDRs, decode[networkingv1.ServiceCIDR](t, raw))
	case "Gateway":
		c.Gateways = append(c.Gateways, decode[gatewayv1.Gateway](t, raw))
	case "MigrationPolicy":
		c.Policies = append(c.Policies, decode[v1alpha1.MigrationPolicy](t, raw))
	case "DNSZone":
		c.Zones = append(c.Zones, decode[v1alpha1.DNSZone](t, raw))
	case "Surroundings":
		addSurroundings(c, decode[surroundings](t, raw))
	case "Ingress":
		c.Ingresses = append(c.Ingresses, decode[networkingv1.Ingress](t, raw))
	case "ConfigMap":
		c.ConfigMaps = append(c.ConfigMaps, decode[corev1.ConfigMap](t, raw))
	case "NetworkPolicy":
		c.NetworkPolicies = append(c.NetworkPolicies, decode[networkingv1.NetworkPolicy](t, raw))
	case "Deployment", "DaemonSet", "StatefulSet", "Pod":
		c.Workloads = append(c.Workloads, decodeWorkload(t, kind, raw))
	default:
		o := decode[unstructured.Unstructured](t, raw)
		if o.GetAPIVersion() == "" {
			t.Fatalf("kind %q", kind)
		}
		c.Others = append(c.Others, o)
	}
}

// decodeWorkload reads a Pod, or what has a template of one.
func decodeWorkload(t *testing.T, kind string, raw []byte) Workload {
	t.Helper()
	if kind == "Pod" {
		pod := decode[corev1.Pod](t, raw)
		return WorkloadOf(kind, pod.ObjectMeta, corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
	}
	var o struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(raw, &o); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return WorkloadOf(kind, o.ObjectMeta, o.Spec.Template)
}

func addSurroundings(c *Cluster, s *surroundings) {
	c.APIServers, c.NameServers, c.ProxyMode, c.Names, c.Pools, c.Unseen = s.APIServers, s.NameServers, s.ProxyMode, s.Names, s.Pools, s.Unseen
	c.Audited, c.Records = s.Audited, s.Records
	for _, kind := range s.Looked {
		switch kind {
		case "Node":
			c.Nodes = []*corev1.Node{}
		case "EndpointSlice":
			c.EndpointSlices = []*discoveryv1.EndpointSlice{}
		case "MigrationPolicy":
			c.Policies = []*v1alpha1.MigrationPolicy{}
		case "IPAddressPool":
			c.Pools = []addresspool.Pool{}
		case "Workload":
			c.Workloads = []Workload{}
		}
	}
}

func decode[T any](t *testing.T, raw []byte) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict(raw, out); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return out
}

func readCluster(t *testing.T, path string) Cluster {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c Cluster
	for document := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if head.Kind == "Surroundings" {
			document = bytes.Replace(document, []byte("kind: Surroundings\n"), nil, 1)
		}
		addDocument(t, &c, head.Kind, document)
	}
	return c
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look, then run with -update. Got:\n%s", path, got)
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/cases/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%d cases, %v", len(inputs), err)
	}
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCluster(t, in)
			// What was not looked at would be the same long list in every case; unseen_test.go has it.
			got := Take(c)
			got.Findings = dropUnseen(got.Findings)
			text, err := yaml.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, filepath.Join("testdata/cases", name+".out.yaml"), text)
			checkDocumented(t, got)
		})
	}
}

func dropUnseen(in []v1alpha1.Finding) []v1alpha1.Finding {
	var out []v1alpha1.Finding
	for _, f := range in {
		if f.Reason != ReasonUnseen || !strings.Contains(f.Message, "was not given") {
			out = append(out, f)
		}
	}
	return out
}
