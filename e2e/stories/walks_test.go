//go:build e2e

package stories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

// The parts of a policy that tell how the new path is served.
const (
	behindTraefik = `
gateway: {className: traefik, namespace: gateways, profile: StaticService, staticService: {namespace: gateways, name: public}}
pools: [static]`
	// behindDouble is the annotation profile: an address for each Gateway.
	behindDouble = `
gateway: {className: double, namespace: gateways, profile: Annotation}
pools: [migration]`
	byLoadBalancer = `
strategies: [LoadBalancer]
pools: [migration]`
	adopting = `strategies: [Adopt]`
)

// The address that Traefik serves, for every entry point behind it.
const traefikAddress = "198.51.100.160"

// TestWalks are the stories that share the cluster: they run side by side, each with a Service, a name and a client of its own.
func TestWalks(t *testing.T) {
	t.Parallel()
	t.Run("story 1 HTTP to a new address and back from the end", fromTheEnd)
	t.Run("story 1 HTTP back from Shifted at half", fromHalf)
	t.Run("story 1 HTTP back from Drained", fromDrained)
	t.Run("story 2 TCP by LoadBalancer shows the client's address", localTCP)
	t.Run("story 2 TCP by TCPRoute back from Settled", routedTCP)
	t.Run("story 3 UDP by LoadBalancer", udp)
	t.Run("story 4 Adopt in place forward and back", adopt)
	t.Run("story 5 two Services of one name move together", together)
	t.Run("story 5 a third Service that joins later holds the walk", joinsLater)
}

func web(name string, n int) plan {
	return plan{name: name, old: fmt.Sprintf("203.0.113.%d", n), port: 80, kind: "http", policy: behindTraefik, attraction: v1alpha1.AttractionStatic, rate: 50}
}

// fromTheEnd is the whole walk: 20 connections are held on the old path for minutes, then 20 on the new one.
func fromTheEnd(t *testing.T) {
	t.Parallel()
	p := web("web", 10)
	p.held = 20
	p.lowTTL = 18 * time.Second // longer than the share soaks, so that only Settled waits for it
	s := shared.begin(t, p)
	c := s.clients[0]
	s.prove()
	s.advance(v1alpha1.GoalRelease)
	s.reach("Share50")
	s.settledInTime()
	s.notDrainedWhileHeld(c)
	s.reach("Released")
	s.released()
	s.reach("TTLRestored")
	must(t, c.hold(20))
	s.turn()
	s.stillThereWhileHeld(c)
	s.undone()
	s.restored()
}

// settledInTime insists that the low TTL passed between the last share, seen on every server, and Settled: until then
// somebody may still be told the old address. Conditions tell whole seconds.
func (s *story) settledInTime() {
	s.t.Helper()
	s.reach("Settled")
	journal, err := s.journal()
	must(s.t, err)
	var seen time.Time
	for _, j := range journal {
		if j.Kind == v1alpha1.StampSeen {
			seen = j.At.Time
		}
	}
	if at := s.condition("Settled").LastTransitionTime; at.Add(time.Second).Before(seen.Add(s.lowTTL)) {
		s.t.Errorf("Settled at %s, though the last share was seen at %s and the TTL is %s", at, seen, s.lowTTL)
	}
}

// notDrainedWhileHeld insists that Drained becomes true only after the last connection held to the old address has ended.
func (s *story) notDrainedWhileHeld(c *outside) {
	s.t.Helper()
	s.stays("Drained", 60*time.Second, "20 connections are held")
	s.holdsAt("Drained", "InUse") // seen, not merely unknown
	s.endAll(c, s.old)
	ended := time.Now()
	s.reach("Drained")
	if c := s.condition("Drained"); c.LastTransitionTime.Add(time.Second).Before(ended.Truncate(time.Second)) {
		s.t.Errorf("Drained since %s, the last connection ended at %s", c.LastTransitionTime, ended)
	}
}

// stays insists that a gate is not met for so long.
func (s *story) stays(gate string, span time.Duration, why string) {
	s.t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(time.Second) {
		if c := s.condition(gate); c.Status == metav1.ConditionTrue {
			s.t.Fatalf("%s is true while %s: %s", gate, why, c.Message)
		}
	}
}

// endAll ends what is held to an address, and insists that there was something.
func (s *story) endAll(c *outside, address string) {
	s.t.Helper()
	before, err := c.control.Stats(0)
	must(s.t, err)
	if before.Held.PerAddress[address] == 0 {
		s.t.Fatalf("nothing is held to %s: %v", address, before.Held.PerAddress)
	}
	_, err = c.control.EndHeld(address)
	must(s.t, err)
}

