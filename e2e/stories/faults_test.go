//go:build e2e

package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

// TestMisbehaviors is story 7: what a Gateway implementation does wrong is caught before any name moves.
func TestMisbehaviors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class   string
		n       int
		reasons []string
	}{
		"story 7 an implementation that writes externalIPs":               {"double-external-ips", 50, []string{"WritesExternalIPs"}},
		"story 7 an implementation that sets a foreign loadBalancerClass": {"double-foreign-class", 51, []string{"ForeignClass"}},
		"story 7 an implementation that is Programmed without an address": {"double-no-address", 52, []string{"PathUnknown", "AddressMismatch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := web(c.class, c.n)
			p.rate, p.policy = 10, "gateway: {className: "+c.class+", namespace: gateways, profile: Annotation}\npools: [migration]"
			s := shared.begin(t, p)
			s.advance(v1alpha1.GoalStage)
			s.reach("Staged")
			s.holdsAt("Proven", c.reasons...)
			s.advance(v1alpha1.GoalRelease)
			s.stays("Proven", 20*time.Second, "the implementation misbehaves")
			if got, err := dig("198.51.100.53", s.host, "A"); err != nil || got != s.old {
				t.Errorf("names moved: %q (%v)", got, err)
			}
			s.turn()
			s.undone()
			s.restored()
		})
	}
}

// TestKilled is the first part of story 6: the leader is killed at every gate, and the walk ends as if it had not been.
func TestKilled(t *testing.T) {
	p := web("killed", 40)
	p.policy, p.held = byLoadBalancer, 5
	s := shared.begin(t, p)
	gates := []string{"Recorded", "Claimed", "Staged", "Proven", "TTLLowered", "Share50", "Shifted", "Settled", "Drained", "Released", "Soaked", "TTLRestored"}
	s.advance(v1alpha1.GoalStage)
	for _, gate := range gates {
		if gate == "TTLLowered" {
			s.advance(v1alpha1.GoalRelease)
		}
		if gate == "Drained" {
			s.endAll(s.clients[0], s.old)
		}
		s.reach(gate)
		s.killLeader()
	}
	s.released()
	s.turn()
	s.killLeader()
	s.undone()
	s.restored()
}

// killLeader sends SIGKILL to the leading controller's process on its node, and deletes the dead Pod so that the next one
// starts without the kubelet's back-off.
func (s *story) killLeader() {
	s.t.Helper()
	var pod corev1.Pod
	eventually(s.t, 2*time.Minute, "a leader is there to be killed", func() error {
		holder, err := s.leader()
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(holder, "_")
		return s.admin.Get(context.Background(), client.ObjectKey{Namespace: system, Name: name}, &pod)
	})
	must(s.t, signal("KILL", &pod))
	_, err := kubectl("", "-n", system, "delete", "pod", pod.Name, "--grace-period=0", "--force", "--ignore-not-found")
	must(s.t, err)
}

// signal sends a signal to the first process of a Pod's container, on its node: nothing in the cluster is told.
func signal(name string, pod *corev1.Pod) error {
	_, err := docker("exec", pod.Spec.NodeName, "sh", "-c", fmt.Sprintf(
		`set -e; c=$(crictl ps -q --label io.kubernetes.pod.name=%s | head -1); kill -%s "$(crictl inspect -o go-template --template '{{.info.pid}}' "$c")"`, pod.Name, name))
	return err
}

// TestFaults is the rest of story 6, and story 8: one after the other, for each hits parts that all stories share.
func TestFaults(t *testing.T) {
	t.Run("story 6 the new path fails at half", newPathFails)
	t.Run("story 6 BIND refuses and recovers", primaryRefuses)
	t.Run("story 6 the secondary lags", secondaryLags)
	t.Run("story 6 the announcing speaker dies", speakerDies)
	t.Run("story 6 the lease is lost", leaseLost)
	t.Run("story 6 a worker stops during the shift", workerStops)
	t.Run("story 8 kube-proxy without external IPs", gateOff)
}

