package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// begin is when every rehearsal starts. It is no real date: a rehearsal reads no clock.
func begin() time.Time { return time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC) }

const (
	// requestEvery is the pace of each client; beside it every client tries once after each change of the world.
	requestEvery = 15 * time.Second
	// emulatedDelay is how long the cluster's own controllers take.
	emulatedDelay = time.Second
	// afterwards is how long clients go on when the last walk has ended.
	afterwards = 10 * time.Minute
	// patience is how long nothing may change before a walk counts as held. It is longer than the longest wait that a
	// walk has of its own: old TTL, drain window, soak.
	patience = 6 * time.Hour
	// longest is when a rehearsal ends in any case.
	longest = 14 * 24 * time.Hour
)

// world is one rehearsal under way.
type world struct {
	options Options
	fault   fault
	now     time.Time
	rng     *dice

	server *Server
	zones  *Zones
	path   *datapath
	users  *traffic
	// admin and tenant are the people, cluster what runs in it beside us.
	admin, tenant, cluster client.Client
	balancer               *balancer
	gateways               *gatewayImpl
	agents                 *agents

	process *process
	kill    killer
	// lag is for how long the controller's cache may hear nothing.
	lag     time.Duration
	walks   map[string]*tracked
	timers  []timer
	order   int
	emulate bool
	assumed []string
	// before are the Services with the field, by "namespace/name", records the names, as they were; rollbacks where an
	// annotation asks to turn back. edited notes what a fault did once.
	before    map[string]*corev1.Service
	records   map[string]dnsctl.RecordSet
	rollbacks map[string]string
	edited    map[string]bool
	// losses of requests: how many, from when to when.
	losses              int
	firstLoss, lastLoss time.Time
	// progress is when anything last changed that is not a heartbeat.
	progress time.Time
}

// timer is something of the world that happens at a time.
type timer struct {
	at    time.Time
	order int
	do    func(context.Context) error
}

func (w *world) clock() time.Time { return w.now }

// after plans do.
func (w *world) after(d time.Duration, do func(context.Context) error) {
	w.order++
	w.timers = append(w.timers, timer{w.now.Add(d), w.order, do})
}

// every repeats do until the rehearsal ends.
func (w *world) every(d time.Duration, do func(context.Context) error) {
	w.after(d, func(ctx context.Context) error {
		w.every(d, do)
		return do(ctx)
	})
}

// newWorld makes the parts; nothing moves yet.
func newWorld(o Options, f fault) (*world, error) {
	w := &world{
		options: o, fault: f, now: begin(), progress: begin(), walks: map[string]*tracked{},
		before: map[string]*corev1.Service{}, records: map[string]dnsctl.RecordSet{}, rollbacks: map[string]string{}, edited: map[string]bool{},
		rng: newDice(o.Seed),
	}
	server, err := NewServer(w.clock)
	if err != nil {
		return nil, err
	}
	w.server, w.zones, w.path = server, NewZones(w.clock), newDatapath()
	w.admin, w.tenant, w.cluster = server.As(UserAdmin, nil), server.As(UserTenant, nil), server.As(UserCluster, nil)
	w.users = &traffic{path: w.path, rng: w.rng, now: w.clock, seen: map[Tuple]time.Time{}}
	for i := range 4 {
		w.users.resolvers = append(w.users.resolvers, &resolver{zones: w.zones, sticky: i == 3, entries: map[string]cached{}})
	}
	w.users.onLoss = w.lost
	store := server.store.cache
	w.balancer = &balancer{api: w.cluster, cache: store}
	w.gateways = &gatewayImpl{api: w.cluster, cache: store}
	w.agents = &agents{api: w.cluster, cache: store, traffic: w.users, now: w.clock, silent: map[string]bool{}, watched: map[Tuple]bool{}}
	return w, nil
}

// lost notes a lost request.
func (w *world) lost(f *flow, to Tuple) {
	if w.losses == 0 {
		w.firstLoss = w.now
	}
	w.losses++
	w.lastLoss = w.now
	w.say("%s  %-44s lost a request to %s port %d (%s)", w.now.Format("15:04:05"), f.service, to.Address, to.Port, f.name)
}

