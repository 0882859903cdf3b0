package inventory

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Surroundings is what stands around the Services: who announces addresses, who copies them, who wrote them down
// elsewhere. As in Cluster a nil list means "not looked at".
type Surroundings struct {
	// Workloads are Deployments, DaemonSets, StatefulSets, CronJobs, Jobs and bare Pods.
	Workloads []Workload
	Ingresses []*networkingv1.Ingress
	// ConfigMaps are those of AboutCluster, by name.
	ConfigMaps      []*corev1.ConfigMap
	NetworkPolicies []*networkingv1.NetworkPolicy
	// Others are objects of other projects: those of OtherKinds, and whatever else carries a member externalIPs at any depth.
	Others []*unstructured.Unstructured
	// Audited are who wrote which address when, from the API server's audit log.
	Audited []Audited
	// Records are live DNS records of candidate names.
	Records []Record
}

// Workload is what runs Pods, as far as the inventory reads it.
type Workload struct {
	Kind, Namespace, Name string
	// Labels are those of the Pods.
	Labels      map[string]string
	HostNetwork bool
	Containers  []Container
}

// Container of a Workload. Args are command and arguments; Env holds literal values only.
type Container struct {
	Name, Image string
	Args        []string
	Env         map[string]string
}

// WorkloadOf reads a Pod template (or a Pod as one).
func WorkloadOf(kind string, meta metav1.ObjectMeta, template corev1.PodTemplateSpec) Workload {
	w := Workload{
		Kind: kind, Namespace: meta.Namespace, Name: meta.Name, Labels: template.Labels, HostNetwork: template.Spec.HostNetwork,
	}
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			w.Containers = append(w.Containers, containerOf(&list[i]))
		}
	}
	return w
}

func containerOf(c *corev1.Container) Container {
	out := Container{Name: c.Name, Image: c.Image, Args: append(append([]string{}, c.Command...), c.Args...)}
	for _, e := range c.Env {
		if e.Value != "" {
			if out.Env == nil {
				out.Env = map[string]string{}
			}
			out.Env[e.Name] = e.Value
		}
	}
	return out
}

// Audited is one request that wrote spec.externalIPs of a Service, or tried to (audit.k8s.io/v1 Event).
type Audited struct {
	At   time.Time
	User string
	// Service as "ns/name".
	Service   string
	Addresses []string
	// Denied: the API server refused it.
	Denied bool
}

// Record is one RRset as one server answered it.
type Record struct {
	// Name without the final dot; Type is A, AAAA or CNAME.
	Name, Type string
	// Server that answered, TTL in seconds.
	Server string
	TTL    uint32
	// Addresses of A and AAAA, Target of a CNAME.
	Addresses []netip.Addr
	Target    string
	// Owner says who manages the name by its marks, for example "external-dns (owner default)"; "" where no mark is known.
	Owner string
}