// newPathFails: names go back by themselves, and not forward again in the attempt, even when the path looks well again.
func newPathFails(t *testing.T) {
	p := web("fails", 41)
	p.policy = behindDouble
	s := shared.begin(t, p)
	s.prove()
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Share50")
	s.hits(newPath) // it fails on purpose
	s.fault(`{"mode":"500","forwardedOnly":true,"health":true}`)
	eventually(t, most, "names are back", func() error { return s.answers(s.old) })
	s.fault(`{"mode":"none"}`)
	s.mended()
	time.Sleep(30 * time.Second)
	must(t, s.answers(s.old))
	if n := s.stamps(v1alpha1.StampAbort); n != 1 {
		t.Errorf("%d Abort stamps, want 1", n)
	}
	s.back()
}

// fault makes this story's backends misbehave; what is served through a proxy only, where the body says so.
func (s *story) fault(body string) {
	s.t.Helper()
	var pods corev1.PodList
	must(s.t, s.admin.List(context.Background(), &pods, client.InNamespace(tenant), client.MatchingLabels{"app": s.name}))
	for i := range pods.Items {
		_, err := docker("exec", pods.Items[i].Spec.NodeName, "curl", "-fsS", "-X", "POST", "-d", body, "http://"+pods.Items[i].Status.PodIP+":8099/fault")
		must(s.t, err)
	}
}

// answers insists on what both name servers say.
func (s *story) answers(want ...string) error {
	for _, server := range []string{"198.51.100.53", "198.51.100.54"} {
		got, err := dig(server, s.host, "A")
		if err != nil {
			return err
		}
		if got != strings.Join(want, "\n") {
			return fmt.Errorf("%s answers %q for %s, not %q", server, got, s.host, want)
		}
	}
	return nil
}

func (s *story) stamps(kind v1alpha1.StampKind) int {
	s.t.Helper()
	journal, err := s.journal()
	must(s.t, err)
	n := 0
	for _, j := range journal {
		if j.Kind == kind {
			n++
		}
	}
	return n
}

// primaryRefuses: while the primary is frozen nothing moves, and the reason is told; thawed, the walk goes on.
func primaryRefuses(t *testing.T) {
	p := web("refuses", 42)
	p.policy = byLoadBalancer
	s := shared.begin(t, p)
	s.prove()
	rndc(t, "freeze", zone)
	thaw := func() { rndc(t, "thaw", zone) }
	t.Cleanup(thaw)
	s.advance(v1alpha1.GoalCutOver)
	s.stays("TTLLowered", 30*time.Second, "the zone is frozen")
	s.holdsFor("DNSUpdateAuth") // what the server refuses is a matter of its policy
	must(t, s.answers(s.old))
	thaw()
	s.reach("Settled")
	s.back()
}

