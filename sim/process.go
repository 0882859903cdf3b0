package sim

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/controllers"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/observe"
)

// Namespace of the emulated controller.
const Namespace = "offramp-system"

// lease is how long a new process waits for the one before it.
const lease = 15 * time.Second

const entryPointLoop = "entrypoint"

var entryPointKind = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "EntryPoint"}

// process is one life of the controller: its reconcilers, and when each object is to be looked at.
type process struct {
	loops []loop
	due   map[item]time.Time
	fails map[item]int
	idle  map[item]int
}

type loop struct {
	controllers.Reconciler

	kind string
}

// item is one object of one loop.
type item struct {
	loop string
	key  types.NamespacedName
}

// start makes a new process that looks at everything once.
func (w *world) start(since time.Time) {
	api := w.server.As(UserController, &w.kill)
	cached := &stale{live: api, tap: &w.kill, from: w.server.store.cache, lag: w.lag, now: w.clock}
	ports := &controllers.Ports{
		Ports: observe.Ports{
			Cached: cached, Live: api, Guard: api, DNS: tappedZones{w.zones, &w.kill}, Probe: prober{w.users}, Namespace: Namespace,
			AgentNamespace: AgentNamespace, Serves: w.server.serves, Now: w.clock,
		},
		Client: staleClient{api, cached}, Since: since, Lease: lease,
	}
	p := &process{due: map[item]time.Time{}, fails: map[item]int{}, idle: map[item]int{}}
	for _, r := range controllers.Reconcilers(ports) {
		gvk, err := w.server.fake.GroupVersionKindFor(r.For)
		if err != nil {
			continue
		}
		p.loops = append(p.loops, loop{r, gvk.Kind})
		for _, obj := range sortedObjects(w.server.store.cache, gvk.GroupKind()) {
			p.mark(r.Name, client.ObjectKeyFromObject(obj), w.now)
		}
	}
	w.process = p
}

// restart is a new process after the old one was killed.
func (w *world) restart() {
	w.kill.dead = false
	w.start(w.now)
}

// serves tells whether the scheme knows a kind.
func (s *Server) serves(gvk schema.GroupVersionKind) bool { return s.scheme.Recognizes(gvk) }

// mark makes an object due at a time, if it is not due before.
func (p *process) mark(loop string, key types.NamespacedName, at time.Time) {
	it := item{loop, key}
	if old, ok := p.due[it]; !ok || at.Before(old) {
		p.due[it] = at
	}
	delete(p.idle, it)
}

// changed is what the loops' own watches do.
func (p *process) changed(c ref, at time.Time) {
	for _, l := range p.loops {
		if l.kind == c.kind {
			p.mark(l.Name, types.NamespacedName{Namespace: c.namespace, Name: c.name}, at)
		}
	}
}

// next is the earliest time at which anything is due.
func (p *process) next() (time.Time, bool) {
	var out time.Time
	found := false
	for _, at := range p.due {
		if !found || at.Before(out) {
			out, found = at, true
		}
	}
	return out, found
}

// dueAt is the first item that is due, in a fixed order.
func (p *process) dueAt(now time.Time) (item, bool) {
	var due []item
	for it, at := range p.due {
		if !at.After(now) {
			due = append(due, it)
		}
	}
	if len(due) == 0 {
		return item{}, false
	}
	return slices.MinFunc(due, func(a, b item) int {
		return cmp.Or(p.due[a].Compare(p.due[b]), cmp.Compare(p.place(a.loop), p.place(b.loop)),
			strings.Compare(a.key.String(), b.key.String()))
	}), true
}

func (p *process) place(name string) int {
	return slices.IndexFunc(p.loops, func(l loop) bool { return l.Name == name })
}

// pass calls one reconciler for one object and plans the next pass as controller-runtime would.
func (w *world) pass(ctx context.Context, it item) {
	p := w.process
	delete(p.due, it)
	at := p.place(it.loop)
	if at < 0 {
		return
	}
	w.kill.owner = w.owner(p.loops[at].kind, it.key)
	before := w.kill.done
	result, err := p.loops[at].Do(ctx, reconcile.Request{NamespacedName: it.key})
	w.kill.owner = ""
	if w.kill.dead {
		return
	}
	switch {
	case err != nil:
		p.fails[it]++
		p.due[it] = w.now.Add(retry(p.fails[it]))
	case result.RequeueAfter > 0:
		delete(p.fails, it)
		if w.kill.done != before {
			p.idle[it] = 0
		}
		p.idle[it]++
		p.due[it] = w.now.Add(w.stretch(result.RequeueAfter, p.idle[it], w.waitsFor(it)))
	default:
		delete(p.fails, it)
	}
}

