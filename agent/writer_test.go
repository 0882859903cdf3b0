package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// replay is a node of which every look is written down.
type replay struct {
	readings []Reading
	watched  []map[Tuple]bool
}

func (r *replay) Read(watched map[Tuple]bool) Reading {
	r.watched = append(r.watched, watched)
	out := r.readings[0]
	if len(r.readings) > 1 {
		r.readings = r.readings[1:]
	}
	return out
}

// desk is a Writer with an API server that can be made to refuse.
type desk struct {
	Writer
	now    time.Time
	writes int
	// beats are writes of the Lease, and others those of anything else.
	beats, others int
	refuse        error
	// lost: a write is done, and said to have failed.
	lost  bool
	claim v1alpha1.AddressClaim
}

func newDesk(t *testing.T, readings ...Reading) (*desk, *replay) {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), coordinationv1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	d := &desk{now: start, claim: v1alpha1.AddressClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "203.0.113.10"},
		Spec: v1alpha1.AddressClaimSpec{Address: "203.0.113.10", Holders: []v1alpha1.ClaimHolder{
			{Ports: []string{"TCP/80", "UDP/53"}},
		}},
	}}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(&d.claim).WithStatusSubresource(&v1alpha1.Observation{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if d.refuse != nil {
					return d.refuse
				}
				d.writes++
				err := c.SubResource(sub).Update(ctx, o, opts...)
				if d.lost {
					return errors.Join(err, errors.New("timeout"))
				}
				return err
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				d.note(o)
				return c.Create(ctx, o, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				d.note(o)
				return c.Update(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				d.note(o)
				return c.Patch(ctx, o, p, opts...)
			},
		}).Build()
	meter := &replay{readings: readings}
	d.Writer = Writer{
		Claims: c, Client: c, Meter: meter, Name: "n1", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
		Observer: NewObserver(Identity{Node: "n1", BootID: "b1", StaleAfter: 60}),
	}
	return d, meter
}

func (d *desk) note(o client.Object) {
	if _, lease := o.(*coordinationv1.Lease); lease {
		d.beats++
		return
	}
	d.others++
}

// after sweeps that much later.
func (d *desk) after(t *testing.T, wait time.Duration) error {
	t.Helper()
	d.now = d.now.Add(wait)
	return d.sweep(t.Context())
}

func (d *desk) stored(t *testing.T) v1alpha1.ObservationStatus {
	t.Helper()
	var o v1alpha1.Observation
	if err := d.Client.Get(t.Context(), client.ObjectKey{Name: "n1"}, &o); err != nil {
		t.Fatal(err)
	}
	return o.Status
}

func TestTheAgentWatchesWhatIsInTheLedger(t *testing.T) {
	t.Parallel()
	d, meter := newDesk(t, quiet(nil))
	if err := d.after(t, 0); err != nil {
		t.Fatal(err)
	}
	if want := watchedSet(web, dns); len(meter.watched[0]) != 2 || !meter.watched[0][web] || !meter.watched[0][dns] {
		t.Errorf("watched %v, want %v", meter.watched[0], want)
	}
	s := d.stored(t)
	if s.Watched != migration.WatchedHash([]v1alpha1.AddressClaim{d.claim}) || !slices.Equal(s.Signals, all) || s.BootID != "b1" {
		t.Errorf("%+v", s)
	}
}

func TestAReportIsWrittenOnChangeAndBeforeItIsStale(t *testing.T) {
	t.Parallel()
	d, _ := newDesk(t, quiet(nil), quiet(nil), quiet(nil), quiet(nil), stands(flow(web, 1, nil)))
	for i, step := range []struct {
		wait   time.Duration
		writes int
	}{
		{0, 1},                // the first
		{10 * time.Second, 1}, // nothing new
		{10 * time.Second, 1},
		{10 * time.Second, 2}, // half of what it may be believed
		{10 * time.Second, 3}, // a connection
	} {
		if err := d.after(t, step.wait); err != nil {
			t.Fatal(err)
		}
		if d.writes != step.writes {
			t.Errorf("sweep %d: %d writes, want %d", i, d.writes, step.writes)
		}
	}
}

const agents = "offramp-agent"

func (d *desk) lease(t *testing.T) migration.Heartbeat {
	t.Helper()
	var l coordinationv1.Lease
	if err := d.Client.Get(t.Context(), client.ObjectKey{Namespace: agents, Name: "n1"}, &l); err != nil {
		t.Fatal(err)
	}
	return migration.Heartbeat{Report: *l.Spec.HolderIdentity, At: l.Spec.RenewTime.Time}
}

