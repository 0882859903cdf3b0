package agent

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// heart renews the Lease that says that a report is still true: a small object that nobody watches for its content, in
// place of a report of 500 rows.
type heart struct {
	lease *coordinationv1.Lease
	// at is the time of the last beat.
	at time.Time
}

// beat says that the report of that name has been true up to now.
func (h *heart) beat(ctx context.Context, c client.Client, key client.ObjectKey, report string, now time.Time) error {
	if err := h.find(ctx, c, key); err != nil {
		return fmt.Errorf("reading Lease %s: %w", key, err)
	}
	at := metav1.NewMicroTime(now)
	h.lease.Spec.HolderIdentity, h.lease.Spec.RenewTime = &report, &at
	if err := h.write(ctx, c); err != nil {
		h.lease = nil // somebody else wrote or deleted it: look again
		return fmt.Errorf("writing Lease %s: %w", key, err)
	}
	h.at = now
	return nil
}

func (h *heart) write(ctx context.Context, c client.Client) error {
	if h.lease.UID == "" && h.lease.ResourceVersion == "" {
		return c.Create(ctx, h.lease)
	}
	return c.Update(ctx, h.lease)
}

// find reads the Lease once; after that it is known from what was written.
func (h *heart) find(ctx context.Context, c client.Client, key client.ObjectKey) error {
	if h.lease != nil {
		return nil
	}
	var lease coordinationv1.Lease
	err := c.Get(ctx, key, &lease)
	if apierrors.IsNotFound(err) {
		lease = coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"app.kubernetes.io/part-of": "offramp"},
		}}
	} else if err != nil {
		return err
	}
	h.lease = &lease
	return nil
}
