package controllers

import (
	"context"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// catalogEvery is how often the catalog is counted, if anything changed that it depends on.
const catalogEvery = 10 * time.Second

// recountEvery is how often it is counted whatever happened: what is true of the whole cluster changes without an event here.
const recountEvery = 5 * time.Minute

// The states of a Service in the catalog.
const (
	// StateUncovered: it carries the field, and no EntryPoint holds it.
	StateUncovered = "uncovered"
	// StateReport: an EntryPoint holds it and changes nothing.
	StateReport = "report"
	// StateWalking: its walk is recorded, or a human set a goal, and it still carries the field.
	StateWalking = "walking"
	// StateReleased: it belongs to an EntryPoint and no longer carries the field.
	StateReleased = "released"
	// StateCleanUp: it carries the field, which does nothing.
	StateCleanUp = "cleanup"
)

// class is one series of the catalog.
type class struct{ state, reason string }

// Catalog counts the cluster's Services that depend on the field. It reads the cache alone, and counts only after an event
// that may have changed the answer; a scrape reads the last count.
type Catalog struct {
	*Ports

	looker  *observe.Looker
	changed atomic.Bool
	// last is when it was counted last; only pass touches it.
	last time.Time
}

// NewCatalog makes a Catalog that has not counted yet.
func NewCatalog(p *Ports) *Catalog {
	c := &Catalog{Ports: p, looker: observe.NewLooker(p.Ports)}
	c.changed.Store(true)
	return c
}

// add lets the manager run the catalog and tell it what changes.
func (c *Catalog) add(mgr ctrl.Manager) error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: c.heard, DeleteFunc: c.heard,
		UpdateFunc: func(before, after any) { c.heard(before); c.heard(after) },
	}
	for _, o := range []client.Object{&corev1.Service{}, &v1alpha1.EntryPoint{}, &v1alpha1.MigrationPolicy{}} {
		informer, err := mgr.GetCache().GetInformer(context.Background(), o, ctrlcache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T for the catalog: %w", o, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching %T for the catalog: %w", o, err)
		}
	}
	return mgr.Add(c)
}

// heard notes an event, unless it is of a Service that the catalog does not hold.
func (c *Catalog) heard(o any) {
	s, ok := o.(*corev1.Service)
	if !ok || len(s.Spec.ExternalIPs) > 0 || s.Annotations[v1alpha1.AnnotationPolicy] != "" || s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		c.changed.Store(true)
	}
}

// NeedLeaderElection is true: one process counts, so that sums over processes are right.
func (*Catalog) NeedLeaderElection() bool { return true }

// Start counts until ctx ends.
func (c *Catalog) Start(ctx context.Context) error {
	tick := time.NewTicker(catalogEvery)
	defer tick.Stop()
	for {
		if err := c.pass(ctx); err != nil {
			log.FromContext(ctx).Error(err, "Counting the catalog")
		}
		select {
		case <-ctx.Done():
			counted.clear()
			return nil
		case <-tick.C:
		}
	}
}

// pass counts what changed. A pass that fails leaves the count and its time as they were, and is made again.
func (c *Catalog) pass(ctx context.Context) error {
	seen, err := c.looker.Sightings(ctx)
	if err != nil {
		return err
	}
	now := c.Now()
	if !c.changed.Swap(false) && now.Sub(c.last) < recountEvery {
		counted.note(nil, seen, now)
		return nil
	}
	services, err := c.count(ctx)
	if err != nil {
		c.changed.Store(true)
		return err
	}
	c.last = now
	counted.note(services, seen, now)
	return nil
}

func (c *Catalog) count(ctx context.Context) (map[class]int, error) {
	catalog, services, err := c.looker.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	var all v1alpha1.EntryPointList
	if err := c.Cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EntryPoints: %w", err)
	}
	return classes(catalog, services, all.Items), nil
}

// classes puts every Service that carries the field, or whose walk took it off, into one state.
func classes(catalog inventory.Catalog, services []corev1.Service, walks []v1alpha1.EntryPoint) map[class]int {
	holder := map[string]*v1alpha1.EntryPoint{}
	for i := range walks {
		for _, m := range walks[i].Spec.Members {
			holder[m.Namespace+"/"+m.Name] = &walks[i]
		}
	}
	out, placed := map[class]int{}, map[string]bool{}
	for i := range catalog.EntryPoints {
		e := &catalog.EntryPoints[i]
		for _, key := range e.Services {
			placed[key] = true
			out[classOf(e, holder[key])]++
		}
	}
	for i := range services {
		key := services[i].Namespace + "/" + services[i].Name
		if ep := holder[key]; ep != nil && !placed[key] {
			out[class{StateReleased, nextReason(ep)}]++
		}
	}
	return out
}

func classOf(e *inventory.EntryPoint, ep *v1alpha1.EntryPoint) class {
	switch {
	case e.Verdict == inventory.CleanUp:
		return class{StateCleanUp, worst(e, v1alpha1.SeverityCleanUp)}
	case ep == nil:
		return class{StateUncovered, worst(e)}
	case ep.Spec.Goal == v1alpha1.GoalReport && ep.Status.Record == "":
		return class{StateReport, worst(e)}
	case ep.Status.Record != "" && ep.Status.Next == nil:
		return class{StateReport, string(migration.GateUndone)}
	}
	return class{StateWalking, nextReason(ep)}
}

// worst is the code of the worst finding that stands in the way, or of the first with one of the severities; else the verdict.
func worst(e *inventory.EntryPoint, also ...v1alpha1.Severity) string {
	for _, severity := range append([]v1alpha1.Severity{v1alpha1.SeverityBlock, v1alpha1.SeverityAsk}, also...) {
		for _, f := range e.Findings {
			if f.Severity == severity {
				return code(f.Reason)
			}
		}
	}
	return string(e.Verdict)
}

// nextReason is why the walk is where it is.
func nextReason(ep *v1alpha1.EntryPoint) string {
	if ep.Status.Next == nil {
		return "Ended"
	}
	return code(ep.Status.Next.Reason)
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// code keeps a label to reason codes, of which there are as many as the docs list.
func code(reason string) string {
	if codeForm.MatchString(reason) {
		return reason
	}
	return "Unspecified"
}
