//go:build api

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// TestRing is the whole ring: one API server, one BIND, one controller; the stories run side by side.
func TestRing(t *testing.T) {
	r := startRing(t)
	t.Run("stories", func(t *testing.T) {
		t.Run("a whole walk with a held connection, and back", r.whole)
		for i, gate := range gatesBack() {
			t.Run("back from "+gate, r.backFrom(i+1, gate))
		}
		t.Run("a TCP Service moves to a parallel LoadBalancer, and back", r.balanced)
		t.Run("an address without a name is adopted in place, and given back", r.adopted)
		t.Run("tenants", r.tenants)
		t.Run("a failing new path is left, and the attempt remembers it", r.aborts)
		t.Run("what is missing is named", r.missing)
		t.Run("what a tenant writes grants nothing", r.hostile)
	})
	t.Run("an idle agent renews its Lease, and is believed as long as it does", r.idle)
	if log := tail(r.log.Name()); strings.Contains(log, "panic") || strings.Contains(log, "is forbidden: User") {
		t.Errorf("the controller's log tells of a panic or a missing right:\n%s", log)
	}
}

// balanced walks a Service with policy Local whose protocol nobody proved.
func (r *ring) balanced(t *testing.T) {
	t.Parallel()
	w := r.walkOf(t, 32, func(s *corev1.Service) {
		s.Spec.Ports[0].AppProtocol, s.Spec.Ports[0].Name = nil, "tcp"
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	w.goal(v1alpha1.GoalStage)
	w.reach("Proven")
	w.strategy(v1alpha1.StrategyLoadBalancer)
	w.reach("RollbackAvailable")
	w.goal(v1alpha1.GoalRelease)
	w.reach("TTLRestored")
	w.back()
	w.restored()
	w.nothingLost()
}

// adopted walks a Service whose address stays: type and class change, the field goes, and all of it comes back.
func (r *ring) adopted(t *testing.T) {
	t.Parallel()
	w := r.walkOf(t, 33, func(s *corev1.Service) {
		s.Annotations[v1alpha1.AnnotationStrategy] = string(v1alpha1.StrategyAdopt)
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	w.set(func(s *v1alpha1.EntryPointSpec, _ *v1alpha1.EntryPointStatus) { s.Strategy = v1alpha1.StrategyAdopt })
	w.goal(v1alpha1.GoalStage)
	w.reach("Proven")
	w.strategy(v1alpha1.StrategyAdopt)
	w.goal(v1alpha1.GoalRelease)
	w.reach("Released")
	w.reach("Soaked")
	var svc corev1.Service
	if err := r.admin.Get(context.Background(), client.ObjectKeyFromObject(&w.before), &svc); err != nil {
		t.Fatal(err)
	}
	in := svc.Status.LoadBalancer.Ingress
	if len(svc.Spec.ExternalIPs) > 0 || len(in) != 1 || in[0].IP != w.old || svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		t.Errorf("externalIPs %v, ingress %v, policy %s", svc.Spec.ExternalIPs, in, svc.Spec.ExternalTrafficPolicy)
	}
	w.back()
	w.restored()
	w.nothingLost()
}

// aborts lets the new path fail at a share: names go back by themselves, the same attempt never tries again.
func (r *ring) aborts(t *testing.T) {
	t.Parallel()
	w := r.newWalk(t, 31)
	w.goal(v1alpha1.GoalStage)
	w.reach("Proven")
	ep, err := w.get()
	if err != nil {
		t.Fatal(err)
	}
	target := ep.Status.NewAddresses[0]
	w.goal(v1alpha1.GoalRelease)
	w.reach("Share50")
	r.world.fail(target, true)
	w.reach("Share0")
	r.world.fail(target, false)
	time.Sleep(5 * time.Second)
	if ep, err = w.get(); err != nil || ep.Status.SharePercent != 0 {
		t.Errorf("share %d after the path healed in an aborted attempt (%v)%s", ep.Status.SharePercent, err, describe(ep))
	}
	w.back()
	w.restored()
}

// missing tries settings that name what is not there: each says object, field and way out, and nothing crashes.
func (r *ring) missing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	objects := map[string]client.Object{
		"GatewayClass": &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "no-class"}, Spec: v1alpha1.MigrationPolicySpec{
			Namespaces: []string{"other"}, Gateway: &v1alpha1.GatewaySettings{ClassName: "nowhere", Namespace: "gateways"},
		}},
		"IPAddressPool": &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "no-pool"}, Spec: v1alpha1.MigrationPolicySpec{
			Namespaces: []string{"other"}, Pools: []string{"nowhere"},
		}},
		"spec.zones[0]": &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "no-zone"}, Spec: v1alpha1.MigrationPolicySpec{
			Namespaces: []string{"other"}, Zones: []string{"nowhere"},
		}},
		"spec.keySecret": &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "no-key"}, Spec: v1alpha1.DNSZoneSpec{
			Zone: zoneName, Mode: v1alpha1.ZoneModeRRset, Primary: r.bind.Address, KeySecret: "nowhere",
			Domains: []v1alpha1.DomainGrant{{Namespace: "other", Suffixes: []string{zoneName}}},
		}},
		"spec.primary": &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "no-server"}, Spec: v1alpha1.DNSZoneSpec{
			Zone: zoneName, Mode: v1alpha1.ZoneModeRRset, Primary: "127.0.0.1:9", KeySecret: "zone-key",
			Domains: []v1alpha1.DomainGrant{{Namespace: "other", Suffixes: []string{zoneName}}},
		}},
	}
	for word, o := range objects {
		if err := r.admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, word+" is named as missing", func() error { return r.says(ctx, o, word) })
	}
}

