package observe

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// World is what one pass read about an entry point, beside the Facts: what act and report need of it.
type World struct {
	EntryPoint *v1alpha1.EntryPoint
	Policy     *v1alpha1.MigrationPolicy
	// Services are the members that exist, by "namespace/name".
	Services map[string]*corev1.Service
	// Record is the youngest record of the entry point, nil if there is none; Number its ordinal.
	Record *v1alpha1.MigrationRecord
	Number int
	// Claims are all rows of the ledger.
	Claims []v1alpha1.AddressClaim
	// Entry is what the inventory says of the members.
	Entry inventory.EntryPoint
	// Zones of the policy, by object name.
	Zones map[string]*v1alpha1.DNSZone
	// Traffic of the old path, for the status.
	Traffic migration.Use

	nodes    []corev1.Node
	services []corev1.Service
	pools    []addresspool.Pool
	unseen   []inventory.Unseen
	cluster  clusterFacts
}

// Plan is the frozen plan of the youngest attempt, else nil.
func frozen(r migration.Record) *migration.Plan {
	if len(r.Plans) == 0 {
		return nil
	}
	return r.Plans[len(r.Plans)-1].Plan
}

// EntryPoint looks at everything that a decision about ep rests on.
func (l *Looker) EntryPoint(ctx context.Context, ep *v1alpha1.EntryPoint, r client.Reader) (migration.Facts, *World, error) {
	w := &World{EntryPoint: ep, Services: map[string]*corev1.Service{}, Zones: map[string]*v1alpha1.DNSZone{}}
	f := migration.Facts{Now: l.Now()}
	for _, read := range []func(context.Context, client.Reader, *World) error{
		l.readPolicy, l.readServices, l.readRecord, l.readClaims, l.readNodes, l.readPools, l.readCluster,
	} {
		if err := read(ctx, r, w); err != nil {
			return f, nil, err
		}
	}
	record, err := DecodeRecord(w.Record)
	if err != nil {
		return f, nil, err
	}
	f.Record = record
	if err := l.lookAgain(ctx, r, w, frozen(record)); err != nil {
		return f, nil, err
	}
	f.Intent = intent(w, f.Now)
	f.Intent.Attempt = attemptOf(ep, w.Record)
	f.RetainUntil = migration.RetentionOf(w.Policy, ep.Spec.Retention, record).Until
	f.Frozen = freeze(w.Policy, f.Now)
	l.plan(ctx, w, &f)
	plan := subject(f)
	l.names(ctx, w, plan, &f)
	f.Claims = claims(w, plan)
	f.Fields = l.fields(ctx, w, plan, &f)
	if f.Target, err = l.target(ctx, r, w, plan); err != nil {
		return f, nil, err
	}
	f.Guarded = l.guarded(ctx, w, f)
	if err := l.paths(ctx, r, w, plan, &f); err != nil {
		return f, nil, err
	}
	if err := l.traffic(ctx, r, w, plan, &f); err != nil {
		return f, nil, err
	}
	f.Slots = l.slots(ep.Name, f.Now)
	return f, w, nil
}

// subject is the plan that the looks are about: the frozen one, before that the one made now.
func subject(f migration.Facts) *migration.Plan {
	if p := frozen(f.Record); p != nil {
		return p
	}
	return f.Live
}

func (l *Looker) readPolicy(ctx context.Context, r client.Reader, w *World) error {
	var p v1alpha1.MigrationPolicy
	err := r.Get(ctx, client.ObjectKey{Name: w.EntryPoint.Spec.Policy}, &p)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading MigrationPolicy %s: %w", w.EntryPoint.Spec.Policy, err)
	}
	w.Policy = &p
	for _, name := range p.Spec.Zones {
		var z v1alpha1.DNSZone
		switch err := r.Get(ctx, client.ObjectKey{Name: name}, &z); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading DNSZone %s: %w", name, err)
		default:
			w.Zones[name] = &z
		}
	}
	return nil
}

func (l *Looker) readServices(ctx context.Context, r client.Reader, w *World) error {
	for _, m := range w.EntryPoint.Spec.Members {
		var s corev1.Service
		switch err := r.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, &s); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading Service %s/%s: %w", m.Namespace, m.Name, err)
		default:
			w.Services[m.Namespace+"/"+m.Name] = &s
		}
	}
	var all corev1.ServiceList
	if err := l.Cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	w.services = all.Items
	return nil
}

