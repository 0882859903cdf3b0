//go:build e2e

package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/e2e/traffic"
)

// plan is what a story begins with.
type plan struct {
	// name of the Service, of its backends and of the policy.
	name string
	// old is the external IP.
	old string
	// port that clients ask for, with its kind: http, tcp or udp.
	port int32
	kind string
	// policy is the YAML of the MigrationPolicy's spec beside what all stories share.
	policy string
	// attraction of the old address: Static (a route to the first worker) or Interface (on the first worker's interface).
	attraction v1alpha1.Attraction
	edit       func(*corev1.Service)
	// rate is requests a second; held is the number of connections held from the start.
	rate, held int
	// host is the name; empty means one of its own.
	host string
	// beside is the external IP of another Service that the name leads to as well; empty where there is none.
	beside string
	// lowTTL while names move; 0 means shortTTL.
	lowTTL time.Duration
}

// story is one entry point on its way.
type story struct {
	*lab
	plan

	t          *testing.T
	began      time.Time
	before     corev1.Service
	entryPoint string
	clients    []*outside
	siblings   []string
	waits      map[string]int
	broken     broken
}

// begin creates backends, record, policy and Service, and starts a client that never stops once the old path answers.
func (l *lab) begin(t *testing.T, p plan) *story {
	t.Helper()
	if p.host == "" {
		p.host = p.name + "." + zone
	}
	s := &story{lab: l, plan: p, t: t, began: time.Now(), waits: map[string]int{}}
	t.Cleanup(s.finish)
	must(t, s.attract())
	must(t, nsupdate(s.record()))
	s.apply(s.settings())
	s.apply(s.backends())
	s.serviceOf()
	if s.beside != "" {
		must(t, s.neighbor())
	}
	s.clients = append(s.clients, s.client(s.name, s.port))
	s.optIn()
	return s
}

// addresses are those that the name leads to before the walk, sorted.
func (s *story) addresses() []string {
	out := []string{s.old}
	if s.beside != "" {
		out = append(out, s.beside)
	}
	slices.Sort(out)
	return out
}

// record is the name as it was for years, with a TTL above the low one.
func (s *story) record() string {
	var b strings.Builder
	fmt.Fprintf(&b, "update delete %s. A\n", s.host)
	for _, a := range s.addresses() {
		fmt.Fprintf(&b, "update add %s. %d A %s\n", s.host, s.ttl(), a)
	}
	return b.String()
}

// ttl of the record before the walk, in seconds.
func (s *story) ttl() int { return 10 + int(s.lowTTL.Seconds()) }

// other is the name of the Service on the address beside the story's own.
func (s *story) other() string { return s.name + "-other" }

// neighbor creates the Service beside: the same backends on an address of its own, opted into nothing.
func (s *story) neighbor() error {
	return s.admin.Create(context.Background(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: s.other()},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": s.name}, ExternalIPs: []string{s.beside}, Ports: []corev1.ServicePort{s.servicePort()},
		},
	})
}

func (s *story) apply(manifests string) {
	s.t.Helper()
	eventually(s.t, 2*time.Minute, "the manifests are applied", func() error {
		_, err := kubectl(manifests, "apply", "--server-side", "--force-conflicts", "-f", "-")
		return err
	})
}

// shortTTL is short enough not to be waited for; the share soaks longer.
const shortTTL = 3 * time.Second

// settings is the policy: short waits, everything else as the documentation recommends.
func (s *story) settings() string {
	return fmt.Sprintf(`
apiVersion: offramp.dev/v1alpha1
kind: MigrationPolicy
metadata: {name: %s}
spec:
  namespaces: [%s]
  zones: [example-test]
  dns: {lowTTLSeconds: %d, sharePercents: [50, 100], soakSeconds: 15}
  probes: {rounds: 3, intervalSeconds: 2, timeoutSeconds: 5, httpPath: /healthz}
  drain: {windowSeconds: 20, attraction: %s}
  soakSeconds: 15
%s`, s.name, tenant, int(cmp.Or(s.lowTTL, shortTTL).Seconds()), s.attraction, indent(s.policy))
}

func indent(yaml string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n  ") + "\n"
}

