//go:build api

package api

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// emulation is everything a cluster would have and this ring has not: a proxy that serves external and load-balancer
// addresses (here: HTTP servers on them), a load balancer, a Gateway implementation and a node agent.
type emulation struct {
	admin, agent client.Client
	started      time.Time

	mu    sync.Mutex
	paths map[netip.AddrPort]*path
	// down are addresses whose backend fails on purpose.
	down map[netip.Addr]bool
}

// path is one served address: closing its listener refuses new connections and cuts no old one, as kube-proxy does in
// its nftables and iptables modes.
type path struct {
	listener    net.Listener
	established map[net.Conn]bool
	lastNew     time.Time
}

func startEmulation(t *testing.T, r *ring) *emulation {
	t.Helper()
	agentConfig := r.asPodOf(t, "offramp-agent", "offramp-agent", "n1")
	agent, err := client.New(agentConfig, client.Options{Scheme: r.admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	e := &emulation{admin: r.admin, agent: agent, started: time.Now(), paths: map[netip.AddrPort]*path{}, down: map[netip.Addr]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := e.pass(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				t.Logf("emulation: %v", err)
			}
			time.Sleep(150 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return e
}

func (e *emulation) pass(ctx context.Context) error {
	var services corev1.ServiceList
	if err := e.admin.List(ctx, &services); err != nil {
		return err
	}
	for i := range services.Items {
		if err := e.balance(ctx, &services.Items[i]); err != nil {
			return err
		}
	}
	if err := e.gateways(ctx, services.Items); err != nil {
		return err
	}
	e.serve(services.Items)
	return e.report(ctx)
}

// balance is the load balancer: a Service without a class gets the address it is pinned to.
func (e *emulation) balance(ctx context.Context, s *corev1.Service) error {
	pinned := s.Annotations["metallb.io/loadBalancerIPs"]
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Spec.LoadBalancerClass != nil || pinned == "" || len(s.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	for ip := range strings.SplitSeq(pinned, ",") {
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
	}
	return e.admin.Status().Update(ctx, s)
}

// gateways is the Gateway implementation: a Service for each Gateway, and the status of Gateway and routes.
func (e *emulation) gateways(ctx context.Context, services []corev1.Service) error {
	var all gatewayv1.GatewayList
	if err := e.admin.List(ctx, &all); err != nil {
		return err
	}
	kept := map[string]bool{}
	for i := range all.Items {
		gw := &all.Items[i]
		if gw.Spec.GatewayClassName != className {
			continue
		}
		kept[gw.Namespace+"/"+gw.Name] = true
		if err := e.gateway(ctx, gw); err != nil {
			return err
		}
	}
	for i := range services {
		s := &services[i]
		if name := s.Labels[gatewayLabel]; name != "" && !kept[s.Namespace+"/"+name] {
			if err := e.admin.Delete(ctx, s); err != nil {
				return err
			}
		}
	}
	return e.routes(ctx)
}

const gatewayLabel = "gateway.networking.k8s.io/gateway-name"

func (e *emulation) gateway(ctx context.Context, gw *gatewayv1.Gateway) error {
	var s corev1.Service
	key := client.ObjectKey{Namespace: gw.Namespace, Name: gw.Name + "-emulated"}
	if err := e.admin.Get(ctx, key, &s); apierrors.IsNotFound(err) {
		return e.admin.Create(ctx, serviceOf(gw, key.Name))
	} else if err != nil {
		return err
	}
	if len(s.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	before := gw.DeepCopy()
	gw.Status.Addresses = nil
	kind := gatewayv1.IPAddressType
	for _, in := range s.Status.LoadBalancer.Ingress {
		gw.Status.Addresses = append(gw.Status.Addresses, gatewayv1.GatewayStatusAddress{Type: &kind, Value: in.IP})
	}
	gw.Status.Conditions = conditions(gw.Generation, "Accepted", "Programmed")
	gw.Status.Listeners = nil
	for _, l := range gw.Spec.Listeners {
		gw.Status.Listeners = append(gw.Status.Listeners, gatewayv1.ListenerStatus{
			Name: l.Name, AttachedRoutes: 1, Conditions: conditions(gw.Generation, "Accepted", "Programmed", "ResolvedRefs"),
			SupportedKinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}, {Kind: "TLSRoute"}, {Kind: "TCPRoute"}},
		})
	}
	return e.admin.Status().Patch(ctx, gw, client.MergeFrom(before))
}

func serviceOf(gw *gatewayv1.Gateway, name string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: gw.Namespace, Name: name, Labels: map[string]string{gatewayLabel: gw.Name}, Annotations: map[string]string{},
	}}
	if gw.Spec.Infrastructure != nil {
		for k, v := range gw.Spec.Infrastructure.Annotations {
			s.Annotations[string(k)] = string(v)
		}
	}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	seen := map[int32]bool{}
	for _, l := range gw.Spec.Listeners {
		if port := int32(l.Port); !seen[port] {
			seen[port] = true
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(port)})
		}
	}
	return s
}