// readRecord finds the youngest record: the cache names it, the reader is asked for it and for a younger one.
func (l *Looker) readRecord(ctx context.Context, r client.Reader, w *World) error {
	var all v1alpha1.MigrationRecordList
	if err := l.Cached.List(ctx, &all, client.MatchingLabels{v1alpha1.LabelEntryPoint: gateway.Label(w.EntryPoint.Name)}); err != nil {
		return fmt.Errorf("listing MigrationRecords: %w", err)
	}
	for i := range all.Items {
		if n, ok := RecordNumber(w.EntryPoint.Name, all.Items[i].Name); ok && n > w.Number {
			w.Number = n
		}
	}
	for n := max(w.Number, 1); ; n++ {
		var rec v1alpha1.MigrationRecord
		err := r.Get(ctx, client.ObjectKey{Name: RecordName(w.EntryPoint.Name, n)}, &rec)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading MigrationRecord %s: %w", RecordName(w.EntryPoint.Name, n), err)
		}
		w.Record, w.Number = &rec, n
	}
}

func (l *Looker) readClaims(ctx context.Context, r client.Reader, w *World) error {
	var all v1alpha1.AddressClaimList
	if err := l.Cached.List(ctx, &all); err != nil {
		return fmt.Errorf("listing AddressClaims: %w", err)
	}
	w.Claims = all.Items
	sort.Slice(w.Claims, func(i, j int) bool { return w.Claims[i].Name < w.Claims[j].Name })
	return nil
}

// lookAgain reads the rows of the plan's addresses by the given reader, which before an action is the API server itself:
// a row that others share is changed on what it holds now, and one that the cache has not seen yet is given back too.
func (l *Looker) lookAgain(ctx context.Context, r client.Reader, w *World, plan *migration.Plan) error {
	if plan == nil {
		return nil
	}
	for _, c := range plan.Claims {
		name := addresspool.ClaimName(c.Address)
		at := slices.IndexFunc(w.Claims, func(x v1alpha1.AddressClaim) bool { return x.Name == name })
		var live v1alpha1.AddressClaim
		err := r.Get(ctx, client.ObjectKey{Name: name}, &live)
		switch {
		case apierrors.IsNotFound(err) && at >= 0:
			w.Claims = slices.Delete(w.Claims, at, at+1)
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading AddressClaim %s: %w", name, err)
		case at >= 0:
			w.Claims[at] = live
		default:
			w.Claims = append(w.Claims, live)
		}
	}
	sort.Slice(w.Claims, func(i, j int) bool { return w.Claims[i].Name < w.Claims[j].Name })
	return nil
}

func (l *Looker) readNodes(ctx context.Context, _ client.Reader, w *World) error {
	var all corev1.NodeList
	if err := l.Cached.List(ctx, &all); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	w.nodes = all.Items
	return nil
}

// intent is the human's part, with what the policy's autoAdvance adds.
func intent(w *World, now time.Time) migration.Intent {
	s := w.EntryPoint.Spec
	in := migration.Intent{
		Goal: s.Goal, Direction: s.Direction, Attempt: s.Attempt, ApprovedPlan: s.ApprovedPlan, Paused: s.Paused,
		Waived: map[migration.Gate]string{},
	}
	if w.Policy != nil && w.Policy.Spec.AutoAdvance != "" && rank(w.Policy.Spec.AutoAdvance) > rank(in.Goal) && in.Goal != v1alpha1.GoalReport {
		in.Goal = w.Policy.Spec.AutoAdvance
	}
	for _, x := range s.Waivers {
		if x.Requester != "" && x.Reason != "" && now.Before(x.Expires.Time) {
			in.Waived[migration.Gate(x.Gate)] = x.Requester + ": " + x.Reason
		}
	}
	return in
}

func rank(g v1alpha1.Goal) int {
	for i, x := range []v1alpha1.Goal{
		v1alpha1.GoalReport, v1alpha1.GoalStage, v1alpha1.GoalCutOver, v1alpha1.GoalRelease, v1alpha1.GoalForget,
	} {
		if x == g {
			return i
		}
	}
	return 0
}

func freeze(p *v1alpha1.MigrationPolicy, now time.Time) string {
	if p == nil {
		return ""
	}
	for _, w := range p.Spec.FreezeWindows {
		if !now.Before(w.Start.Time) && now.Before(w.End.Time) {
			return fmt.Sprintf("%s (until %s)", w.Reason, w.End.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
