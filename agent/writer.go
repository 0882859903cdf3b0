package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

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

	last v1alpha1.ObservationStatus
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

// write stores the report on change, and often enough that it does not go stale.
func (w *Writer) write(ctx context.Context, s v1alpha1.ObservationStatus) error {
	before := w.last
	age := s.ReportedAt.Sub(before.ReportedAt.Time)
	before.ReportedAt = s.ReportedAt
	if equality.Semantic.DeepEqual(before, s) && age < time.Duration(s.StaleAfterSeconds)*time.Second/2 {
		return nil
	}
	var o v1alpha1.Observation
	err := w.Client.Get(ctx, client.ObjectKey{Name: w.Name}, &o)
	if apierrors.IsNotFound(err) {
		o.ObjectMeta = metav1.ObjectMeta{Name: w.Name}
		err = w.Client.Create(ctx, &o)
	}
	if err != nil {
		return fmt.Errorf("reading Observation %s: %w", w.Name, err)
	}
	o.Status = s
	if err := w.Client.Status().Update(ctx, &o); err != nil {
		return fmt.Errorf("writing Observation %s: %w", w.Name, err)
	}
	w.last = s
	return nil
}
