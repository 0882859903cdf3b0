package sim

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
)

// fault is one that a rehearsal injects. The zero value injects none.
type fault struct {
	Fault

	// number is the parameter of a name that takes one.
	number int
	start  func(*world, int)
	// react is called with every entry point, whenever the controllers have come to rest.
	react func(context.Context, *world, *v1alpha1.EntryPoint) error
}

func (f fault) begin(w *world) {
	if f.start != nil {
		f.start(w, f.number)
	}
}

func (f fault) look(ctx context.Context, w *world, ep *v1alpha1.EntryPoint) error {
	if f.react == nil {
		return nil
	}
	return f.react(ctx, w, ep)
}

// Names of the faults that strike at the controller's writes.
const (
	faultKilled       = "controller-killed"
	faultKilledBefore = "controller-killed-before-write"
	faultKilledAfter  = "controller-killed-after-write"
	faultLost         = "responses-lost"
	faultStale        = "caches-stale"
)

// Faults lists the names that Options.Fault takes, with a sentence each, in order.
func Faults() []Fault {
	var out []Fault
	for _, f := range faultTable() {
		out = append(out, f.Fault)
	}
	return out
}

func faultTable() []fault {
	return append([]fault{
		{Fault: Fault{"dns-refused", "The primaries refuse every update."}, start: func(w *world, _ int) { w.zones.Refuse(true) }},
		{
			Fault: Fault{"dns-server-lags", "Every secondary is ten minutes behind the primary."},
			start: func(w *world, _ int) { w.zones.Lag(10 * time.Minute) },
		},
		{
			Fault: Fault{"allocation-failed", "The load balancer assigns no address."},
			start: func(w *world, _ int) { w.balancer.failing = true },
		},
		{Fault: Fault{"path-fails", "The new path fails 40 seconds after names began to serve it."}, react: pathFails(1)},
		{Fault: Fault{"path-fails-at-50", "The new path fails 40 seconds after half of the answers name it."}, react: pathFails(50)},
		{Fault: Fault{"path-fails-at-100", "The new path fails 40 seconds after all answers name it."}, react: pathFails(100)},
		{
			Fault: Fault{"agent-silent", "The agent of the first node never reports."},
			start: func(w *world, _ int) { w.silence() },
		},
		{Fault: Fault{"tenant-edits-field-back", "A tenant puts the field back after it was released."}, react: editBack},
		{Fault: Fault{"zone-edited-by-hand", "Somebody edits the zone while half of the answers name the new path."}, react: editZone},
		{Fault: Fault{"guard-missing", "The admission policies are not installed."}, start: func(w *world, _ int) { w.server.Deny = false }},
	}, kills()...)
}

func kills() []fault {
	return []fault{
		{
			Fault: Fault{faultKilled, "The controller is killed before and after every write in turn; the end must be the same."},
			start: func(w *world, _ int) { w.kill.everywhere = true },
		},
		{
			Fault: Fault{faultKilledBefore + "=N", "The controller is killed before its N-th write."},
			start: func(w *world, n int) { w.kill.before = n },
		},
		{
			Fault: Fault{faultKilledAfter + "=N", "The controller is killed after its N-th write."},
			start: func(w *world, n int) { w.kill.after = n },
		},
		{
			Fault: Fault{faultLost + "=N", "The N-th write of the controller and every third after it is made, but its response is lost."},
			start: func(w *world, n int) { w.kill.lose = n },
		},
		{
			Fault: Fault{faultStale + "=N", "The controller's caches, and what tells it of changes, are N seconds behind."},
			start: func(w *world, n int) { w.lag = time.Duration(n) * time.Second },
		},
	}
}

// parseFault finds a fault by name; a name that takes a number is written name=N.
func parseFault(text string) (fault, error) {
	if text == "" {
		return fault{}, nil
	}
	name, number, given := strings.Cut(text, "=")
	for _, f := range faultTable() {
		want, _, numbered := strings.Cut(f.Name, "=")
		if want != name || given != numbered {
			continue
		}
		if !numbered {
			return f, nil
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return fault{}, fmt.Errorf("fault %q: want a number from 1, for example %s=7", text, want)
		}
		f.number = n
		return f, nil
	}
	var names []string
	for _, f := range Faults() {
		names = append(names, f.Name)
	}
	return fault{}, fmt.Errorf("fault %q is not known: want one of %s", text, strings.Join(names, ", "))
}

// failsAfter is how long after the share was reached the path fails: clients are on it by then.
const failsAfter = 40 * time.Second

// pathFails breaks the new addresses of every entry point that has reached a share. A kept address cannot fail so.
func pathFails(percent int32) func(context.Context, *world, *v1alpha1.EntryPoint) error {
	return func(_ context.Context, w *world, ep *v1alpha1.EntryPoint) error {
		if ep.Status.SharePercent < percent || ep.Status.Strategy == v1alpha1.StrategyAdopt || w.edited[ep.Name] {
			return nil
		}
		w.edited[ep.Name] = true
		failing := ep.DeepCopy()
		w.after(failsAfter, func(context.Context) error { w.breakPath(failing); return nil })
		return nil
	}
}

func (w *world) breakPath(ep *v1alpha1.EntryPoint) {
	for _, text := range ep.Status.NewAddresses {
		if a, err := netip.ParseAddr(text); err == nil {
			w.path.broken[a] = true
		}
	}
}

// silence keeps the first node's agent from reporting.
func (w *world) silence() {
	for _, n := range sortedObjects(w.server.store.cache, nodeKind) {
		w.agents.silent[n.GetName()] = true
		return
	}
}

// editBack is a tenant's kubectl apply of the old manifest, once.
func editBack(ctx context.Context, w *world, ep *v1alpha1.EntryPoint) error {
	if !isTrue(ep, string(migration.GateReleased)) || ep.Status.Next == nil || w.edited[ep.Name] {
		return nil
	}
	for _, m := range ep.Spec.Members {
		var svc corev1.Service
		if err := w.tenant.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, &svc); err != nil {
			return err
		}
		if svc.Annotations[v1alpha1.AnnotationReleased] == "" {
			return nil
		}
		w.edited[ep.Name] = true
		svc.Spec.ExternalIPs = append([]string(nil), w.before[m.Namespace+"/"+m.Name].Spec.ExternalIPs...)
		if err := w.tenant.Update(ctx, &svc); err != nil {
			return fmt.Errorf("the emulated tenant cannot put the field back: %w", err)
		}
	}
	return nil
}

// editZone sets the names of an entry point back by hand, once, while both addresses are answered.
func editZone(_ context.Context, w *world, ep *v1alpha1.EntryPoint) error {
	if ep.Status.SharePercent != 50 || w.edited[ep.Name] {
		return nil
	}
	w.edited[ep.Name] = true
	for _, name := range ep.Status.Names {
		w.zones.Edit(name, func(dnsctl.RecordSet) dnsctl.RecordSet { return w.records[name] })
	}
	return nil
}
