package inventory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allocator is something beside MetalLB that gives addresses to load balancer Services.
type allocator struct {
	// object that holds the setting; project that obeys it; how to keep it off new Services.
	object, project, fix string
	ranges               spans
	// all: it serves every Service without class; otherwise only some.
	all bool
}

// readAllocators reads Cilium's: LB-IPAM with its pools, and Node IPAM.
func readAllocators(others []*unstructured.Unstructured, s settings) []allocator {
	var out []allocator
	for _, o := range ofKind(others, kindCiliumPool) {
		if off, _, _ := unstructured.NestedBool(o.Object, "spec", "disabled"); off {
			continue
		}
		out = append(out, allocator{
			object: objectText(o), project: "Cilium LB-IPAM", ranges: ciliumRanges(o),
			fix: "Narrow the pool with spec.serviceSelector, or give MetalLB a class of its own.",
			all: len(asMap(at(o.Object, "spec", "serviceSelector"))) == 0,
		})
	}
	if s.nodeIPAM != "" {
		out = append(out, allocator{
			object: s.nodeIPAM, project: "Cilium Node IPAM", all: true,
			fix: "Set default-lb-service-ipam to none, or give MetalLB a class of its own.",
		})
	}
	return out
}

// ciliumRanges reads spec.blocks, and spec.cidrs of older versions.
func ciliumRanges(o *unstructured.Unstructured) spans {
	var out spans
	for _, field := range []string{"blocks", "cidrs"} {
		for _, element := range asList(at(o.Object, "spec", field)) {
			if r, ok := rangeOf(element); ok {
				out = append(out, span{r, objectText(o)})
			}
		}
	}
	return out.sorted()
}

// openShiftSpans are the ranges from which OpenShift writes addresses into the field of load balancer Services.
func openShiftSpans(others []*unstructured.Unstructured) spans {
	var out spans
	for _, o := range ofKind(others, "Network") {
		if o.GroupVersionKind().Group != groupOpenShift {
			continue
		}
		for _, text := range textsAt(o.Object, "spec", "externalIP", "autoAssignCIDRs") {
			out = out.add(text, objectText(o))
		}
	}
	return out.sorted()
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}
