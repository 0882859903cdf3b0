//go:build api

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
)

var _ = metallb.AnnotationAddresses

// walk is one Service on its way, with a client that never stops.
type walk struct {
	*ring

	t          *testing.T
	name, host string
	old        string
	before     corev1.Service
	entryPoint string
	sent, lost atomic.Int64
	lastLoss   atomic.Value
}

// newWalk creates the record and an HTTP Service, opts it in and waits for its EntryPoint.
func (r *ring) newWalk(t *testing.T, n int) *walk {
	t.Helper()
	return r.walkOf(t, n, func(*corev1.Service) {})
}

// walkOf is newWalk for a Service that edit changed.
func (r *ring) walkOf(t *testing.T, n int, edit func(*corev1.Service)) *walk {
	t.Helper()
	w := &walk{ring: r, t: t, name: fmt.Sprintf("web%d", n), host: fmt.Sprintf("web%d.%s", n, zoneName), old: fmt.Sprintf("203.0.113.%d", 10+n)}
	if out, err := r.bind.Nsupdate(t, fmt.Sprintf("update add %s. 2 A %s\nsend\n", w.host, w.old)); err != nil {
		t.Fatalf("nsupdate: %v\n%s", err, out)
	}
	http := "http"
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: w.name, Annotations: map[string]string{
			v1alpha1.AnnotationPolicy: "standard", v1alpha1.AnnotationHostnames: w.host,
		}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": w.name}, ExternalIPs: []string{w.old}, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, AppProtocol: &http}},
		},
	}
	edit(svc)
	if err := r.admin.Create(context.Background(), svc); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the Service belongs to an EntryPoint", func() error {
		if err := r.admin.Get(context.Background(), client.ObjectKeyFromObject(svc), &w.before); err != nil {
			return err
		}
		if w.entryPoint = w.before.Annotations[v1alpha1.AnnotationEntryPoint]; w.entryPoint == "" {
			return errors.New("no annotation yet")
		}
		return nil
	})
	w.keepAsking()
	return w
}

// keepAsking sends a request by name about every 50 ms until the test ends: one connect attempt to the first address, no
// retry. It counts from the first answer on: the emulated proxy must have seen the Service first.
func (w *walk) keepAsking() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, w.bind.Address)
	}}
	eventually(w.t, time.Minute, "the old path answers", func() error { return w.ask(ctx, resolver) })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := w.ask(ctx, resolver); err != nil && ctx.Err() == nil {
				w.lost.Add(1)
				w.lastLoss.Store(err.Error())
			}
			w.sent.Add(1)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	w.t.Cleanup(func() { stop(); <-done })
}

