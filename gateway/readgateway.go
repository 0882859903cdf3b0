package gateway

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/api/v1alpha1"
)

// Labels by which the Service that an implementation generated for a Gateway is found.
const (
	labelGatewayName      = "gateway.networking.k8s.io/gateway-name"
	labelEnvoyGatewayName = "gateway.envoyproxy.io/owning-gateway-name"
	// Envoy Gateway generates in a namespace of its own, so the Gateway's namespace is a label too.
	labelEnvoyGatewayNamespace = "gateway.envoyproxy.io/owning-gateway-namespace"
)

func (r *reader) gateway(want, live *unstructured.Unstructured) {
	conditions := nested(live.Object, "status", "conditions")
	r.requireTrue(conditions, live.GetGeneration(), nameOf(live), "Accepted", "Programmed")
	r.listeners(want, live)
	served := r.gatewayAddresses(live)
	r.addresses = append(r.addresses, served...)
	if pinnedByAnnotation(want) {
		r.generated(live)
		r.servedOn(nameOf(live)+" status.addresses", served)
		return
	}
	r.static(live, served)
}

func pinnedByAnnotation(gateway *unstructured.Unstructured) bool {
	annotations, _, err := unstructured.NestedFieldNoCopy(gateway.Object, "spec", "infrastructure", "annotations")
	list, isMap := annotations.(map[string]any)
	return err == nil && isMap && list[annotationAddresses] != nil
}

// listeners must all be served; absence of Conflicted means no conflict (Gateway API 1.6).
func (r *reader) listeners(want, live *unstructured.Unstructured) {
	statuses := nested(live.Object, "status", "listeners")
	for _, l := range nested(want.Object, "spec", "listeners") {
		name := text(l, "name")
		object := nameOf(live) + " status.listeners " + name
		at := slices.IndexFunc(statuses, func(s map[string]any) bool { return text(s, "name") == name })
		if at < 0 {
			r.missing(object + ": not reported yet")
			continue
		}
		conditions := nested(statuses[at], "conditions")
		r.requireTrue(conditions, live.GetGeneration(), object, "Accepted", "Programmed", "ResolvedRefs")
		if c := latest(conditions, "Conflicted", live.GetGeneration()); c != nil && text(c, "status") == "True" {
			r.say(HealthNotAccepted, object+" condition Conflicted: "+shown(text(c, "reason"))+" "+shown(text(c, "message")))
		}
	}
}

// gatewayAddresses are those of status.addresses that are addresses; hostnames are no evidence.
func (r *reader) gatewayAddresses(live *unstructured.Unstructured) []netip.Addr {
	out := []netip.Addr{}
	for _, entry := range nested(live.Object, "status", "addresses") {
		if a, err := netip.ParseAddr(text(entry, "value")); err == nil {
			out = append(out, a)
		}
	}
	return canonical(out)
}

// servedOn compares by value: implementations write addresses in their own spelling.
func (r *reader) servedOn(object string, served []netip.Addr) {
	if len(served) == 0 {
		r.missing(object + ": no address is reported yet")
		return
	}
	for _, a := range r.pinned {
		if !slices.Contains(served, a) {
			r.say(HealthAddressMismatch, object+": "+joined(served)+" lacks the pinned "+a.String())
		}
	}
}

// generated checks the Service that the implementation made: the place where an address can go wrong unseen.
func (r *reader) generated(gateway *unstructured.Unstructured) {
	found := false
	for _, o := range r.live {
		if o.GetKind() == kindService && generatedFor(o, gateway) {
			found = true
			r.service(o)
		}
	}
	if !found {
		r.missing(nameOf(gateway) + ": the Service that the implementation generates (label " + labelGatewayName + ") does not exist yet")
	}
}

func generatedFor(service, gateway *unstructured.Unstructured) bool {
	labels := service.GetLabels()
	if labels[labelEnvoyGatewayName] == gateway.GetName() {
		return labels[labelEnvoyGatewayNamespace] == gateway.GetNamespace()
	}
	return service.GetNamespace() == gateway.GetNamespace() && labels[labelGatewayName] == gateway.GetName()
}