func TestAnIdleAgentWritesNothingButItsLeaseWhateverTheNumberOfTuples(t *testing.T) {
	t.Parallel()
	for _, tuples := range []int{1, 10_000} {
		claim := v1alpha1.AddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "203.0.113.10"}}
		claim.Spec = v1alpha1.AddressClaimSpec{Address: "203.0.113.10", Holders: []v1alpha1.ClaimHolder{{}}}
		for i := range tuples {
			claim.Spec.Holders[0].Ports = append(claim.Spec.Holders[0].Ports, fmt.Sprintf("TCP/%d", i+1))
		}
		d, _ := newDesk(t, stands(flow(web, 1, nil)))
		d.Namespace = agents
		claim.ResourceVersion = ""
		if err := errors.Join(d.Client.Delete(t.Context(), d.claim.DeepCopy()), d.Client.Create(t.Context(), &claim)); err != nil {
			t.Fatal(err)
		}
		d.others = 0
		for range 61 { // the first, and then ten minutes
			if err := d.after(t, 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		// The first sweep makes the report; the second says that the connection is not new any more.
		if d.writes > 2 || d.others != 1 || d.beats < 19 || d.beats > 20 {
			t.Errorf("%d tuples: %d writes of the report, %d of others, %d of the Lease", tuples, d.writes, d.others, d.beats)
		}
		beat, s := d.lease(t), d.stored(t)
		if beat.Report != s.Report || s.Report == "" || d.now.Sub(beat.At) >= 30*time.Second {
			t.Errorf("the Lease says %+v, the report is %q", beat, s.Report)
		}
	}
}

func TestTheLeaseVouchesOnlyForTheReportThatIsStored(t *testing.T) {
	t.Parallel()
	d, _ := newDesk(t, quiet(nil), quiet(nil), counted(dns, 1, 0), counted(dns, 1, 0))
	d.Namespace = agents
	step := func(wait time.Duration, fails bool) {
		t.Helper()
		if err := d.after(t, wait); (err != nil) != fails {
			t.Fatalf("error %v", err)
		}
	}
	step(0, false)
	step(30*time.Second, false)
	first := d.lease(t)
	d.refuse = errors.New("no")
	step(30*time.Second, true) // a packet that cannot be written
	step(30*time.Second, true)
	if d.lease(t) != first {
		t.Errorf("the Lease went on: %+v", d.lease(t))
	}
	d.refuse, d.lost = nil, true
	step(10*time.Second, true) // written, and not known to be
	d.lost = false
	step(10*time.Second, false)
	step(30*time.Second, false)
	if beat, s := d.lease(t), d.stored(t); beat.Report != s.Report || beat.Report == first.Report || rowOf(s, dns).LastNew == nil {
		t.Errorf("the Lease says %+v, the report is %+v", beat, s)
	}
}

func TestAReportThatSomebodyDeletedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	d, _ := newDesk(t, quiet(nil))
	d.Namespace = agents
	for range 5 {
		if err := d.after(t, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	before := d.stored(t)
	if err := d.Client.Delete(t.Context(), &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.after(t, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if s := d.stored(t); s.Report == before.Report || !s.CoverageSince.Equal(&before.CoverageSince) {
		t.Errorf("before %+v\nafter %+v", before, s)
	}
}

func TestALeaseThatSomebodyDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	d, _ := newDesk(t, quiet(nil))
	d.Namespace = agents
	for range 3 {
		if err := d.after(t, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	gone := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: agents, Name: "n1"}}
	if err := d.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := d.after(t, 30*time.Second); err == nil {
		t.Error("a beat into nothing is no error")
	}
	if err := d.after(t, 10*time.Second); err != nil || d.lease(t).Report != d.stored(t).Report {
		t.Errorf("error %v", err)
	}
}

func TestTwoRunsOfAnAgentNeverGiveTheirReportsTheSameName(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for range 100 {
		var w Writer
		for range 3 {
			names[w.next()] = true
		}
	}
	if len(names) != 300 {
		t.Errorf("%d names", len(names))
	}
}

func TestAWriteThatFailsIsNoGapAndIsMadeUpFor(t *testing.T) {
	t.Parallel()
	d, _ := newDesk(t, quiet(nil), counted(dns, 1, 0), counted(dns, 1, 0))
	if err := d.after(t, 0); err != nil {
		t.Fatal(err)
	}
	d.refuse = errors.New("no")
	if err := d.after(t, 10*time.Second); !errors.Is(err, d.refuse) {
		t.Fatalf("error %v", err)
	}
	d.refuse = nil
	if err := d.after(t, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	s := d.stored(t)
	if got := rowOf(s, dns); got.LastNew == nil || !got.LastNew.Time.Equal(start.Add(10*time.Second)) || !s.CoverageSince.Time.Equal(start) {
		t.Errorf("%+v", s)
	}
}

func TestWhatCannotBeMeasuredIsSaidOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := Node{Log: slog.New(slog.NewTextHandler(&log, nil))}
	no := errors.New("no right")
	for _, err := range []error{nil, no, no, no, nil, nil, no} {
		if n.good("Entries", err) != (err == nil) {
			t.Errorf("%v is good or bad the other way round", err)
		}
	}
	if said := bytes.Count(log.Bytes(), []byte("no right")); said != 2 {
		t.Errorf("said %d times:\n%s", said, log.String())
	}
}
