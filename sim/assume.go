package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// What is made up, by name. Addresses are from ranges that no real cluster announces.
const (
	madePolicy     = "rehearsal"
	madeClass      = "rehearsal"
	madePool       = "rehearsal"
	madeController = "gateway.envoyproxy.io/gatewayclass-controller"
	madeKey        = "rehearsal-key"
	madeBoot       = "emulated-"
	gatewayHome    = "gateways"
	metallbHome    = "metallb-system"
)

var zoneKind = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "DNSZone"}

func (w *world) fillNodes(ctx context.Context) error {
	if len(sortedObjects(w.server.store.cache, nodeKind)) > 0 {
		return w.bootNodes(ctx)
	}
	w.assume("three nodes, node-1 to node-3, kube-proxy in nftables mode")
	for i := range 3 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1)}}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("198.18.0.%d", 11+i)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.NodeInfo.BootID = madeBoot + n.Name
		if err := w.cluster.Create(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// bootNodes gives nodes of the manifests that do not say since which boot they run one of their own.
func (w *world) bootNodes(ctx context.Context) error {
	for _, o := range sortedObjects(w.server.store.cache, nodeKind) {
		n, ok := o.DeepCopyObject().(*corev1.Node)
		if !ok || n.Status.NodeInfo.BootID != "" {
			continue
		}
		n.Status.NodeInfo.BootID = madeBoot + n.Name
		if err := w.cluster.Status().Update(ctx, n); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return nil
}

// fillZones makes a zone for each name that no DNSZone of the manifests holds.
func (w *world) fillZones(ctx context.Context) error {
	grants := map[string]map[string]bool{}
	for _, svc := range w.before {
		for _, name := range inventory.Candidates(svc) {
			if w.zoned(name) {
				continue
			}
			a := parent(name)
			if grants[a] == nil {
				grants[a] = map[string]bool{}
			}
			grants[a][svc.Namespace] = true
		}
	}
	for _, a := range slices.Sorted(maps.Keys(grants)) {
		z := &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: a}}
		z.Spec = v1alpha1.DNSZoneSpec{
			Zone: a, Mode: v1alpha1.ZoneModeRRset, Primary: "ns1." + a + ":53", Servers: []string{"ns2." + a + ":53"}, KeySecret: madeKey,
		}
		for _, ns := range slices.Sorted(maps.Keys(grants[a])) {
			z.Spec.Domains = append(z.Spec.Domains, v1alpha1.DomainGrant{Namespace: ns, Suffixes: []string{a}})
		}
		w.assume("DNSZone %s, writable, with one secondary; every name in it points at its Service's old addresses with TTL %d", a, oldTTL)
		if err := w.cluster.Create(ctx, z); err != nil {
			return fmt.Errorf("the name under %s: %w", a, err)
		}
	}
	return nil
}

func (w *world) zoned(name string) bool {
	for _, obj := range sortedObjects(w.server.store.cache, zoneKind) {
		if z, ok := obj.(*v1alpha1.DNSZone); ok && strings.HasSuffix("."+name, "."+apex(z.Spec.Zone)) {
			return true
		}
	}
	return false
}

func apex(zone string) string { return strings.TrimSuffix(strings.ToLower(zone), ".") }

// parent is the zone that a name is taken to lie in: without its first label, where two are left.
func parent(name string) string {
	_, rest, ok := strings.Cut(name, ".")
	if !ok || !strings.Contains(rest, ".") {
		return name
	}
	return rest
}