// retry is the rate limiter's delay after n failures.
func retry(n int) time.Duration {
	return time.Duration(math.Min(float64(time.Minute), float64(100*time.Millisecond)*math.Pow(2, float64(n))))
}

// stretch makes polls rarer that have found nothing new several times: a rehearsal of hours need not look every ten
// seconds. It never touches one that is longer anyway. at is a time that the walk waits for, if it said so.
func (w *world) stretch(after time.Duration, idle int, at time.Time) time.Duration {
	const calm = 6
	if idle <= calm || after >= time.Minute || after < 5*time.Second {
		return after
	}
	most := 5 * time.Minute
	if w.fault.Name != "" {
		most = time.Minute
	}
	if wait := at.Sub(w.now); wait > 0 {
		most = min(most, wait)
	}
	return min(after*time.Duration(idle-calm), most)
}

// waitsFor is the time that the status of an entry point names.
func (w *world) waitsFor(it item) time.Time {
	ep, ok := w.server.store.cache.objects[entryPointKind][it.key].(*v1alpha1.EntryPoint)
	if !ok || it.loop != entryPointLoop || ep.Status.Next == nil || ep.Status.Next.At == nil {
		return time.Time{}
	}
	return ep.Status.Next.At.Time
}

// owner is the entry point that a pass for an object works for.
func (w *world) owner(kind string, key types.NamespacedName) string {
	store := w.server.store.cache
	group := func(k string) schema.GroupKind { return schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: k} }
	switch kind {
	case "EntryPoint":
		return key.Name
	case "Service":
		return w.entryPointOf(key)
	case "AddressClaim":
		if c, ok := store.objects[group(kind)][key].(*v1alpha1.AddressClaim); ok {
			return c.Spec.EntryPoint
		}
	case "MigrationRecord":
		if r, ok := store.objects[group(kind)][key].(*v1alpha1.MigrationRecord); ok {
			return r.Spec.EntryPoint
		}
	}
	return ""
}

// entryPointOf is the entry point that holds a Service.
func (w *world) entryPointOf(key types.NamespacedName) string {
	for _, obj := range sortedObjects(w.server.store.cache, entryPointKind) {
		ep, ok := obj.(*v1alpha1.EntryPoint)
		if ok && slices.Contains(ep.Spec.Members, v1alpha1.ServiceReference{Namespace: key.Namespace, Name: key.Name}) {
			return ep.Name
		}
	}
	return ""
}

// concerns is what the controllers' watches on neighbours map to: members, what carries our label, the policy; and, of
// the emulated cluster, the Service behind our Gateway.
func (w *world) concerns(ep *v1alpha1.EntryPoint, c ref) bool {
	if c.kind == "MigrationPolicy" {
		return ep.Spec.Policy == c.name
	}
	if c.kind == "Service" && slices.Contains(ep.Spec.Members, v1alpha1.ServiceReference{Namespace: c.namespace, Name: c.name}) {
		return true
	}
	for gk, objects := range w.server.store.cache.objects {
		if gk.Kind != c.kind {
			continue
		}
		obj, ok := objects[types.NamespacedName{Namespace: c.namespace, Name: c.name}]
		if claim, is := obj.(*v1alpha1.AddressClaim); is && addresspool.HeldBy(&claim.Spec, ep.Name) {
			return true
		}
		if ok && obj.GetLabels()[v1alpha1.LabelEntryPoint] == gateway.Label(ep.Name) {
			return true
		}
	}
	return false
}

// tappedZones are the zones as one process sees them.
type tappedZones struct {
	*Zones

	tap *killer
}

// Query asks as the process does: not at all once it is dead.
func (z tappedZones) Query(ctx context.Context, of dnsctl.Zone, server, name string) (dnsctl.Answer, error) {
	if err := z.tap.Look(); err != nil {
		return dnsctl.Answer{}, err
	}
	return z.Zones.Query(ctx, of, server, name)
}

// Update is a write, before and behind which the process may die.
func (z tappedZones) Update(ctx context.Context, of dnsctl.Zone, changes []dnsctl.Change) error {
	update := Write{Verb: "update", Kind: kindDNS, Name: of.Apex}
	if err := z.tap.Look(); err != nil {
		return err
	}
	if err := z.tap.Before(update); err != nil {
		return err
	}
	if err := z.Zones.Update(ctx, of, changes); err != nil {
		return err
	}
	return z.tap.After(update)
}

// kindDNS stands for a DNS update among the writes.
const kindDNS = "DNSUpdate"
