package gateway

import (
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/api/v1alpha1"
)

// Annotations of others that targets are born with.
const (
	annotationAddresses = "metallb.io/loadBalancerIPs"
	annotationSharing   = "metallb.io/allow-shared-ip"
	// external-dns publishes an object unless its controller annotation names somebody else. Which prefix counts depends
	// on its version (v0.22.0 changed it), so both are written.
	annotationDNSController    = "external-dns.kubernetes.io/controller"
	annotationDNSControllerOld = "external-dns.alpha.kubernetes.io/controller"
	dnsController              = "offramp"
)

// Convert makes the target objects. Every object carries label v1alpha1.LabelEntryPoint = Label(EntryPoint), no
// ownerReference and none of the source's external-dns annotations. With a finding of severity Block there are no
// objects.
func Convert(in Input) Output {
	c := conversion{in: in, report: &report{}}
	objects := c.run()
	if c.blocked() {
		objects = nil
	}
	return Output{Objects: objects, Notes: c.notes, Findings: c.findings}
}

// conversion is one run of Convert: the input, brought into order, and what there is to say.
type conversion struct {
	*report
	in        Input
	services  []*corev1.Service
	addresses []netip.Addr
	hosts     []string
}

func (c *conversion) run() []*unstructured.Unstructured {
	switch c.in.Strategy {
	case v1alpha1.StrategyAdopt, v1alpha1.StrategyNone:
		return nil
	case v1alpha1.StrategyGateway:
		c.prepare()
		return c.gateway()
	case v1alpha1.StrategyLoadBalancer:
		c.prepare()
		return c.loadBalancer()
	default:
		c.block(ReasonUnknownStrategy, "EntryPoint "+c.in.EntryPoint+" spec.strategy",
			shown(string(c.in.Strategy))+" is no strategy", "choose Gateway, LoadBalancer or Adopt")
		return nil
	}
}

// prepare checks what both strategies need.
func (c *conversion) prepare() {
	c.services = usable(c.report, c.in.EntryPoint, c.in.Services)
	c.addresses = targetAddresses(c.report, c.in.EntryPoint, c.in.Addresses)
	portsTaken(c.report, c.services)
}

// object is a target object with the metadata that all of them share.
func (c *conversion) object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata": map[string]any{
			"namespace":   namespace,
			"name":        name,
			"labels":      map[string]any{v1alpha1.LabelEntryPoint: Label(c.in.EntryPoint)},
			"annotations": optOut(),
		},
		"spec": spec,
	}}
}

// optOut keeps external-dns from publishing a target before it is proven.
func optOut() map[string]any {
	return map[string]any{annotationDNSController: dnsController, annotationDNSControllerOld: dnsController}
}

func portText(p corev1.ServicePort) string {
	key := keyOf(p)
	return string(key.protocol) + "/" + strconv.Itoa(int(key.port))
}
