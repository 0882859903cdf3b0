package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file emulates what kube-apiserver 1.36 does to a Service; apitest holds it to a real one.

const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// defaultService fills in and takes away what the server fills in and takes away by itself.
func (s *Server) defaultService(old, svc *corev1.Service) {
	spec := &svc.Spec
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	if spec.SessionAffinity == "" {
		spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	if spec.InternalTrafficPolicy == nil && spec.Type != corev1.ServiceTypeExternalName {
		cluster := corev1.ServiceInternalTrafficPolicyCluster
		spec.InternalTrafficPolicy = &cluster
	}
	defaultPorts(spec)
	if old != nil {
		dropDependent(old, svc)
	}
	if spec.ExternalTrafficPolicy == "" && external(spec) {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.AllocateLoadBalancerNodePorts == nil && spec.Type == corev1.ServiceTypeLoadBalancer {
		yes := true
		spec.AllocateLoadBalancerNodePorts = &yes
	}
	s.assign(old, svc)
}

func defaultPorts(spec *corev1.ServiceSpec) {
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
}

// external tells whether the Service may have an external traffic policy.
func external(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

// dropDependent clears, in the same request, what the new type or the lost field no longer allows, where it is unchanged.
func dropDependent(old, svc *corev1.Service) {
	spec, was := &svc.Spec, &old.Spec
	if !external(spec) && external(was) && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if hasHealthPort(was) && !hasHealthPort(spec) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		dropBalancer(old, svc)
	}
	if nodePorted(was) && !nodePorted(spec) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
}

func dropBalancer(old, svc *corev1.Service) {
	svc.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	if same(svc.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		svc.Spec.LoadBalancerClass = nil
	}
	if same(svc.Spec.AllocateLoadBalancerNodePorts, old.Spec.AllocateLoadBalancerNodePorts) {
		svc.Spec.AllocateLoadBalancerNodePorts = nil
	}
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func hasHealthPort(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func nodePorted(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// assign gives cluster addresses and node ports.
func (s *Server) assign(old, svc *corev1.Service) {
	spec := &svc.Spec
	if old != nil && spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName {
		spec.ClusterIP, spec.ClusterIPs = old.Spec.ClusterIP, slices.Clone(old.Spec.ClusterIPs)
		spec.IPFamilies, spec.IPFamilyPolicy = slices.Clone(old.Spec.IPFamilies), old.Spec.IPFamilyPolicy
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = s.store.nextClusterIP()
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if spec.IPFamilyPolicy == nil {
		single := corev1.IPFamilyPolicySingleStack
		spec.IPFamilyPolicy = &single
	}
	s.assignNodePorts(spec)
}

func (s *Server) assignNodePorts(spec *corev1.ServiceSpec) {
	wanted := spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeLoadBalancer && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts)
	for i := range spec.Ports {
		if wanted && spec.Ports[i].NodePort == 0 {
			spec.Ports[i].NodePort = s.store.nextNodePort()
		}
	}
	if hasHealthPort(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = s.store.nextNodePort()
	}
}

func (t *store) nextClusterIP() string {
	t.clusterIPs++
	return fmt.Sprintf("10.96.%d.%d", t.clusterIPs/250, 1+t.clusterIPs%250)
}

func (t *store) nextNodePort() int32 {
	t.nodePorts++
	return firstNodePort + t.nodePorts%(lastNodePort-firstNodePort)
}

// validateService answers as the server does, for the rules that the walk can meet.
func validateService(old, svc *corev1.Service) field.ErrorList {
	spec, path := &svc.Spec, field.NewPath("spec")
	var errs field.ErrorList
	for i, text := range spec.ExternalIPs {
		if old == nil || !slices.Contains(old.Spec.ExternalIPs, text) {
			errs = append(errs, validateAddress(path.Child("externalIPs").Index(i), text)...)
		}
	}
	if !external(spec) && spec.ExternalTrafficPolicy != "" {
		errs = append(errs, field.Invalid(path.Child("externalTrafficPolicy"), spec.ExternalTrafficPolicy,
			"may only be set for externally-accessible services"))
	}
	if !hasHealthPort(spec) && spec.HealthCheckNodePort != 0 {
		errs = append(errs, field.Invalid(path.Child("healthCheckNodePort"), spec.HealthCheckNodePort,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
	return append(errs, validateBalancer(old, spec, path)...)
}

func validateBalancer(old *corev1.Service, spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	const only = "may only be used when `type` is 'LoadBalancer'"
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		if spec.LoadBalancerClass != nil {
			errs = append(errs, field.Forbidden(path.Child("loadBalancerClass"), only))
		}
		if spec.AllocateLoadBalancerNodePorts != nil {
			errs = append(errs, field.Forbidden(path.Child("allocateLoadBalancerNodePorts"), only))
		}
		if len(spec.LoadBalancerSourceRanges) > 0 {
			errs = append(errs, field.Forbidden(path.Child("LoadBalancerSourceRanges"), only))
		}
		return errs
	}
	if spec.ClusterIP == corev1.ClusterIPNone {
		errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), "None", "may not be set to 'None' for LoadBalancer services"))
	}
	if old != nil && old.Spec.Type == spec.Type && !same(old.Spec.LoadBalancerClass, spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), spec.LoadBalancerClass, "may not change once set"))
	}
	return errs
}

func validateAddress(path *field.Path, text string) field.ErrorList {
	addr, err := netip.ParseAddr(text)
	switch {
	case err == nil && addr.Zone() == "" && addr.Is4In6():
		return field.ErrorList{field.Invalid(path, text, "must not be an IPv4-mapped IPv6 address")}
	case err == nil && addr.Zone() == "":
		return validateScope(path, text, addr)
	case err != nil && strings.Contains(err.Error(), "leading zero"):
		return field.ErrorList{field.Invalid(path, text, "must not have leading 0s")}
	}
	return field.ErrorList{field.Invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")}
}

func validateScope(path *field.Path, text string, addr netip.Addr) field.ErrorList {
	switch {
	case addr.IsUnspecified():
		return field.ErrorList{field.Invalid(path, text, "may not be unspecified (0.0.0.0 or ::)")}
	case addr.IsLoopback():
		return field.ErrorList{field.Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")}
	case addr.IsLinkLocalUnicast():
		return field.ErrorList{field.Invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")}
	case addr.IsLinkLocalMulticast():
		return field.ErrorList{field.Invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")}
	}
	return nil
}

// admitServiceStatus is a write that changes no spec: only a LoadBalancer has an ingress, and its mode is VIP by default.
func admitServiceStatus(old, svc *corev1.Service) error {
	ingress := svc.Status.LoadBalancer.Ingress
	path := field.NewPath("status", "loadBalancer", "ingress")
	if len(ingress) > 0 && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return refuse("Service", svc.Name, field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"))
	}
	var errs field.ErrorList
	for i := range ingress {
		in := &ingress[i]
		if in.IP == "" {
			continue
		}
		if in.IPMode == nil {
			vip := corev1.LoadBalancerIPModeVIP
			in.IPMode = &vip
		}
		if !slices.ContainsFunc(old.Status.LoadBalancer.Ingress, func(o corev1.LoadBalancerIngress) bool { return o.IP == in.IP }) {
			errs = append(errs, validateAddress(path.Index(i).Child("ip"), in.IP)...)
		}
	}
	if len(errs) > 0 {
		return refuse("Service", svc.Name, errs...)
	}
	return nil
}