func (w *world) policies() []*v1alpha1.MigrationPolicy {
	var out []*v1alpha1.MigrationPolicy
	for _, obj := range sortedObjects(w.server.store.cache, policyKind) {
		if p, ok := obj.(*v1alpha1.MigrationPolicy); ok {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) fillPolicy(ctx context.Context) error {
	if len(w.policies()) > 0 || len(w.before) == 0 {
		return nil
	}
	p := &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: madePolicy}}
	p.Spec = v1alpha1.MigrationPolicySpec{
		Gateway: &v1alpha1.GatewaySettings{ClassName: madeClass, Namespace: gatewayHome}, Pools: []string{madePool},
		Drain: v1alpha1.DrainSettings{Attraction: v1alpha1.AttractionStatic},
	}
	namespaces := map[string]bool{}
	for _, svc := range w.before {
		namespaces[svc.Namespace] = true
	}
	p.Spec.Namespaces = slices.Sorted(maps.Keys(namespaces))
	for _, z := range sortedObjects(w.server.store.cache, zoneKind) {
		p.Spec.Zones = append(p.Spec.Zones, z.GetName())
	}
	w.assume("MigrationPolicy %s with the default times, for all namespaces of the manifests; old addresses have static routes", madePolicy)
	return w.cluster.Create(ctx, p)
}

func (w *world) fillClasses(ctx context.Context) error {
	for _, p := range w.policies() {
		if p.Spec.Gateway == nil || w.server.store.cache.objects[classKind][nameKey(p.Spec.Gateway.ClassName)] != nil {
			continue
		}
		c := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.Gateway.ClassName}}
		c.Spec.ControllerName = madeController
		w.assume("GatewayClass %s of %s", c.Name, madeController)
		if err := w.cluster.Create(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// fillPools makes the pools that policies name and the manifests lack, each with an advertisement.
func (w *world) fillPools(ctx context.Context) error {
	made := 0
	for _, p := range w.policies() {
		for _, name := range p.Spec.Pools {
			key := client.ObjectKey{Namespace: metallbHome, Name: name}
			if w.hasPool(name) {
				continue
			}
			ranges := []string{fmt.Sprintf("198.19.%d.0/24", made), fmt.Sprintf("2001:db8:0:%x::/120", made+0xff)}
			made++
			w.assume("IPAddressPool %s with %s, announced", name, strings.Join(ranges, " and "))
			for _, obj := range []client.Object{metallb.NewPool(key, ranges), metallb.NewL2Advertisement(key, name)} {
				if err := w.cluster.Create(ctx, obj); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *world) hasPool(name string) bool {
	return slices.ContainsFunc(sortedObjects(w.server.store.cache, poolKind), func(o client.Object) bool { return o.GetName() == name })
}

// fillKeys makes the key Secrets that zones name. The emulated servers take any key.
func (w *world) fillKeys(ctx context.Context) error {
	for _, obj := range sortedObjects(w.server.store.cache, zoneKind) {
		z, ok := obj.(*v1alpha1.DNSZone)
		if !ok || z.Spec.KeySecret == "" {
			continue
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: z.Spec.KeySecret}}
		if w.exists(ctx, s) {
			continue
		}
		s.Data = map[string][]byte{"name": []byte("rehearsal"), "algorithm": []byte("hmac-sha256"), "secret": []byte("cmVoZWFyc2Fs")}
		if err := w.cluster.Create(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// optIn opts Services in that the manifests did not: a rehearsal is about what would happen if they were.
func (w *world) optIn(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(w.before)) {
		svc := w.before[key].DeepCopy()
		if svc.Annotations[v1alpha1.AnnotationPolicy] != "" {
			continue
		}
		policy := w.policyFor(svc.Namespace)
		if policy == "" {
			w.assume("Service %s stays out: no MigrationPolicy lists its namespace", key)
			continue
		}
		if err := w.cluster.Get(ctx, client.ObjectKeyFromObject(svc), svc); err != nil {
			return err
		}
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[v1alpha1.AnnotationPolicy] = policy
		w.assume("Service %s opts in to MigrationPolicy %s", key, policy)
		if err := w.cluster.Update(ctx, svc); err != nil {
			return err
		}
		w.before[key] = svc.DeepCopy()
	}
	return nil
}

func (w *world) policyFor(namespace string) string {
	for _, p := range w.policies() {
		if slices.Contains(p.Spec.Namespaces, namespace) {
			return p.Name
		}
	}
	return ""
}
