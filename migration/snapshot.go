package migration

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// lastApplied is left out of snapshots: it repeats the whole manifest, and nothing of it is restored.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// TakeSnapshot copies what Back restores: each Service's complete spec, labels and annotations, sorted by namespace and
// name, and the record sets. Addresses stay as written; Restore writes their canonical spelling.
func TakeSnapshot(services []*corev1.Service, names []dnsctl.Name, now time.Time) *Snapshot {
	s := &Snapshot{Services: []ServiceSnapshot{}, TakenAt: now.UTC().Round(0)}
	for _, svc := range services {
		if svc != nil {
			s.Services = append(s.Services, snapshotOf(svc))
		}
	}
	slices.SortFunc(s.Services, func(a, b ServiceSnapshot) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, n := range names {
		s.Names = append(s.Names, copyName(n))
	}
	slices.SortFunc(s.Names, func(a, b dnsctl.Name) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func snapshotOf(svc *corev1.Service) ServiceSnapshot {
	annotations := maps.Clone(svc.Annotations)
	delete(annotations, lastApplied)
	return ServiceSnapshot{
		Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID),
		Annotations: annotations, Labels: maps.Clone(svc.Labels), Spec: *svc.Spec.DeepCopy(),
	}
}

func copyName(n dnsctl.Name) dnsctl.Name {
	n.Snapshot.A.Addresses = slices.Clone(n.Snapshot.A.Addresses)
	n.Snapshot.AAAA.Addresses = slices.Clone(n.Snapshot.AAAA.Addresses)
	n.Old, n.New, n.Aliases = slices.Clone(n.Old), slices.Clone(n.New), slices.Clone(n.Aliases)
	return n
}

// Find is the snapshot of one Service; false if there is none, or of an object that was recreated since.
func (s *Snapshot) Find(namespace, name, uid string) (ServiceSnapshot, bool) {
	if s == nil {
		return ServiceSnapshot{}, false
	}
	i := slices.IndexFunc(s.Services, func(x ServiceSnapshot) bool {
		return x.Namespace == namespace && x.Name == name && x.UID == uid
	})
	if i < 0 {
		return ServiceSnapshot{}, false
	}
	return s.Services[i], true
}

// Before is svc as it was, for planning during a walk: where the walk changed it, the snapshot's fields are laid over a
// copy of the live object. What the walk did not change stays live, so that somebody else's edit shows as a drift.
func Before(svc *corev1.Service, s *Snapshot) *corev1.Service {
	out := svc.DeepCopy()
	if out == nil {
		return nil
	}
	was, ok := s.Find(svc.Namespace, svc.Name, string(svc.UID))
	if !ok {
		return out
	}
	unadoptOver(out, was)
	unreleaseOver(out, was)
	delete(out.Annotations, v1alpha1.AnnotationReleased)
	if len(out.Annotations) == 0 {
		out.Annotations = nil
	}
	return out
}

// unreleaseOver lays the field over, and the policy that the API server drops with it on a ClusterIP.
func unreleaseOver(out *corev1.Service, was ServiceSnapshot) {
	_, marked := out.Annotations[v1alpha1.AnnotationReleased]
	if !marked && len(out.Spec.ExternalIPs) > 0 {
		return
	}
	out.Spec.ExternalIPs = slices.Clone(was.Spec.ExternalIPs)
	if out.Spec.ExternalTrafficPolicy == "" {
		out.Spec.ExternalTrafficPolicy = was.Spec.ExternalTrafficPolicy
	}
}

// unadoptOver lays over what adoption sets. A Service that was of our class before the walk was not adopted by it.
func unadoptOver(out *corev1.Service, was ServiceSnapshot) {
	if !isAdopted(&out.Spec) || isAdopted(&was.Spec) {
		return
	}
	spec := was.Spec.DeepCopy()
	out.Spec.Type = spec.Type
	out.Spec.LoadBalancerClass = spec.LoadBalancerClass
	out.Spec.AllocateLoadBalancerNodePorts = spec.AllocateLoadBalancerNodePorts
	out.Spec.HealthCheckNodePort = spec.HealthCheckNodePort
	out.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	for i := range out.Spec.Ports {
		out.Spec.Ports[i].NodePort = nodePortOf(was.Spec.Ports, out.Spec.Ports[i])
	}
}

// nodePortOf is the node port that the port had, or 0.
func nodePortOf(ports []corev1.ServicePort, p corev1.ServicePort) int32 {
	i := slices.IndexFunc(ports, func(x corev1.ServicePort) bool {
		return x.Port == p.Port && protocolOf(x) == protocolOf(p)
	})
	if i < 0 {
		return 0
	}
	return ports[i].NodePort
}

// isAdopted tells whether the Service is of the class that adoption gives it.
func isAdopted(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.LoadBalancerClass != nil && *spec.LoadBalancerClass == v1alpha1.ClassAdopted
}

// protocolOf is the protocol with the API's default.
func protocolOf(p corev1.ServicePort) corev1.Protocol {
	return cmp.Or(p.Protocol, corev1.ProtocolTCP)
}

// ReleasedBy reads our mark: the record and the attempt that took the field away; false if there is no readable mark.
func ReleasedBy(svc *corev1.Service) (record string, attempt int64, ok bool) {
	record, text, found := strings.Cut(svc.Annotations[v1alpha1.AnnotationReleased], "/")
	attempt, err := strconv.ParseInt(text, 10, 64)
	if !found || record == "" || err != nil || attempt < 1 {
		return "", 0, false
	}
	return record, attempt, true
}