// static reads the Service that an admin made. It may have an address of a family that this entry point does not use, since
// it serves others too. The Gateway's own addresses may be absent or one for all Gateways; they only must not speak against
// it.
func (r *reader) static(gateway *unstructured.Unstructured, served []netip.Addr) {
	found := false
	for _, o := range r.live {
		if o.GetKind() == kindService && o.GetLabels()[v1alpha1.LabelEntryPoint] == "" && !hasGatewayLabel(o) {
			found = true
			r.servedOn(nameOf(o)+" status.loadBalancer.ingress", r.balanced(o))
		}
	}
	if !found {
		r.missing(nameOf(gateway) + ": the static Service that carries the address was not found")
	}
	if len(served) > 0 && !slices.ContainsFunc(served, func(a netip.Addr) bool { return slices.Contains(r.pinned, a) }) {
		r.say(HealthAddressMismatch, nameOf(gateway)+" status.addresses: "+joined(served)+" holds none of the pinned "+joined(r.pinned))
	}
}

func hasGatewayLabel(o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	return labels[labelGatewayName] != "" || labels[labelEnvoyGatewayName] != ""
}

// service must be MetalLB's, free of externalIPs, and hold exactly the pinned addresses.
func (r *reader) service(live *unstructured.Unstructured) {
	if served := r.balanced(live); len(served) > 0 && !slices.Equal(served, r.pinned) {
		r.say(HealthAddressMismatch, nameOf(live)+" status.loadBalancer.ingress: "+joined(served)+" is not the pinned "+joined(r.pinned))
	}
}

// balanced checks that a Service is MetalLB's and free of externalIPs, and reads its addresses.
func (r *reader) balanced(live *unstructured.Unstructured) []netip.Addr {
	object := nameOf(live)
	if ips, found, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", "externalIPs"); found && !emptyList(ips) {
		r.say(HealthWritesExternalIPs, object+" spec.externalIPs: it is set; remove spec.addresses from the Gateway, or whatever else wrote it")
	}
	if kind := text(live.Object, "spec", "type"); kind != "LoadBalancer" {
		r.say(HealthAddressMismatch, object+" spec.type: "+shown(kind)+" gets no address from MetalLB")
	}
	if class := text(live.Object, "spec", "loadBalancerClass"); !metallbClass(class) {
		r.say(HealthForeignClass, object+" spec.loadBalancerClass: "+shown(class)+" is not MetalLB's, which ignores the Service")
	}
	served := ingressAddresses(live)
	r.addresses = append(r.addresses, served...)
	if len(served) == 0 {
		r.missing(object + " status.loadBalancer.ingress: no address is allocated yet")
	}
	return served
}

func emptyList(value any) bool {
	list, isList := value.([]any)
	return value == nil || (isList && len(list) == 0)
}

// metallbClass accepts no class, and the names under MetalLB's own domains that its manifests use.
func metallbClass(class string) bool {
	return class == "" || strings.HasPrefix(class, "metallb.io/") || strings.HasPrefix(class, "metallb.universe.tf/")
}

func ingressAddresses(service *unstructured.Unstructured) []netip.Addr {
	out := []netip.Addr{}
	for _, entry := range nested(service.Object, "status", "loadBalancer", "ingress") {
		if a, err := netip.ParseAddr(text(entry, "ip")); err == nil {
			out = append(out, a)
		}
	}
	return canonical(out)
}

// route must be accepted by every listener it names, with its references resolved.
func (r *reader) route(want, live *unstructured.Unstructured) {
	parents := nested(live.Object, "status", "parents")
	for _, ref := range nested(want.Object, "spec", "parentRefs") {
		object := nameOf(live) + " status.parents " + text(ref, "sectionName")
		at := slices.IndexFunc(parents, func(p map[string]any) bool { return refersTo(p, ref, live.GetNamespace()) })
		if at < 0 {
			r.missing(object + ": the implementation has not answered yet")
			continue
		}
		r.requireTrue(nested(parents[at], "conditions"), live.GetGeneration(), object, "Accepted", "ResolvedRefs")
	}
}

// refersTo compares a parent's status with our reference; an absent namespace is the route's own.
func refersTo(parent, ref map[string]any, namespace string) bool {
	of := func(r map[string]any) [3]string {
		ns := text(r, "namespace")
		if ns == "" {
			ns = namespace
		}
		return [3]string{ns, text(r, "name"), text(r, "sectionName")}
	}
	status, isMap := parent["parentRef"].(map[string]any)
	return isMap && of(status) == of(ref)
}