func rndc(t *testing.T, args ...string) {
	t.Helper()
	if out, err := docker(append([]string{"exec", primary, "rndc", "-k", "/run/rndc.key"}, args...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// secondaryLags: a server that does not answer is unknown, one that answers what was is behind, and both hold.
func secondaryLags(t *testing.T) {
	p := web("lags", 43)
	p.policy = byLoadBalancer
	s := shared.begin(t, p)
	s.prove()
	_, err := docker("pause", second)
	must(t, err)
	resume := func() { _, _ = docker("unpause", second) }
	t.Cleanup(resume)
	s.advance(v1alpha1.GoalCutOver)
	s.holdsFor("NamesUnknown")
	s.stays("TTLLowered", 20*time.Second, "the secondary does not answer")
	heal := cutOff(t)
	resume()
	s.holdsFor("ServersLag")
	s.stays("TTLLowered", 20*time.Second, "the secondary is behind")
	heal()
	s.reach("Settled")
	s.back()
}

// cutOff parts the primary from the secondary, and from nobody else; the result brings them together again.
func cutOff(t *testing.T) (heal func()) {
	t.Helper()
	_, err := docker("exec", primary, "ip", "route", "add", "blackhole", "198.51.100.54")
	must(t, err)
	heal = func() {
		_, _ = docker("exec", primary, "ip", "route", "del", "blackhole", "198.51.100.54")
		_, _ = docker("exec", primary, "rndc", "-k", "/run/rndc.key", "notify", zone)
	}
	t.Cleanup(heal)
	return heal
}

// speakerDies: the speaker that announces the address hangs, and another node announces it; what is lost is lost on the new
// path until then. When the speaker is back nothing is lost.
func speakerDies(t *testing.T) {
	p := web("speaker", 44)
	p.policy = byLoadBalancer
	s := shared.begin(t, p)
	s.prove()
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Share50")
	announcers, err := s.announcers()
	must(t, err)
	if len(announcers) != 1 {
		t.Fatalf("%v announce the new address, want one node", announcers)
	}
	speaker, err := s.speaker(announcers[0])
	must(t, err)
	s.hits(newPath) // until another node announces it
	must(t, signal("STOP", speaker))
	resume := func() { _ = signal("CONT", speaker) } // the kubelet may have started it anew
	t.Cleanup(resume)
	eventually(t, time.Minute, "another node than "+announcers[0]+" announces the address", func() error {
		now, err := s.announcers()
		if err == nil && !slices.ContainsFunc(now, func(node string) bool { return node != announcers[0] }) {
			err = fmt.Errorf("announced by %v", now)
		}
		return err
	})
	s.mended()
	s.reach("Shifted")
	resume()
	_, err = kubectl("", "-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=120s")
	must(t, err)
	s.back()
}

// announcers are the nodes whose speakers say that they announce the address of the Service beside the story's own. A dead
// speaker's word stays.
func (s *story) announcers() ([]string, error) {
	var services corev1.ServiceList
	if err := s.admin.List(context.Background(), &services, client.InNamespace(tenant), client.MatchingLabels{v1alpha1.LabelEntryPoint: s.entryPoint}); err != nil {
		return nil, err
	}
	if len(services.Items) != 1 {
		return nil, fmt.Errorf("%d Services of %s, want one", len(services.Items), s.entryPoint)
	}
	nodes, err := kubectl("", "-n", "metallb-system", "get", "servicel2statuses", "-o", "jsonpath={.items[*].status.node}",
		"-l", "metallb.io/service-namespace="+tenant+",metallb.io/service-name="+services.Items[0].Name)
	return strings.Fields(nodes), err
}

func (s *story) speaker(node string) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := s.admin.List(context.Background(), &pods, client.InNamespace("metallb-system"), client.MatchingLabels{"component": "speaker"})
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == node {
			return &pods.Items[i], err
		}
	}
	return nil, errors.Join(fmt.Errorf("no speaker on %s", node), err)
}

// leaseLost: a leader whose lease is taken stops, and the next one goes on.
func leaseLost(t *testing.T) {
	p := web("lease", 45)
	p.policy = byLoadBalancer
	s := shared.begin(t, p)
	s.advance(v1alpha1.GoalStage)
	s.reach("Claimed")
	before, err := s.leader()
	must(t, err)
	_, err = kubectl("", "-n", system, "patch", "lease", "offramp-controller", "--type=merge", "-p", `{"spec":{"holderIdentity":"nobody","leaseDurationSeconds":6}}`)
	must(t, err)
	s.reach("Proven")
	s.advance(v1alpha1.GoalCutOver)
	s.reach("Settled")
	if after, err := s.leader(); err != nil || after == before {
		t.Errorf("%s leads as before it lost the lease (%v)", after, err)
	}
	s.back()
}

// leader is the holder of the controller's lease: POD_UUID, another one for each start of a process.
func (s *story) leader() (string, error) {
	var lease coordinationv1.Lease
	if err := s.admin.Get(context.Background(), client.ObjectKey{Namespace: system, Name: "offramp-controller"}, &lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("nobody holds the lease")
	}
	return *lease.Spec.HolderIdentity, nil
}

// workerStops: the second worker ends in the middle. Its agent is silent, so nothing drains until it is back, though the goal
// is to release.
func workerStops(t *testing.T) {
	p := web("worker", 46)
	p.policy = byLoadBalancer
	s := shared.begin(t, p)
	s.prove()
	s.advance(v1alpha1.GoalRelease)
	s.reach("Share50")
	s.hits(everyPath) // a backend and maybe the announcer stop
	_, err := docker("pause", s.workers[1])
	must(t, err)
	resume := func() { _, _ = docker("unpause", s.workers[1]) }
	t.Cleanup(resume)
	s.stays("Drained", 90*time.Second, "a node is silent")
	resume()
	eventually(t, 2*time.Minute, "the node is ready again", func() error {
		_, err := kubectl("", "wait", "--for=condition=Ready", "node/"+s.workers[1], "--timeout=5s")
		return err
	})
	s.mended()
	s.back()
}

// gateOff is story 8. Before: what the inventory names does break. After release: nothing changes for clients.
func gateOff(t *testing.T) {
	p := web("gate", 47)
	p.policy = byLoadBalancer
	moved := shared.begin(t, p)
	moved.prove()
	moved.advance(v1alpha1.GoalRelease)
	moved.reach("TTLRestored")
	left := shared.begin(t, func() plan { q := web("left", 48); q.policy = byLoadBalancer; return q }())
	out, _ := shared.plugin("inventory", "-n", tenant)
	if !strings.Contains(out, tenant+"/left") || !strings.Contains(out, left.old) {
		t.Errorf("the inventory does not name the Service that would break:\n%s", out)
	}
	out, _ = shared.plugin("preflight", "--target", "1.40", "-n", tenant, "-o", "csv") // ends with 2: something depends on the field
	if !strings.Contains(out, "Service "+tenant+"/left,") || strings.Contains(out, "Service "+tenant+"/gate,") {
		t.Errorf("preflight does not name what would break, or names what was moved:\n%s", out)
	}
	left.hits(left.old)
	proxyGate(t, false)
	t.Cleanup(func() { proxyGate(t, true) })
	eventually(t, 2*time.Minute, "what was not moved breaks", func() error {
		st, err := left.clients[0].control.Stats(5 * time.Second)
		if err == nil && st.Window.PerAddress[left.old].Answered > 0 {
			err = errors.New("it still answers")
		}
		return err
	})
	time.Sleep(30 * time.Second)
	proxyGate(t, true)
	left.mended()
}

// proxyGate writes kube-proxy's configuration and starts it anew.
func proxyGate(t *testing.T, on bool) {
	t.Helper()
	config, err := kubectl("", "-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "jsonpath={.data.config\\.conf}")
	must(t, err)
	var lines []string
	for line := range strings.SplitSeq(config, "\n") {
		if !strings.HasPrefix(line, "featureGates:") && !strings.HasPrefix(line, "  AllowServiceExternalIPs:") {
			lines = append(lines, line)
		}
	}
	file := shared.state("config.conf")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "%s\nfeatureGates:\n  AllowServiceExternalIPs: %t\n", strings.Join(lines, "\n"), on), 0o600))
	kubeconfig, err := kubectl("", "-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "jsonpath={.data.kubeconfig\\.conf}")
	must(t, err)
	other := shared.state("kubeconfig.conf")
	must(t, os.WriteFile(other, []byte(kubeconfig), 0o600))
	manifest, err := kubectl("", "-n", "kube-system", "create", "configmap", "kube-proxy", "--from-file="+file, "--from-file="+other, "--dry-run=client", "-o", "yaml")
	must(t, err)
	_, err = kubectl(manifest, "replace", "-f", "-")
	must(t, err)
	_, err = kubectl("", "-n", "kube-system", "rollout", "restart", "daemonset/kube-proxy")
	must(t, err)
	_, err = kubectl("", "-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "--timeout=120s")
	must(t, err)
}