// conditions are all true and stable, so that an unchanged status is not written again.
func conditions(generation int64, kinds ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, k := range kinds {
		out = append(out, metav1.Condition{
			Type: k, Status: metav1.ConditionTrue, Reason: k, Message: "emulated", ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(time.Unix(1700000000, 0)),
		})
	}
	return out
}

func (e *emulation) routes(ctx context.Context) error {
	var all gatewayv1.HTTPRouteList
	if err := e.admin.List(ctx, &all); err != nil {
		return err
	}
	for i := range all.Items {
		route := &all.Items[i]
		before := route.DeepCopy()
		route.Status.Parents = nil
		for _, p := range route.Spec.ParentRefs {
			route.Status.Parents = append(route.Status.Parents, gatewayv1.RouteParentStatus{
				ParentRef: p, ControllerName: controllerName, Conditions: conditions(route.Generation, "Accepted", "ResolvedRefs"),
			})
		}
		if err := e.admin.Status().Patch(ctx, route, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

// served are the addresses that are routed to the emulated nodes; five thousand others are not.
var served = netip.MustParsePrefix("203.0.113.0/24")

// serve opens and closes the addresses that Services carry now.
func (e *emulation) serve(services []corev1.Service) {
	want := map[netip.AddrPort]bool{}
	for i := range services {
		s := &services[i]
		var addresses []string
		addresses = append(addresses, s.Spec.ExternalIPs...)
		for _, in := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, in.IP)
		}
		for _, text := range addresses {
			for _, p := range s.Spec.Ports {
				if a, err := netip.ParseAddr(text); err == nil && p.Protocol == corev1.ProtocolTCP && served.Contains(a) {
					want[netip.AddrPortFrom(a, portOf(p.Port))] = true
				}
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for at := range want {
		if p := e.paths[at]; p == nil || p.listener == nil {
			e.open(at)
		}
	}
	for at, p := range e.paths {
		if !want[at] && p.listener != nil {
			_ = p.listener.Close()
			p.listener = nil
		}
	}
}

// portOf is a port number; the API server lets no other one be stored.
func portOf(n int32) uint16 {
	if n < 0 || n > math.MaxUint16 {
		return 0
	}
	return uint16(n)
}

func (e *emulation) open(at netip.AddrPort) {
	_ = exec.Command("ip", "addr", "replace", at.Addr().String()+"/32", "dev", "lo").Run()
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return
	}
	p := e.paths[at]
	if p == nil {
		p = &path{established: map[net.Conn]bool{}}
		e.paths[at] = p
	}
	p.listener = l
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, Handler: e.backend(at.Addr()),
		ConnState: func(c net.Conn, s http.ConnState) { e.connection(p, c, s) },
	}
	go func() { _ = server.Serve(l) }()
}

func (e *emulation) connection(p *path, c net.Conn, s http.ConnState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch s {
	case http.StateNew:
		p.established[c], p.lastNew = true, time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(p.established, c)
	case http.StateActive, http.StateIdle:
	}
}

// backend answers at once; /hold goes on until the client leaves.
func (e *emulation) backend(at netip.Addr) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		down := e.down[at]
		e.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintln(w, "hello from "+at.String())
	})
	mux.HandleFunc("/hold", func(w http.ResponseWriter, req *http.Request) {
		flusher := http.NewResponseController(w)
		for req.Context().Err() == nil {
			if _, err := fmt.Fprintln(w, "tick"); err != nil || flusher.Flush() != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	return mux
}

// fail makes the backend behind an address fail, or heals it.
func (e *emulation) fail(at string, down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down[netip.MustParseAddr(at)] = down
}

// report is the node agent: all three signals, because here the servers themselves count.
func (e *emulation) report(ctx context.Context) error {
	var claims v1alpha1.AddressClaimList
	if err := e.agent.List(ctx, &claims); err != nil {
		return err
	}
	o := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	if err := e.agent.Get(ctx, client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) {
		if err := e.agent.Create(ctx, o); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	o.Status = v1alpha1.ObservationStatus{
		Source: v1alpha1.SourceNode, Node: "n1", ReportedAt: metav1.Now(), StaleAfterSeconds: 30, CoverageSince: metav1.NewTime(e.started),
		Watched: migration.WatchedHash(claims.Items), ProxyMode: v1alpha1.ProxyNFTables, BootID: "emulated",
		Signals: []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries, v1alpha1.SignalEvents}, Traffic: e.rows(claims.Items),
	}
	return e.agent.Status().Update(ctx, o)
}

func (e *emulation) rows(claims []v1alpha1.AddressClaim) []v1alpha1.TupleTraffic {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []v1alpha1.TupleTraffic
	for _, t := range migration.Watched(claims) {
		p := e.paths[netip.AddrPortFrom(t.Address, portOf(t.Port))]
		if p == nil {
			continue
		}
		row := v1alpha1.TupleTraffic{Address: t.Address.String(), Port: t.Port, Protocol: t.Protocol, Established: int64(len(p.established))}
		if !p.lastNew.IsZero() {
			at := metav1.NewTime(p.lastNew)
			row.LastNew = &at
		}
		out = append(out, row)
	}
	return out
}
