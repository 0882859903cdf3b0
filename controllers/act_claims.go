package controllers

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// claim makes the first row of the plan that the ledger lacks: creating it is the lock on the address. A row that others
// share is changed on the version that was looked at, so of two entry points at once one looks again.
func (r *EntryPoints) claim(ctx context.Context, w *observe.World, f migration.Facts) error {
	plan, err := planOf(f)
	if err != nil {
		return err
	}
	rows := addresspool.Rows(w.Claims)
	for _, c := range plan.Ledger() {
		c.EntryPoint = w.EntryPoint.Name
		if addresspool.Held(rows, c) {
			continue
		}
		name := addresspool.ClaimName(c.Address)
		at := slices.IndexFunc(w.Claims, func(x v1alpha1.AddressClaim) bool { return x.Name == name })
		if at < 0 {
			return r.Client.Create(ctx, claimObject(c), owner)
		}
		return r.share(ctx, &w.Claims[at], c)
	}
	return nil
}

// share writes our share into a row that exists already.
func (r *EntryPoints) share(ctx context.Context, row *v1alpha1.AddressClaim, c addresspool.Claim) error {
	if conflicts := addresspool.Admit(addresspool.Rows([]v1alpha1.AddressClaim{*row}), nil, c); len(conflicts) > 0 {
		return fmt.Errorf("claiming %s for EntryPoint %s: %s", c.Address, c.EntryPoint, conflicts[0].Message)
	}
	if row.DeletionTimestamp != nil {
		return fmt.Errorf("AddressClaim %s is being deleted: EntryPoint %s claims the address anew when those who hold it have let go", row.Name, c.EntryPoint)
	}
	next := row.DeepCopy()
	next.Spec = addresspool.Join(&row.Spec, c)
	// Whoever leaves last takes the finalizer off before it deletes the row.
	controllerutil.AddFinalizer(next, v1alpha1.Finalizer)
	return looksAgain(r.update(ctx, next))
}

// update stores a row with the label of the entry point that stands first in it.
func (r *EntryPoints) update(ctx context.Context, row *v1alpha1.AddressClaim) error {
	metav1.SetMetaDataLabel(&row.ObjectMeta, v1alpha1.LabelEntryPoint, gateway.Label(row.Spec.EntryPoint))
	return r.Client.Update(ctx, row, owner)
}

// looksAgain: a row that changed since it was looked at, or is gone, is no failure; the next pass decides on what it is.
func looksAgain(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

func claimObject(c addresspool.Claim) *v1alpha1.AddressClaim {
	return &v1alpha1.AddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: addresspool.ClaimName(c.Address), Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.LabelEntryPoint: gateway.Label(c.EntryPoint)},
		},
		Spec: addresspool.NewRow(c),
	}
}

// unclaim gives back what we hold of the first row that we hold: our share of it, or, where we are the last, the row.
func (r *EntryPoints) unclaim(ctx context.Context, w *observe.World) error {
	me := w.EntryPoint.Name
	at := slices.IndexFunc(w.Claims, func(c v1alpha1.AddressClaim) bool { return addresspool.HeldBy(&c.Spec, me) })
	if at < 0 {
		return nil
	}
	row := w.Claims[at].DeepCopy()
	rest, last := addresspool.Leave(&row.Spec, me)
	if !last {
		row.Spec = rest
		return looksAgain(r.update(ctx, row))
	}
	if controllerutil.RemoveFinalizer(row, v1alpha1.Finalizer) {
		if err := r.Client.Update(ctx, row, owner); err != nil {
			return looksAgain(err)
		}
	}
	// Somebody may have joined since: then the row is another version, and stays.
	return looksAgain(r.Client.Delete(ctx, row, client.Preconditions{UID: &row.UID, ResourceVersion: &row.ResourceVersion}))
}
