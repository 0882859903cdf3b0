package migration

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// PatchOp is one JSON Patch operation (RFC 6902).
type PatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	pathVersion     = "/metadata/resourceVersion"
	pathAnnotations = "/metadata/annotations"
	pathAddresses   = "/spec/externalIPs"
	pathPolicy      = "/spec/externalTrafficPolicy"
	pathHealth      = "/spec/healthCheckNodePort"
	pathType        = "/spec/type"
	pathClass       = "/spec/loadBalancerClass"
	pathAllocate    = "/spec/allocateLoadBalancerNodePorts"
	pathRanges      = "/spec/loadBalancerSourceRanges"
	pathPorts       = "/spec/ports"
)

// ReleasePatch removes the field and writes our mark, in one. The resourceVersion is written, so that a Service that
// changed since is a 409 (look again); the exact old list is tested, so that another list is a 422. A Service without
// the field gets no patch: there is nothing of which we could prove that we took it.
func ReleasePatch(live *corev1.Service, record string, attempt int64) []PatchOp {
	if len(live.Spec.ExternalIPs) == 0 {
		return nil
	}
	ops := []PatchOp{
		versionOp(live),
		{Op: "test", Path: pathAddresses, Value: slices.Clone(live.Spec.ExternalIPs)},
		{Op: "remove", Path: pathAddresses},
	}
	return append(ops, annotateOp(live, v1alpha1.AnnotationReleased, record+"/"+strconv.FormatInt(attempt, 10)))
}

// RestorePatch puts externalIPs (each in its canonical spelling, since API servers refuse others), the traffic policy
// and the health check port back and removes our mark, in one. A Service without our mark gets no patch: that we took
// the field is then unproven. Addresses that somebody added meanwhile stay, behind the restored ones.
func RestorePatch(live *corev1.Service, s ServiceSnapshot) []PatchOp {
	mark, ok := live.Annotations[v1alpha1.AnnotationReleased]
	if !ok {
		return nil
	}
	ops := []PatchOp{versionOp(live), {Op: "test", Path: annotationPath(v1alpha1.AnnotationReleased), Value: mark}}
	ops = append(ops, fieldOps(live, s)...)
	return append(ops, healthOps(live, s)...)
}

// fieldOps put the field and the traffic policy back and take our mark away, if it is there.
func fieldOps(live *corev1.Service, s ServiceSnapshot) []PatchOp {
	var ops []PatchOp
	if want := restoredAddresses(live.Spec.ExternalIPs, s.Spec.ExternalIPs); len(want) > 0 {
		ops = append(ops, PatchOp{Op: "add", Path: pathAddresses, Value: want})
	}
	if s.Spec.ExternalTrafficPolicy != "" {
		ops = append(ops, PatchOp{Op: "add", Path: pathPolicy, Value: string(s.Spec.ExternalTrafficPolicy)})
	}
	if _, ok := live.Annotations[v1alpha1.AnnotationReleased]; ok {
		ops = append(ops, PatchOp{Op: "remove", Path: annotationPath(v1alpha1.AnnotationReleased)})
	}
	return ops
}

// healthOps pin the health check port, where the API server would draw a new one: on a LoadBalancer that becomes Local
// again. It is immutable while Local, and refused on other types.
func healthOps(live *corev1.Service, s ServiceSnapshot) []PatchOp {
	local := corev1.ServiceExternalTrafficPolicyLocal
	balancer := live.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.Type == corev1.ServiceTypeLoadBalancer
	if !balancer || s.Spec.HealthCheckNodePort == 0 || s.Spec.ExternalTrafficPolicy != local || live.Spec.ExternalTrafficPolicy == local {
		return nil
	}
	return []PatchOp{{Op: "add", Path: pathHealth, Value: s.Spec.HealthCheckNodePort}}
}

// restoredAddresses are the snapshot's, canonical, then live ones that the snapshot does not have, as they stand.
func restoredAddresses(live, was []string) []string {
	var out, held []string
	for _, text := range was {
		out = append(out, spelling(text))
	}
	held = slices.Clone(out)
	for _, text := range live {
		if !slices.Contains(held, spelling(text)) {
			out = append(out, text)
		}
	}
	return out
}

// spelling is the canonical form of an address; what is none stands as written and is for the API server to judge.
func spelling(text string) string {
	addr, _, err := addresspool.Canonical(text)
	if err != nil {
		return text
	}
	return addr.String()
}

// versionOp makes a Service that changed since a conflict (409): the API server compares what a patch writes here.
func versionOp(live *corev1.Service) PatchOp {
	return PatchOp{Op: "replace", Path: pathVersion, Value: live.ResourceVersion}
}

// annotateOp sets one annotation; the map is made where there is none, since "add" needs its parent.
func annotateOp(live *corev1.Service, key, value string) PatchOp {
	if len(live.Annotations) == 0 {
		return PatchOp{Op: "add", Path: pathAnnotations, Value: map[string]string{key: value}}
	}
	return PatchOp{Op: "add", Path: annotationPath(key), Value: value}
}

// annotationPath escapes as RFC 6901 section 3 asks.
func annotationPath(key string) string {
	return pathAnnotations + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