// hostile opts in Services whose annotations, addresses and policy ask for what is not theirs: each is found, none moves.
func (r *ring) hostile(t *testing.T) {
	t.Parallel()
	if out, err := r.bind.Nsupdate(t, "update add elsewhere.example.test. 60 A 198.51.100.1\nsend\n"); err != nil {
		t.Fatalf("nsupdate: %v\n%s", err, out)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("198.18.%d.%d", i/250, i%250+1)
	}
	rows := map[string]struct {
		policy, hostnames string
		addresses         []string
		reason            string
	}{
		"a name that points elsewhere":      {"standard", "elsewhere.example.test", []string{"203.0.113.60"}, inventory.ReasonNameNotLive},
		"a name of a zone that is not ours": {"standard", "www.example.org", []string{"203.0.113.61"}, inventory.ReasonNameNotAllowed},
		"text that is no name":              {"standard", "[a b]", []string{"203.0.113.62"}, inventory.ReasonHostnameInvalid},
		"five thousand addresses":           {"standard", "", many, inventory.ReasonTooManyAddresses},
		"a node's address":                  {"standard", "", []string{"192.0.2.11"}, inventory.ReasonNodeAddress},
		"the API server's address":          {"standard", "", []string{"192.0.2.1"}, inventory.ReasonAPIServerAddress},
		"a policy that does not exist":      {"nowhere", "", []string{"203.0.113.63"}, inventory.ReasonPolicyMissing},
	}
	n := 0
	for name, row := range rows {
		n++
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("hostile%d", n), Annotations: map[string]string{
				v1alpha1.AnnotationPolicy: row.policy, v1alpha1.AnnotationHostnames: row.hostnames,
			}},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "x"}, ExternalIPs: row.addresses, Ports: []corev1.ServicePort{{Port: 8080}}},
		}
		t.Run(name, func(t *testing.T) {
			if err := r.admin.Create(context.Background(), svc); err != nil {
				t.Fatal(err)
			}
			eventually(t, time.Minute, row.reason+" is reported", func() error { return r.found(svc, row.reason) })
			if err := r.admin.Delete(context.Background(), svc); err != nil {
				t.Error(err)
			}
		})
	}
}

// found looks for a finding on the EntryPoint of svc, and insists that no name would move.
func (r *ring) found(svc *corev1.Service, reason string) error {
	var all v1alpha1.EntryPointList
	if err := r.admin.List(context.Background(), &all); err != nil {
		return err
	}
	for _, ep := range all.Items {
		if ep.Spec.Members[0].Name != svc.Name {
			continue
		}
		if len(ep.Status.Names) > 0 {
			return fmt.Errorf("names %v would move", ep.Status.Names)
		}
		if slices.ContainsFunc(ep.Status.Findings, func(f v1alpha1.Finding) bool { return f.Reason == reason && f.Fix != "" }) {
			return nil
		}
		return errors.New(describe(&ep))
	}
	return errors.New("no EntryPoint")
}

func (r *ring) says(ctx context.Context, o client.Object, word string) error {
	gvk, err := r.admin.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if err := r.admin.Get(ctx, client.ObjectKeyFromObject(o), u); err != nil {
		return err
	}
	all, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range all {
		m, ok := c.(map[string]any)
		if text, _ := m["message"].(string); ok && m["type"] == "Ready" && m["status"] == "False" && strings.Contains(text, word) {
			return nil
		}
	}
	return errNot(all)
}
