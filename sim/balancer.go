package sim

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool/metallb"
)

// balancer emulates MetalLB's controller: a LoadBalancer Service without a class gets the address that it asks for in
// the annotation, if a pool holds it and nobody else has it. It allocates nothing that was not asked for by name from a
// pool with autoAssign false.
type balancer struct {
	api   client.Client
	cache *cache
	// failing: nothing is allocated any more (a fault).
	failing bool
}

const (
	annotationWanted = "metallb.io/loadBalancerIPs"
	annotationPool   = "metallb.io/ip-allocated-from-pool"
)

var poolKind = schema.GroupKind{Group: "metallb.io", Kind: "IPAddressPool"}

// sync serves every Service that wants an address and has none.
func (b *balancer) sync(ctx context.Context) error {
	for _, obj := range sortedObjects(b.cache, serviceKind) {
		svc, ok := obj.(*corev1.Service)
		if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass != nil {
			continue
		}
		if len(svc.Status.LoadBalancer.Ingress) > 0 || b.failing {
			continue
		}
		if err := b.assign(ctx, svc.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

func (b *balancer) assign(ctx context.Context, svc *corev1.Service) error {
	wanted := addresses(svc.Annotations[annotationWanted])
	pool := ""
	var ingress []corev1.LoadBalancerIngress
	for _, addr := range wanted {
		if pool = b.poolOf(addr); pool == "" || b.taken(addr) {
			return nil
		}
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: addr.String()})
	}
	if len(ingress) == 0 {
		return nil
	}
	if svc.Annotations[annotationPool] != pool {
		svc.Annotations[annotationPool] = pool
		if err := b.api.Update(ctx, svc); err != nil {
			return err
		}
	}
	svc.Status.LoadBalancer.Ingress = ingress
	return b.api.Status().Update(ctx, svc)
}

// addresses reads a comma-separated list; one that cannot be read asks for nothing.
func addresses(list string) []netip.Addr {
	var out []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil
		}
		out = append(out, addr)
	}
	return out
}

func (b *balancer) poolOf(addr netip.Addr) string {
	for _, obj := range sortedObjects(b.cache, poolKind) {
		if slices.ContainsFunc(metallb.Addresses(obj), func(r string) bool { return inRange(r, addr) }) {
			return obj.GetName()
		}
	}
	return ""
}

// taken: by the ingress of another Service. MetalLB knows nothing of externalIPs.
func (b *balancer) taken(addr netip.Addr) bool {
	for _, obj := range sortedObjects(b.cache, serviceKind) {
		svc, ok := obj.(*corev1.Service)
		if !ok {
			continue
		}
		in := svc.Status.LoadBalancer.Ingress
		if slices.ContainsFunc(in, func(x corev1.LoadBalancerIngress) bool { return x.IP == addr.String() }) {
			return true
		}
	}
	return false
}

// inRange reads the two notations of a pool: a CIDR, and first-last.
func inRange(text string, addr netip.Addr) bool {
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		return p.Contains(addr)
	}
	a, z, ok := strings.Cut(text, "-")
	first, err1 := netip.ParseAddr(strings.TrimSpace(a))
	last, err2 := netip.ParseAddr(strings.TrimSpace(z))
	return ok && err1 == nil && err2 == nil && first.Compare(addr) <= 0 && addr.Compare(last) <= 0
}