func (w *walk) ask(ctx context.Context, resolver *net.Resolver) error {
	addrs, err := resolver.LookupNetIP(ctx, "ip4", w.host)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addrs[0].String()+"/", nil)
	if err != nil {
		return err
	}
	req.Host, req.Close = w.host, true
	resp, err := (&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func (w *walk) get() (*v1alpha1.EntryPoint, error) {
	var ep v1alpha1.EntryPoint
	return &ep, w.admin.Get(context.Background(), client.ObjectKey{Name: w.entryPoint}, &ep)
}

// set changes the spec as a human does.
func (w *walk) set(change func(*v1alpha1.EntryPointSpec, *v1alpha1.EntryPointStatus)) {
	w.t.Helper()
	eventually(w.t, time.Minute, "the spec is written", func() error {
		ep, err := w.get()
		if err != nil {
			return err
		}
		change(&ep.Spec, &ep.Status)
		return w.admin.Update(context.Background(), ep)
	})
}

// goal lets the walk go to a goal, with the approval that goals past Stage need.
func (w *walk) goal(g v1alpha1.Goal) {
	w.t.Helper()
	if g != v1alpha1.GoalStage && g != v1alpha1.GoalReport {
		w.reach("Recorded")
	}
	w.set(func(s *v1alpha1.EntryPointSpec, st *v1alpha1.EntryPointStatus) {
		s.Goal, s.ApprovedPlan = g, st.PlanHash
	})
}

// reach waits until a gate's condition is true.
func (w *walk) reach(gate string) {
	w.t.Helper()
	eventually(w.t, 4*time.Minute, "gate "+gate+" of "+w.entryPoint+" is met", func() error {
		ep, err := w.get()
		if err != nil {
			return err
		}
		if share, ok := strings.CutPrefix(gate, "Share"); ok {
			// A slow machine may look only when a share has passed already: at least as much will do.
			if n, err := strconv.Atoi(share); err == nil && (int(ep.Status.SharePercent) == n || n > 0 && int(ep.Status.SharePercent) > n) {
				return nil
			}
		} else if meta.IsStatusConditionTrue(ep.Status.Conditions, gate) {
			return nil
		}
		return errors.New(describe(ep))
	})
}

func describe(ep *v1alpha1.EntryPoint) string {
	var b strings.Builder
	for _, c := range ep.Status.Conditions {
		fmt.Fprintf(&b, "\n  %-14s %-8s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if n := ep.Status.Next; n != nil {
		fmt.Fprintf(&b, "\n  next %s %s %s", n.Gate, n.Reason, n.Message)
	}
	for _, f := range ep.Status.Findings {
		fmt.Fprintf(&b, "\n  finding %s %s %s", f.Severity, f.Reason, f.Message)
	}
	return b.String()
}

// back turns the walk around and waits until it is undone.
func (w *walk) back() {
	w.t.Helper()
	w.set(func(s *v1alpha1.EntryPointSpec, _ *v1alpha1.EntryPointStatus) { s.Direction = v1alpha1.DirectionBack })
	eventually(w.t, 4*time.Minute, w.entryPoint+" is undone", func() error {
		ep, err := w.get()
		if err != nil {
			return err
		}
		var rec v1alpha1.MigrationRecord
		if err := w.admin.Get(context.Background(), client.ObjectKey{Name: ep.Status.Record}, &rec); err != nil {
			return fmt.Errorf("%w%s", err, describe(ep))
		}
		if n := len(rec.Spec.Journal); rec.Spec.Journal[n-1].Kind != v1alpha1.StampUndone {
			return errors.New(describe(ep))
		}
		return nil
	})
}

// restored insists that nothing of the walk is left, and that everything is as before it.
func (w *walk) restored() {
	w.t.Helper()
	ctx := context.Background()
	var svc corev1.Service
	if err := w.admin.Get(ctx, client.ObjectKeyFromObject(&w.before), &svc); err != nil {
		w.t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(svc.Spec, w.before.Spec) || !equality.Semantic.DeepEqual(svc.Annotations, w.before.Annotations) {
		w.t.Errorf("the Service is not as before:\n%+v\n%+v\n%v\n%v", svc.Spec, w.before.Spec, svc.Annotations, w.before.Annotations)
	}
	out, err := w.bind.Nsupdate(w.t, fmt.Sprintf("prereq yxrrset %s. A %s\nprereq nxrrset _offramp.%s. TXT\nupdate add check-%s. 1 TXT x\nsend\n", w.host, w.old, w.host, w.host))
	if err != nil {
		w.t.Errorf("the records are not as before: %v\n%s", err, out)
	}
	for _, list := range []client.ObjectList{&gatewayv1.GatewayList{}, &gatewayv1.HTTPRouteList{}, &v1alpha1.AddressClaimList{}} {
		if err := w.admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelEntryPoint: w.entryPoint}); err != nil {
			w.t.Fatal(err)
		}
		if n := meta.LenList(list); n > 0 {
			w.t.Errorf("%d objects of %T are left", n, list)
		}
	}
}

// nothingLost insists that the client that never stops lost nothing.
func (w *walk) nothingLost() {
	w.t.Helper()
	if w.lost.Load() > 0 || w.sent.Load() == 0 {
		w.t.Errorf("%s: %d of %d requests lost, the last one: %v", w.name, w.lost.Load(), w.sent.Load(), w.lastLoss.Load())
	}
	w.t.Logf("%s: %d requests, %d lost", w.name, w.sent.Load(), w.lost.Load())
}

// hold opens a connection to the old address and keeps it until the returned function ends it, which says whether it lived.
func (w *walk) hold() (end func() error) {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.old+"/hold", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	cut := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		cut <- err
	}()
	return func() error {
		defer stop()
		select {
		case err := <-cut:
			return fmt.Errorf("the held connection was cut: %w", errors.Join(err, io.ErrUnexpectedEOF))
		default:
			return nil
		}
	}
}