// backends are two Pods, one on each worker, that answer every protocol.
func (s *story) backends() string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: %[1]s}}}
      containers:
      - name: echo
        image: offramp.test/programs:e2e
        imagePullPolicy: IfNotPresent
        command: [/traffic, echo, --http, ":8080", --tcp, ":9000", --udp, ":5353", --admin, ":8099"]
        env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`, s.name, tenant)
}

// serviceOf creates the Service as a tenant had it for years: on an external IP, opted into nothing.
func (s *story) serviceOf() {
	s.t.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: s.name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": s.name}, ExternalIPs: []string{s.old},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster, Ports: []corev1.ServicePort{s.servicePort()},
		},
	}
	if s.edit != nil {
		s.edit(svc)
	}
	must(s.t, s.admin.Create(context.Background(), svc))
}

func (s *story) servicePort() corev1.ServicePort {
	p := corev1.ServicePort{Name: s.kind, Port: s.port, Protocol: corev1.ProtocolTCP}
	switch s.kind {
	case "http":
		http := "http"
		p.AppProtocol = &http
		p.TargetPort.IntVal = 8080
	case "tcp":
		p.TargetPort.IntVal = 9000
	case "udp":
		p.Protocol, p.TargetPort.IntVal = corev1.ProtocolUDP, 5353
	}
	return p
}

// optIn is the tenant's one line, and the wait for the EntryPoint that follows from it.
func (s *story) optIn() {
	s.t.Helper()
	key := client.ObjectKey{Namespace: tenant, Name: s.name}
	_, err := kubectl("", "-n", tenant, "annotate", "service", s.name, v1alpha1.AnnotationPolicy+"="+s.name, v1alpha1.AnnotationHostnames+"="+s.host)
	must(s.t, err)
	eventually(s.t, 2*time.Minute, "the Service belongs to an EntryPoint", func() error {
		if err := s.admin.Get(context.Background(), key, &s.before); err != nil {
			return err
		}
		if s.entryPoint = s.before.Annotations[v1alpha1.AnnotationEntryPoint]; s.entryPoint == "" {
			return errNotYet
		}
		return nil
	})
}

// attract brings packets for the old address to the first worker.
func (s *story) attract() error {
	if s.attraction != v1alpha1.AttractionInterface {
		return nil
	}
	_, err := docker("exec", s.workers[0], "ip", "address", "replace", s.old+"/32", "dev", "eth0")
	return err
}

func (s *story) get() (*v1alpha1.EntryPoint, error) {
	var ep v1alpha1.EntryPoint
	return &ep, s.admin.Get(context.Background(), client.ObjectKey{Name: s.entryPoint}, &ep)
}

// advance raises the goal through the plugin, approving the plan that the status shows.
func (s *story) advance(goal v1alpha1.Goal) {
	s.t.Helper()
	args := []string{"advance", s.entryPoint, "--to", string(goal)}
	if goal != v1alpha1.GoalStage {
		s.reach("Recorded")
		args = append(args, "--approve-current")
	}
	eventually(s.t, time.Minute, "the goal is "+string(goal), func() error {
		_, err := s.plugin(args...)
		return err
	})
}

// waive signs exceptions, with the reason that an admin would give.
func (s *story) waive(reason string, gates ...string) {
	s.t.Helper()
	var lines []string
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, gate := range gates {
		lines = append(lines, fmt.Sprintf(`{"gate":%q,"requester":"e2e","reason":%q,"expires":%q}`, gate, reason, expires))
	}
	_, err := kubectl("", "patch", "entrypoint", s.entryPoint, "--type=merge", "-p", `{"spec":{"waivers":[`+strings.Join(lines, ",")+`]}}`)
	must(s.t, err)
}

// most is how long a gate may take on a slow machine before something is wrong.
const most = 6 * time.Minute

// reach waits for a gate: its condition is true, or, as Share50, that the share is at least so much.
func (s *story) reach(gate string) {
	s.t.Helper()
	began := time.Now()
	eventually(s.t, most, "gate "+gate+" of "+s.entryPoint, func() error {
		ep, err := s.get()
		if err != nil {
			return err
		}
		if share, ok := strings.CutPrefix(gate, "Share"); ok {
			if n, err := strconv.Atoi(share); err == nil && int(ep.Status.SharePercent) >= n {
				return nil
			}
		} else if meta.IsStatusConditionTrue(ep.Status.Conditions, gate) {
			return nil
		}
		return errors.New(describe(ep))
	})
	s.waits[gate] += int(time.Since(began).Seconds()) // who asks for a gate again waits no longer
}

// holdsAt waits until the walk waits at a gate for one of the reasons, and insists that no name has moved.
func (s *story) holdsAt(gate string, reasons ...string) {
	s.t.Helper()
	eventually(s.t, most, s.entryPoint+" holds at "+gate+" with one of "+strings.Join(reasons, ", "), func() error {
		ep, err := s.get()
		if err != nil {
			return err
		}
		if c := meta.FindStatusCondition(ep.Status.Conditions, gate); c != nil && c.Status != metav1.ConditionTrue && slices.Contains(reasons, c.Reason) {
			return nil
		}
		return errors.New(describe(ep))
	})
}

// condition is the status of a gate, Unknown where it is not there.
func (s *story) condition(gate string) metav1.Condition {
	s.t.Helper()
	ep, err := s.get()
	must(s.t, err)
	if c := meta.FindStatusCondition(ep.Status.Conditions, gate); c != nil {
		return *c
	}
	return metav1.Condition{Type: gate, Status: metav1.ConditionUnknown, Reason: "Absent"}
}

func describe(ep *v1alpha1.EntryPoint) string {
	var b strings.Builder
	if n := ep.Status.Next; n != nil {
		fmt.Fprintf(&b, "next %s %s: %s", n.Gate, n.Reason, n.Message)
	}
	for _, c := range ep.Status.Conditions {
		fmt.Fprintf(&b, "\n  %-14s %-8s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, f := range ep.Status.Findings {
		fmt.Fprintf(&b, "\n  finding %s %s %s", f.Severity, f.Reason, f.Message)
	}
	return b.String()
}

// turn asks for the way back.
func (s *story) turn() {
	s.t.Helper()
	eventually(s.t, time.Minute, "the walk turns back", func() error {
		_, err := s.plugin("rollback", s.entryPoint)
		return err
	})
}

// prove stages the new path and waits until it is good.
func (s *story) prove() {
	s.t.Helper()
	s.advance(v1alpha1.GoalStage)
	s.reach("Proven")
}

// back goes the whole way back, and insists that everything is as before.
func (s *story) back() {
	s.t.Helper()
	s.turn()
	s.undone()
	s.restored()
}

// undone waits for the end of the way back.
func (s *story) undone() {
	s.t.Helper()
	began := time.Now()
	eventually(s.t, most, s.entryPoint+" is undone", func() error {
		kind, err := s.lastStamp()
		if err != nil {
			return err
		}
		if kind == v1alpha1.StampUndone {
			return nil
		}
		ep, err := s.get()
		return errors.Join(errors.New(describe(ep)), err)
	})
	s.waits["Undone"] = int(time.Since(began).Seconds())
}

func (s *story) lastStamp() (v1alpha1.StampKind, error) {
	journal, err := s.journal()
	if err != nil || len(journal) == 0 {
		return "", err
	}
	return journal[len(journal)-1].Kind, nil
}

func (s *story) journal() ([]v1alpha1.Stamp, error) {
	ep, err := s.get()
	if err != nil {
		return nil, err
	}
	var rec v1alpha1.MigrationRecord
	if err := s.admin.Get(context.Background(), client.ObjectKey{Name: ep.Status.Record}, &rec); err != nil {
		return nil, err
	}
	return rec.Spec.Journal, nil
}

// released insists that the field is gone, from the story's Service and from others that move with it.
func (s *story) released(others ...string) {
	s.t.Helper()
	for _, name := range append([]string{s.name}, others...) {
		var svc corev1.Service
		must(s.t, s.admin.Get(context.Background(), client.ObjectKey{Namespace: tenant, Name: name}, &svc))
		if len(svc.Spec.ExternalIPs) > 0 {
			s.t.Errorf("externalIPs of %s are still there: %v", name, svc.Spec.ExternalIPs)
		}
	}
}

// holdsFor waits until what comes next waits for the reason, wherever on the walk that is.
func (s *story) holdsFor(reason string) {
	s.t.Helper()
	eventually(s.t, most, s.entryPoint+" holds for "+reason, func() error {
		ep, err := s.get()
		if err != nil {
			return err
		}
		if n := ep.Status.Next; n != nil && n.Reason == reason {
			return nil
		}
		return errors.New(describe(ep))
	})
}

// restored insists that everything is as before the walk, and that nothing of it is left.
func (s *story) restored() {
	s.t.Helper()
	ctx := context.Background()
	var svc corev1.Service
	must(s.t, s.admin.Get(ctx, client.ObjectKeyFromObject(&s.before), &svc))
	if !equality.Semantic.DeepEqual(svc.Spec, s.before.Spec) || !equality.Semantic.DeepEqual(svc.Annotations, s.before.Annotations) {
		s.t.Errorf("the Service is not as before:\n%+v\n%+v\n%v\n%v", svc.Spec, s.before.Spec, svc.Annotations, s.before.Annotations)
	}
	if err := s.answers(s.addresses()...); err != nil {
		s.t.Error(err)
	}
	if got, err := ttlOf("198.51.100.53", s.host); err != nil || got != s.ttl() {
		s.t.Errorf("the TTL is %d, not %d (%v)", got, s.ttl(), err)
	}
	if got, err := dig("198.51.100.53", "_offramp."+s.host, "TXT"); err != nil || got != "" {
		s.t.Errorf("our mark is left: %s (%v)", got, err)
	}
	for _, list := range []client.ObjectList{&gatewayv1.GatewayList{}, &gatewayv1.HTTPRouteList{}, &gatewayv1.TCPRouteList{}, &v1alpha1.AddressClaimList{}, &corev1.ServiceList{}} {
		must(s.t, s.admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelEntryPoint: s.entryPoint}))
		if n := meta.LenList(list); n > 0 {
			s.t.Errorf("%d objects of %T are left", n, list)
		}
	}
}

// finish counts, keeps artifacts of a failed story, and ends the client.
func (s *story) finish() {
	r := result{Story: s.t.Name(), ProxyMode: os.Getenv("KUBE_PROXY_MODE"), Wall: seconds(time.Since(s.began)), Waits: s.waits}
	var words []traffic.Stats
	for _, c := range s.clients {
		st := c.end(s.t, &r)
		words = append(words, st)
		s.broken.measure(st)
		excused := s.broken.excuses(s.old, st)
		r.Lost, r.Faulted = r.Lost-excused, r.Faulted+excused
		s.lossless(st, excused)
	}
	r.APIWrites, r.DNSUpdates = s.apiWrites(), s.dnsUpdates()
	if r.Passed = !s.t.Failed(); !r.Passed {
		s.keepArtifacts(words)
	} else {
		s.sweep()
	}
	r.Fault, r.Losing, r.Note = seconds(s.broken.lasted()), seconds(s.broken.losing()), s.broken.String()
	if err := results.add(r, s.results("results")); err != nil {
		s.t.Error(err)
	}
}

// lossless insists that nothing was lost but what the fault excuses, and that this lies within the fault's window.
func (s *story) lossless(st traffic.Stats, excused int64) {
	s.t.Helper()
	switch {
	case s.broken.path == "":
		if err := st.Verdict(); err != nil {
			s.t.Error(err)
		}
	case st.Lost > excused:
		s.t.Errorf("%d requests lost, %d of them on path %s, which the fault hits", st.Lost, excused, s.broken.path)
	default:
		if err := errors.Join(s.broken.holds(st), st.VerdictButLost()); err != nil {
			s.t.Error(err)
		}
	}
}

// sweep removes what a passed story leaves, so that it can run again; a failed one stays as it is to be looked at.
func (s *story) sweep() {
	for _, args := range [][]string{
		append([]string{"-n", tenant, "delete", "service,deployment", "--ignore-not-found", s.name, s.other()}, s.siblings...),
		{"delete", "entrypoint", s.entryPoint, "--ignore-not-found"},
		{"delete", "migrationrecords", "-l", v1alpha1.LabelEntryPoint + "=" + s.entryPoint},
		{"delete", "migrationpolicy", s.name, "--ignore-not-found"},
	} {
		if _, err := kubectl("", args...); err != nil {
			s.t.Log(err)
		}
	}
}
