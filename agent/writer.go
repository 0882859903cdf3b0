package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// runLetters tell the runs of an agent apart: 60 bits.
const runLetters = 12

// Writer sweeps and writes the node's Observation.
type Writer struct {
	// Claims reads AddressClaims, and Client reads and writes the Observation.
	Claims   client.Reader
	Client   client.Client
	Meter    Meter
	Observer *Observer
	Log      *slog.Logger
	Now      func() time.Time
	// Name of the Observation: the node's.
	Name string

	// Namespace of the Lease that says that nothing has changed; "" to write the Observation again for that.
	Namespace string

	// last is what is stored for certain; zero where that is not known.
	last  v1alpha1.ObservationStatus
	run   string
	count int
	beats heart
}

// Run sweeps until ctx ends. A sweep that fails is logged and ends nothing: what was seen is written in the next one, and
// until then the report ages.
func (w *Writer) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := w.sweep(ctx); err != nil {
			w.Log.Error("Sweep failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *Writer) sweep(ctx context.Context) error {
	var claims v1alpha1.AddressClaimList
	if err := w.Claims.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing AddressClaims: %w", err)
	}
	watched := map[Tuple]bool{}
	for _, t := range migration.Watched(claims.Items) {
		watched[t] = true
	}
	reading := w.Meter.Read(watched)
	now := w.Now()
	w.Observer.Sweep(now, migration.WatchedHash(claims.Items), watched, reading)
	return w.write(ctx, w.Observer.Status(now))
}

// write stores the report on change, and says often enough that there was none.
func (w *Writer) write(ctx context.Context, s v1alpha1.ObservationStatus) error {
	before := w.last
	age := s.ReportedAt.Sub(latest(before.ReportedAt.Time, w.beats.at))
	before.ReportedAt, s.Report = s.ReportedAt, before.Report
	if !equality.Semantic.DeepEqual(before, s) {
		return w.store(ctx, s)
	}
	switch half := time.Duration(s.StaleAfterSeconds) * time.Second / 2; {
	case age < half:
		return nil
	case w.Namespace == "":
		return w.store(ctx, s)
	}
	return w.beat(ctx, s)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// store writes the report under a new name, which no heartbeat knows yet.
func (w *Writer) store(ctx context.Context, s v1alpha1.ObservationStatus) error {
	// A write that fails may have been done all the same: until one succeeds it is not known what is stored.
	w.last = v1alpha1.ObservationStatus{}
	o, err := w.stored(ctx)
	if apierrors.IsNotFound(err) {
		o = &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
		err = w.Client.Create(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("reading Observation %s: %w", w.Name, err)
	}
	s.Report = w.next()
	o.Status = s
	if err := w.Client.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("writing Observation %s: %w", w.Name, err)
	}
	w.last = s
	return nil
}

func (w *Writer) stored(ctx context.Context) (*v1alpha1.Observation, error) {
	var o v1alpha1.Observation
	return &o, w.Client.Get(ctx, client.ObjectKey{Name: w.Name}, &o)
}

// next names a report, unlike any that another run of the agent has written.
func (w *Writer) next() string {
	if w.run == "" {
		w.run = strings.ToLower(rand.Text()[:runLetters])
	}
	w.count++
	return fmt.Sprintf("%s-%d", w.run, w.count)
}

// beat says that nothing has changed, of a report that is still there: somebody may have deleted or replaced it.
func (w *Writer) beat(ctx context.Context, s v1alpha1.ObservationStatus) error {
	o, err := w.stored(ctx)
	switch {
	case apierrors.IsNotFound(err) || err == nil && o.Status.Report != w.last.Report:
		return w.store(ctx, s)
	case err != nil:
		return fmt.Errorf("reading Observation %s: %w", w.Name, err)
	}
	return w.beats.beat(ctx, w.Client, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, w.last.Report, s.ReportedAt.Time)
}