// whole walks from Report to the end with a held connection, and back from there.
func (r *ring) whole(t *testing.T) {
	t.Parallel()
	w := r.newWalk(t, 0)
	end := w.hold()
	w.goal(v1alpha1.GoalStage)
	w.reach("Proven")
	w.owned()
	w.goal(v1alpha1.GoalRelease)
	w.reach("Settled")
	time.Sleep(6 * time.Second) // twice the drain window: only the held connection keeps the gate shut
	if ep, err := w.get(); err != nil || meta.IsStatusConditionTrue(ep.Status.Conditions, "Drained") {
		t.Errorf("Drained while a connection is held (%v)", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	w.reach("Released")
	w.reach("TTLRestored")
	var svc corev1.Service
	if err := r.admin.Get(context.Background(), client.ObjectKeyFromObject(&w.before), &svc); err != nil || len(svc.Spec.ExternalIPs) > 0 {
		t.Errorf("the field is still there: %v %v", svc.Spec.ExternalIPs, err)
	}
	w.back()
	w.restored()
	w.nothingLost()
}

// owned insists that what was made is made under our field manager, labeled, pinned, and owned by no object.
func (w *walk) owned() {
	w.t.Helper()
	var all gatewayv1.GatewayList
	if err := w.admin.List(context.Background(), &all, client.MatchingLabels{v1alpha1.LabelEntryPoint: w.entryPoint}); err != nil || len(all.Items) != 1 {
		w.t.Fatalf("%d Gateways (%v)", len(all.Items), err)
	}
	gw := all.Items[0]
	if len(gw.OwnerReferences) > 0 || len(gw.Spec.Addresses) > 0 || gw.Spec.Infrastructure == nil {
		w.t.Errorf("owners %v, spec.addresses %v, infrastructure %v", gw.OwnerReferences, gw.Spec.Addresses, gw.Spec.Infrastructure)
	}
	ours := slices.ContainsFunc(gw.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == v1alpha1.FieldManager && f.Subresource == "" && strings.Contains(string(f.FieldsV1.GetRawBytes()), "f:listeners")
	})
	if !ours {
		w.t.Errorf("the Gateway's spec is not owned by %s: %+v", v1alpha1.FieldManager, gw.ManagedFields)
	}
}

// strategy insists on how the entry point is served.
func (w *walk) strategy(want v1alpha1.Strategy) {
	w.t.Helper()
	if ep, err := w.get(); err != nil || ep.Status.Strategy != want {
		w.t.Errorf("strategy %s, want %s (%v)", ep.Status.Strategy, want, err)
	}
}

// backFrom turns around as soon as a gate is met.
func (r *ring) backFrom(n int, gate string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		w := r.newWalk(t, n)
		w.goal(v1alpha1.GoalStage)
		if gate != "Recorded" && gate != "Claimed" && gate != "Staged" && gate != "Proven" {
			w.goal(v1alpha1.GoalRelease)
		}
		w.reach(gate)
		w.back()
		w.restored()
		w.nothingLost()
	}
}

// gatesBack are the gates the walk is turned back from; Share50 is the middle of the shift.
func gatesBack() []string {
	return []string{
		"Recorded", "Claimed", "Staged", "Proven", "TTLLowered", "Share50", "Shifted", "Settled", "Drained", "Released", "Soaked", "TTLRestored",
	}
}

// errNot shows what was found instead.
func errNot(found any) error { return fmt.Errorf("found %v", found) }