// run walks until every walk has ended or stands still.
func (w *world) run(ctx context.Context) error {
	w.every(requestEvery, func(context.Context) error { w.users.tick(); return nil })
	w.every(agentEvery, w.agents.report)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		acted, err := w.human(ctx)
		if err != nil {
			return err
		}
		if acted {
			continue
		}
		if w.finished() || !w.advance() {
			return nil
		}
		if err := w.happen(ctx); err != nil {
			return err
		}
	}
}

// finished: all walks have ended and clients had some time to notice, or nothing has moved for long.
func (w *world) finished() bool {
	quiet := w.now.Sub(w.progress)
	ended := len(w.walks) > 0
	for _, t := range w.walks {
		ended = ended && t.final()
	}
	return ended && quiet >= afterwards || quiet >= patience || w.now.Sub(begin()) >= longest
}

// advance jumps to the next event.
func (w *world) advance() bool {
	next, ok := w.process.next()
	for _, t := range w.timers {
		if !ok || t.at.Before(next) {
			next, ok = t.at, true
		}
	}
	if !ok {
		return false
	}
	if next.After(w.now) {
		w.now = next
	}
	return true
}

// happen lets the timers that are due go off, in order.
func (w *world) happen(ctx context.Context) error {
	var due, later []timer
	for _, t := range w.timers {
		if t.at.After(w.now) {
			later = append(later, t)
		} else {
			due = append(due, t)
		}
	}
	w.timers = later
	slices.SortFunc(due, func(a, b timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order)) })
	for _, t := range due {
		if err := t.do(ctx); err != nil {
			return fmt.Errorf("the embedded world: %w", err)
		}
	}
	w.users.check()
	return nil
}

// maxPasses bounds the passes at one moment: more means that the controllers never come to rest.
const maxPasses = 20000

// settle calls reconcilers until nothing is due at this moment.
func (w *world) settle(ctx context.Context) error {
	for range maxPasses {
		if err := w.react(); err != nil {
			return err
		}
		it, ok := w.process.dueAt(w.now)
		if !ok {
			return nil
		}
		w.pass(ctx, it)
		if w.kill.dead {
			w.restart()
		}
	}
	return fmt.Errorf("the controllers do not come to rest: more than %d passes at %s", maxPasses, w.now.Format(time.RFC3339))
}

// react tells everybody what was stored since the last call.
func (w *world) react() error {
	changed := w.server.store.take()
	if len(changed) == 0 {
		return nil
	}
	rebuild := false
	for _, c := range changed {
		w.concern(c)
		rebuild = rebuild || shapesPath(c.kind)
		if c.kind == "AddressClaim" {
			w.after(2*time.Second, w.agents.report)
		}
	}
	if !rebuild {
		return nil
	}
	w.path.rebuild(w.server.store.cache)
	w.users.check()
	w.users.tick()
	if !w.emulate {
		w.emulate = true
		w.after(emulatedDelay, w.emulateCluster)
	}
	return nil
}

func shapesPath(kind string) bool {
	return slices.Contains([]string{"Service", "Gateway", "HTTPRoute", "TLSRoute", "TCPRoute", "GatewayClass", "IPAddressPool"}, kind)
}

// emulateCluster lets the emulated controllers of the cluster see what changed.
func (w *world) emulateCluster(ctx context.Context) error {
	w.emulate = false
	if err := w.gateways.sync(ctx); err != nil {
		return err
	}
	return w.balancer.sync(ctx)
}

// concern makes due what a change concerns.
func (w *world) concern(c ref) {
	heard := w.now.Add(w.lag)
	w.process.changed(c, heard)
	if c.kind == "Observation" || c.kind == "Lease" || c.kind == "EntryPoint" {
		return
	}
	for _, obj := range sortedObjects(w.server.store.cache, entryPointKind) {
		ep, ok := obj.(*v1alpha1.EntryPoint)
		if ok && w.concerns(ep, c) {
			w.process.mark(entryPointLoop, types.NamespacedName{Name: ep.Name}, heard)
		}
	}
}
