package sim

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/inventory"
)

// populate stores the manifests, makes up what they lack, and sets up names and clients.
func (w *world) populate(ctx context.Context) error {
	objects, err := w.flatten(w.options.Objects)
	if err != nil {
		return err
	}
	w.server.seeding = true
	defer func() { w.server.seeding = false }()
	for _, obj := range objects {
		if err := w.seed(ctx, obj); err != nil {
			return err
		}
	}
	if len(w.before) == 0 {
		w.assume("no Service in the manifests carries spec.externalIPs: there is nothing to rehearse")
	}
	for _, fill := range []func(context.Context) error{
		w.fillNodes, w.fillZones, w.fillPolicy, w.fillClasses, w.fillPools, w.fillKeys, w.optIn,
	} {
		if err := fill(ctx); err != nil {
			return err
		}
	}
	w.serveNames()
	w.openFlows()
	return nil
}

// flatten unpacks lists and turns untyped objects into typed ones.
func (w *world) flatten(in []runtime.Object) ([]client.Object, error) {
	var out []client.Object
	for _, obj := range in {
		if meta.IsListType(obj) {
			items, err := meta.ExtractList(obj)
			if err != nil {
				return nil, err
			}
			more, err := w.flatten(items)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		typed, err := w.server.typed(obj.DeepCopyObject())
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", describe(obj), err)
		}
		if o, ok := typed.(client.Object); ok {
			out = append(out, o)
		}
	}
	return out, nil
}

func describe(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return obj.GetObjectKind().GroupVersionKind().Kind + " " + m.GetNamespace() + "/" + m.GetName()
}

// seed stores one manifest as if it had always been there.
func (w *world) seed(ctx context.Context, obj client.Object) error {
	gk := w.server.store.kind(obj)
	if gk.Kind == "" {
		return nil
	}
	if gk.Group == v1alpha1.GroupVersion.Group && !slices.Contains([]string{"MigrationPolicy", "DNSZone"}, gk.Kind) {
		w.assume("%s %s is left out: a rehearsal begins at the beginning", gk.Kind, obj.GetName())
		return nil
	}
	if obj.GetNamespace() == "" && !clusterScoped(gk.Kind) {
		obj.SetNamespace("default")
	}
	if w.exists(ctx, obj) {
		return fmt.Errorf("%s %s/%s is in the manifests twice: leave one out", gk.Kind, obj.GetNamespace(), obj.GetName())
	}
	clean(obj)
	status := ingressOf(obj)
	if err := w.cluster.Create(ctx, obj); err != nil {
		return fmt.Errorf("%s %s/%s: %w", gk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	return w.seedService(ctx, svc, status)
}

func (w *world) exists(ctx context.Context, obj client.Object) bool {
	probe, ok := obj.DeepCopyObject().(client.Object)
	return ok && w.cluster.Get(ctx, client.ObjectKeyFromObject(obj), probe) == nil
}

// clean drops what a server wrote into the manifest of a live object.
func clean(obj client.Object) {
	obj.SetResourceVersion("")
	obj.SetUID("")
	obj.SetGeneration(0)
	obj.SetManagedFields(nil)
	obj.SetDeletionTimestamp(nil)
	obj.SetOwnerReferences(nil)
	annotations := obj.GetAnnotations()
	for _, a := range []string{v1alpha1.AnnotationEntryPoint, v1alpha1.AnnotationReleased} {
		delete(annotations, a)
	}
}

func ingressOf(obj client.Object) []corev1.LoadBalancerIngress {
	if svc, ok := obj.(*corev1.Service); ok {
		return slices.Clone(svc.Status.LoadBalancer.Ingress)
	}
	return nil
}

func (w *world) seedService(ctx context.Context, svc *corev1.Service, ingress []corev1.LoadBalancerIngress) error {
	if len(ingress) > 0 && svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Status.LoadBalancer.Ingress = ingress
		if err := w.cluster.Status().Update(ctx, svc); err != nil {
			return fmt.Errorf("status of Service %s/%s: %w", svc.Namespace, svc.Name, err)
		}
	}
	key := svc.Namespace + "/" + svc.Name
	if at := svc.Annotations[AnnotationRollbackAt]; at != "" {
		if err := checkRollbackAt(at); err != nil {
			return fmt.Errorf("service %s annotation %s: %w", key, AnnotationRollbackAt, err)
		}
		w.rollbacks[key] = at
	}
	if len(svc.Spec.ExternalIPs) > 0 {
		w.before[key] = svc.DeepCopy()
	}
	return nil
}

// serveNames gives every DNSZone its servers, and the names of the Services their old addresses.
func (w *world) serveNames() {
	for _, key := range slices.Sorted(maps.Keys(w.before)) {
		svc := w.before[key]
		for _, name := range inventory.Candidates(svc) {
			w.records[name] = joined(w.records[name], svc)
		}
	}
	for _, obj := range sortedObjects(w.server.store.cache, zoneKind) {
		z, ok := obj.(*v1alpha1.DNSZone)
		if !ok {
			continue
		}
		of := dnsctl.Zone{
			Object: z.Name, Apex: apex(z.Spec.Zone), Primary: z.Spec.Primary, Servers: z.Spec.Servers,
			Manual: z.Spec.Mode == v1alpha1.ZoneModeManual,
		}
		records := map[string]dnsctl.RecordSet{}
		for name, set := range w.records {
			if dnsctl.Under(of.Apex, name) {
				records[name] = set
			}
		}
		w.zones.Add(of, records)
	}
}

// oldTTL is the TTL of every name before the walk.
const oldTTL = 3600

func joined(set dnsctl.RecordSet, svc *corev1.Service) dnsctl.RecordSet {
	for _, a := range oldAddresses(svc) {
		family := &set.A
		if a.Is6() {
			family = &set.AAAA
		}
		family.TTL = oldTTL
		family.Addresses = sortedAddresses(append(family.Addresses, a))
	}
	return set
}

func oldAddresses(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, text := range svc.Spec.ExternalIPs {
		if a, _, err := addresspool.Canonical(text); err == nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// openFlows makes the clients: one population for each Service's port and name, or its literal addresses.
func (w *world) openFlows() {
	for _, key := range slices.Sorted(maps.Keys(w.before)) {
		svc := w.before[key]
		if svc.Spec.ClusterIP == corev1.ClusterIPNone || svc.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		for _, p := range svc.Spec.Ports {
			w.openPort(key, svc, p)
		}
	}
}

func (w *world) openPort(key string, svc *corev1.Service, p corev1.ServicePort) {
	f := flow{service: key, literals: oldAddresses(svc), port: p.Port, protocol: protocolOf(p)}
	named := false
	for _, name := range inventory.Candidates(svc) {
		if _, served := w.zones.Ask(name, 0); served {
			named = true
			byName := f
			byName.name = name
			w.users.flows = append(w.users.flows, &byName)
		}
	}
	if !named && len(f.literals) > 0 {
		w.users.flows = append(w.users.flows, &f)
	}
}
