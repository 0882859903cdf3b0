//go:build api

package api

import (
	"context"
	"fmt"
	"log/slog"
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

	"offramp.dev/agent"
	"offramp.dev/api/v1alpha1"
)

// emulation is everything a cluster would have and this ring has not: a proxy that serves external and load-balancer
// addresses (here: HTTP servers on them), a load balancer, a Gateway implementation and what a node agent measures.
type emulation struct {
	admin client.Client
	// silence ends the node agent.
	silence func()

	mu    sync.Mutex
	paths map[netip.AddrPort]*path
	// events of connections since the agent's last look.
	events []agent.Event
	// down are addresses whose backend fails on purpose.
	down map[netip.Addr]bool
}

// path is one served address: closing its listener refuses new connections and cuts no old one, as kube-proxy does in
// its nftables and iptables modes.
type path struct {
	listener    net.Listener
	established map[net.Conn]bool
	attempts    uint64
}

func startEmulation(t *testing.T, r *ring) *emulation {
	t.Helper()
	e := &emulation{admin: r.admin, paths: map[netip.AddrPort]*path{}, down: map[netip.Addr]bool{}}
	e.startAgent(t, r)
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
	return nil
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
		ConnState: func(c net.Conn, s http.ConnState) { e.connection(at, c, s) },
	}
	go func() { _ = server.Serve(l) }()
}

func (e *emulation) connection(at netip.AddrPort, c net.Conn, s http.ConnState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.paths[at]
	switch s {
	case http.StateNew:
		p.established[c] = true
		p.attempts++
		e.events = append(e.events, agent.Event{Flow: flowOf(at, c, false)})
	case http.StateClosed, http.StateHijacked:
		delete(p.established, c)
		e.events = append(e.events, agent.Event{Flow: flowOf(at, c, true), Ended: true})
	case http.StateActive, http.StateIdle:
	}
}

// flowOf is what conntrack would say of a connection.
func flowOf(at netip.AddrPort, c net.Conn, closing bool) agent.Flow {
	from, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		panic(err) // a TCP connection of package net always has one
	}
	return agent.Flow{Tuple: tupleOf(at), Client: from, Replied: true, Closing: closing, Left: time.Hour}
}

func tupleOf(at netip.AddrPort) agent.Tuple {
	return agent.Tuple{Address: at.Addr(), Port: int32(at.Port()), Protocol: "TCP"}
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

// reportStale is how long the agent's reports may be believed, in seconds.
const reportStale = 10

// startAgent runs the real agent under its real rights, on a kernel that is emulated: here the servers themselves count.
func (e *emulation) startAgent(t *testing.T, r *ring) {
	t.Helper()
	c, err := client.New(r.asPodOf(t, agentNamespace, "offramp-agent", "n1"), client.Options{Scheme: r.admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := agent.Writer{
		Client: c, Claims: c, Meter: e, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now, Name: "n1", Namespace: agentNamespace,
		Observer: agent.NewObserver(agent.Identity{Node: "n1", BootID: "emulated", StaleAfter: reportStale}),
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, 500*time.Millisecond) }()
	e.silence = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(e.silence)
}

// Read is the agent's look at the node.
func (e *emulation) Read(watched map[agent.Tuple]bool) agent.Reading {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := agent.Reading{
		Signals: []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries, v1alpha1.SignalEvents},
		Mode:    v1alpha1.ProxyNFTables, Counts: map[agent.Tuple]agent.Count{}, Events: e.events,
	}
	e.events = nil
	for t := range watched {
		out.Counts[t] = agent.Count{}
	}
	for at, p := range e.paths {
		t := tupleOf(at)
		if !watched[t] {
			continue
		}
		out.Counts[t] = agent.Count{Packets: p.attempts, Attempts: p.attempts}
		for c := range p.established {
			out.Flows = append(out.Flows, flowOf(at, c, false))
		}
	}
	return out
}
