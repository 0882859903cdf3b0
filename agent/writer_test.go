package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

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
	refuse error
	claim  v1alpha1.AddressClaim
}

func newDesk(t *testing.T, readings ...Reading) (*desk, *replay) {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
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
				return c.SubResource(sub).Update(ctx, o, opts...)
			},
		}).Build()
	meter := &replay{readings: readings}
	d.Writer = Writer{
		Claims: c, Client: c, Meter: meter, Name: "n1", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
		Observer: NewObserver(Identity{Node: "n1", BootID: "b1", StaleAfter: 60}),
	}
	return d, meter
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