// stillThereWhileHeld insists that the way back removes the new path only after the last connection held to it has ended.
func (s *story) stillThereWhileHeld(c *outside) {
	s.t.Helper()
	eventually(s.t, most, "names are back", func() error {
		got, err := dig("198.51.100.54", s.host, "A")
		if err == nil && got != s.old {
			err = fmt.Errorf("%s answers %s", s.host, got)
		}
		return err
	})
	s.untilOnlyHeld()
	s.endAll(c, traefikAddress)
}

// untilOnlyHeld waits until nothing but connections keeps the new path: neither a TTL nor the window. It then stays so.
func (s *story) untilOnlyHeld() {
	s.t.Helper()
	const left = "connections are left"
	look := func() (string, error) {
		if kind, err := s.lastStamp(); err != nil || kind == v1alpha1.StampUndone {
			return string(kind), err
		}
		ep, err := s.get()
		if err != nil || ep.Status.Next == nil {
			return "", err
		}
		return ep.Status.Next.Message, nil
	}
	eventually(s.t, most, "the way back waits for connections only", func() error {
		what, err := look()
		if what == string(v1alpha1.StampUndone) {
			s.t.Fatal("undone while connections are held to the new path")
		}
		if err == nil && !strings.Contains(what, left) {
			err = errors.New(what)
		}
		return err
	})
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if what, err := look(); err == nil && what == string(v1alpha1.StampUndone) {
			s.t.Fatal("undone while connections are held to the new path")
		}
	}
}

func fromHalf(t *testing.T) {
	t.Parallel()
	p := web("half", 11)
	p.policy, p.rate = behindDouble, 20
	s := shared.begin(t, p)
	s.prove()
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Share50")
	s.shareIsSeen(s.clients[0])
	s.back()
}

// shareIsSeen waits until the client itself is served by both addresses.
func (s *story) shareIsSeen(c *outside) {
	s.t.Helper()
	eventually(s.t, time.Minute, "both addresses serve the client", func() error {
		st, err := c.control.Stats(5 * time.Second)
		if err == nil && len(st.Window.PerAddress) < 2 {
			err = fmt.Errorf("only %v", st.Window.PerAddress)
		}
		return err
	})
}

func fromDrained(t *testing.T) {
	t.Parallel()
	p := web("drained", 12)
	p.policy, p.rate = behindDouble, 20
	s := shared.begin(t, p)
	s.prove()
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Settled")
	s.reach("Drained")
	s.back()
}

// localTCP keeps what policy Local promises: the backend sees the client's own address, on the old path and on the new one.
func localTCP(t *testing.T) {
	t.Parallel()
	s := shared.begin(t, plan{
		name: "local", old: "203.0.113.20", port: 9000, kind: "tcp", policy: byLoadBalancer, attraction: v1alpha1.AttractionStatic, rate: 20, held: 5,
		edit: func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal },
	})
	c := s.clients[0]
	s.prove()
	s.advance(v1alpha1.GoalRelease)
	s.reach("Settled")
	s.endAll(c, s.old)
	s.reach("Released")
	s.released()
	s.sourceIsKept(c)
	s.back()
}

// sourceIsKept insists that every address the client was served by showed the client's own address to the backend.
func (s *story) sourceIsKept(c *outside) {
	s.t.Helper()
	own, err := nodeAddress(c.container)
	must(s.t, err)
	st, err := c.control.Stats(0)
	must(s.t, err)
	if len(st.PerAddress) < 2 {
		s.t.Errorf("served by %v only", slices.Collect(maps.Keys(st.PerAddress)))
	}
	for address, a := range st.PerAddress {
		if len(a.Sources) != 1 || a.Sources[0] != own {
			s.t.Errorf("behind %s the backends saw %v, not the client's %s", address, a.Sources, own)
		}
	}
}

// routedTCP asks for a TCPRoute: the port of a shared data plane is exclusive, which a human signs.
func routedTCP(t *testing.T) {
	t.Parallel()
	s := shared.begin(t, plan{
		name: "routed", old: "203.0.113.21", port: 9000, kind: "tcp", policy: tcpRoutes(), attraction: v1alpha1.AttractionStatic, rate: 20,
	})
	s.waive("port 9000 of Traefik is ours alone", "Eligible")
	s.prove()
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Settled")
	s.back()
}

func tcpRoutes() string {
	return `
gateway: {className: traefik, namespace: gateways, profile: StaticService, staticService: {namespace: gateways, name: public}, tcpRoutes: true}
pools: [static]`
}

