package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
)

// apiServer does to a Service what kube-apiserver 1.36 was measured to do with our writes; nothing of it is ours.
type apiServer struct {
	version int
	next    int32 // next number of the node port range
}

var (
	errConflict = errors.New("409 conflict")
	errInvalid  = errors.New("422 invalid")
)

// create defaults a new Service.
func (a *apiServer) create(svc *corev1.Service) *corev1.Service {
	out := svc.DeepCopy()
	if out.Spec.Type == "" {
		out.Spec.Type = corev1.ServiceTypeClusterIP
	}
	a.fill(out, &corev1.Service{})
	a.stamp(out)
	return out
}

func (a *apiServer) stamp(svc *corev1.Service) {
	a.version++
	svc.ResourceVersion = strconv.Itoa(a.version)
}

// patch applies a JSON Patch to the main resource.
func (a *apiServer) patch(old *corev1.Service, ops []PatchOp) (*corev1.Service, error) {
	if len(ops) == 0 {
		return old, nil
	}
	out, err := patched(old, ops)
	if err != nil {
		return nil, err
	}
	if out.ResourceVersion != old.ResourceVersion {
		return nil, fmt.Errorf("%w: resourceVersion %s, want %s", errConflict, out.ResourceVersion, old.ResourceVersion)
	}
	out.Status = *old.Status.DeepCopy()
	a.drop(out, old)
	if err := validate(out, old); err != nil {
		return nil, err
	}
	a.fill(out, old)
	a.stamp(out)
	return out, nil
}

func patched(old *corev1.Service, ops []PatchOp) (*corev1.Service, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	after, err := patch.Apply(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	out := &corev1.Service{}
	return out, json.Unmarshal(after, out)
}

// status applies a merge patch to the status subresource.
func (a *apiServer) status(old *corev1.Service, patch json.RawMessage) (*corev1.Service, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(doc, patch)
	if err != nil {
		return nil, err
	}
	seen := &corev1.Service{}
	if err := json.Unmarshal(after, seen); err != nil {
		return nil, err
	}
	if old.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil, fmt.Errorf("%w: status.loadBalancer.ingress needs type LoadBalancer", errInvalid)
	}
	out := old.DeepCopy()
	out.Status = seen.Status
	vip := corev1.LoadBalancerIPModeVIP
	for i := range out.Status.LoadBalancer.Ingress {
		out.Status.LoadBalancer.Ingress[i].IPMode = &vip
	}
	a.stamp(out)
	return out, nil
}

func accessible(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

func needsHealth(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// drop clears what a type or field change leaves behind and the request did not touch.
func (a *apiServer) drop(out, old *corev1.Service) {
	n, o := &out.Spec, &old.Spec
	if accessible(o) && !accessible(n) && n.ExternalTrafficPolicy == o.ExternalTrafficPolicy {
		n.ExternalTrafficPolicy = ""
	}
	if needsHealth(o) && !needsHealth(n) && n.HealthCheckNodePort == o.HealthCheckNodePort {
		n.HealthCheckNodePort = 0
	}
	lb := corev1.ServiceTypeLoadBalancer
	if o.Type == lb && n.Type != lb {
		if reflect.DeepEqual(o.LoadBalancerClass, n.LoadBalancerClass) {
			n.LoadBalancerClass = nil
		}
		if reflect.DeepEqual(o.AllocateLoadBalancerNodePorts, n.AllocateLoadBalancerNodePorts) {
			n.AllocateLoadBalancerNodePorts = nil
		}
		out.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	if n.Type == corev1.ServiceTypeClusterIP && o.Type != n.Type {
		dropNodePorts(n, o)
	}
}

func dropNodePorts(n, o *corev1.ServiceSpec) {
	for i := range n.Ports {
		if n.Ports[i].NodePort == nodePortOf(o.Ports, n.Ports[i]) {
			n.Ports[i].NodePort = 0
		}
	}
}

// validate refuses what was measured to be 422.
func validate(out, old *corev1.Service) error {
	n, o := &out.Spec, &old.Spec
	for _, check := range []func(n, o *corev1.ServiceSpec) error{validateBalancer, validateHealth, validateExternalIPs} {
		if err := check(n, o); err != nil {
			return err
		}
	}
	return nil
}

func validateBalancer(n, o *corev1.ServiceSpec) error {
	lb := corev1.ServiceTypeLoadBalancer
	switch {
	case !accessible(n) && n.ExternalTrafficPolicy != "":
		return fmt.Errorf("%w: externalTrafficPolicy may only be set for externally-accessible services", errInvalid)
	case n.Type != lb && (n.LoadBalancerClass != nil || n.AllocateLoadBalancerNodePorts != nil || len(n.LoadBalancerSourceRanges) > 0):
		return fmt.Errorf("%w: class, allocate and source ranges need type LoadBalancer", errInvalid)
	case o.Type == lb && n.Type == lb && !reflect.DeepEqual(o.LoadBalancerClass, n.LoadBalancerClass):
		return fmt.Errorf("%w: loadBalancerClass may not change once set", errInvalid)
	case n.ClusterIP == corev1.ClusterIPNone && n.Type == lb:
		return fmt.Errorf("%w: headless", errInvalid)
	}
	return nil
}

func validateHealth(n, o *corev1.ServiceSpec) error {
	switch {
	case n.HealthCheckNodePort != 0 && !needsHealth(n):
		return fmt.Errorf("%w: healthCheckNodePort may only be set on LoadBalancer and Local", errInvalid)
	case needsHealth(n) && needsHealth(o) && n.HealthCheckNodePort != 0 && n.HealthCheckNodePort != o.HealthCheckNodePort:
		return fmt.Errorf("%w: healthCheckNodePort is immutable", errInvalid)
	}
	return nil
}

func validateExternalIPs(n, o *corev1.ServiceSpec) error {
	for _, text := range n.ExternalIPs {
		_, strict, err := addresspool.Canonical(text)
		if (err != nil || !strict) && !slices.Contains(o.ExternalIPs, text) {
			return fmt.Errorf("%w: externalIPs %q", errInvalid, text)
		}
	}
	return nil
}

// fill defaults and allocates.
func (a *apiServer) fill(out, old *corev1.Service) {
	n := &out.Spec
	if accessible(n) && n.ExternalTrafficPolicy == "" {
		n.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	lb := n.Type == corev1.ServiceTypeLoadBalancer
	if lb && n.AllocateLoadBalancerNodePorts == nil {
		yes := true
		n.AllocateLoadBalancerNodePorts = &yes
	}
	if needsHealth(n) && n.HealthCheckNodePort == 0 {
		n.HealthCheckNodePort = old.Spec.HealthCheckNodePort
		if !needsHealth(&old.Spec) || n.HealthCheckNodePort == 0 {
			n.HealthCheckNodePort = a.draw()
		}
	}
	if n.Type != corev1.ServiceTypeNodePort && (!lb || !*n.AllocateLoadBalancerNodePorts) {
		return
	}
	for i := range n.Ports {
		if n.Ports[i].NodePort == 0 {
			n.Ports[i].NodePort = a.draw()
		}
	}
}

func (a *apiServer) draw() int32 {
	a.next++
	return 30000 + a.next
}

// must unwraps a write that the API server has to accept.
func must(t *testing.T) func(*corev1.Service, error) *corev1.Service {
	t.Helper()
	return func(svc *corev1.Service, err error) *corev1.Service {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
}