// udp needs a human's word where a TCP port would prove itself: no probe can ask a protocol that it does not know.
func udp(t *testing.T) {
	t.Parallel()
	s := shared.begin(t, plan{name: "udp", old: "203.0.113.22", port: 5353, kind: "udp", policy: byLoadBalancer, attraction: v1alpha1.AttractionStatic, rate: 20})
	s.waive("the echo service was asked by hand, on both addresses", "Proven", "Settled")
	s.advance(v1alpha1.GoalStage)
	s.reach("Staged")
	s.advance(v1alpha1.GoalRelease)
	s.reach("Released")
	s.released()
	s.reach("TTLRestored")
	s.back()
}

// adopt keeps the address and the Service, and so every connection.
func adopt(t *testing.T) {
	t.Parallel()
	s := shared.begin(t, plan{
		name: "adopt", old: "203.0.113.30", port: 80, kind: "http", policy: adopting, attraction: v1alpha1.AttractionInterface, rate: 50, held: 10,
		edit: func(svc *corev1.Service) { svc.Annotations = map[string]string{v1alpha1.AnnotationStrategy: "Adopt"} },
	})
	s.prove()
	s.advance(v1alpha1.GoalRelease)
	s.reach("Released")
	s.released()
	s.reach("Soaked")
	s.back()
}

// together: Services that share a name are one entry point and move as one; nobody else gets onto their address meanwhile.
func together(t *testing.T) {
	t.Parallel()
	p := web("shop-a", 13)
	p.host, p.policy, p.rate = "together."+zone, byLoadBalancer, 20
	s := shared.begin(t, p)
	must(t, s.sibling("shop-b", 8081))
	s.joined("shop-b")
	s.clients = append(s.clients, s.client("shop-b", 8081))
	s.prove()
	if err := s.sibling("shop-c", 8082); err == nil || !strings.Contains(err.Error(), "claimed-addresses.offramp.dev") {
		t.Errorf("a third Service on the claimed address: %v", err)
	}
	s.advance(v1alpha1.GoalRelease)
	s.reach("Released")
	s.released("shop-b")
	s.back()
	var svc corev1.Service
	must(t, s.admin.Get(context.Background(), client.ObjectKey{Namespace: tenant, Name: "shop-b"}, &svc))
	if !slices.Equal(svc.Spec.ExternalIPs, []string{s.old}) {
		t.Errorf("shop-b has externalIPs %v after the way back, want %s", svc.Spec.ExternalIPs, s.old)
	}
}

// joinsLater: a Service that the name leads to as well opts in while the walk is on its way. The walk holds until a human has
// answered; the address beside stays in the record all along.
func joinsLater(t *testing.T) {
	t.Parallel()
	p := web("early", 14)
	p.host, p.policy, p.rate, p.beside = "later."+zone, byLoadBalancer, 20, "203.0.113.15"
	s := shared.begin(t, p)
	s.prove()
	_, err := kubectl("", "-n", tenant, "annotate", "service", s.other(), v1alpha1.AnnotationPolicy+"="+s.name, v1alpha1.AnnotationHostnames+"="+s.host)
	must(t, err)
	s.advance(v1alpha1.GoalCutOver)
	s.holdsFor("GroupChanged")
	must(t, s.answers(s.addresses()...))
	_, err = kubectl("", "-n", tenant, "annotate", "service", s.other(), v1alpha1.AnnotationPolicy+"-")
	must(t, err)
	s.reach("Settled")
	s.back()
}

// sibling creates another Service of the tenant with the same backends, address and name, on a port of its own.
func (s *story) sibling(name string, port int32) error {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name, Annotations: map[string]string{
			v1alpha1.AnnotationPolicy: s.name, v1alpha1.AnnotationHostnames: s.host,
		}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": s.name}, ExternalIPs: []string{s.old},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster, Ports: []corev1.ServicePort{s.servicePort()},
		},
	}
	svc.Spec.Ports[0].Port = port
	err := s.admin.Create(context.Background(), svc)
	if err == nil {
		s.siblings = append(s.siblings, name)
	}
	return err
}

// joined waits until the story's Service and another are one entry point, which becomes the story's.
func (s *story) joined(other string) {
	s.t.Helper()
	key := client.ObjectKeyFromObject(&s.before)
	eventually(s.t, 2*time.Minute, "both Services are one entry point", func() error {
		var a, b corev1.Service
		if err := errors.Join(s.admin.Get(context.Background(), key, &a), s.admin.Get(context.Background(), client.ObjectKey{Namespace: tenant, Name: other}, &b)); err != nil {
			return err
		}
		name := a.Annotations[v1alpha1.AnnotationEntryPoint]
		if name == "" || name != b.Annotations[v1alpha1.AnnotationEntryPoint] {
			return fmt.Errorf("they belong to %q and %q", name, b.Annotations[v1alpha1.AnnotationEntryPoint])
		}
		s.before, s.entryPoint = a, name
		return nil
	})
}
