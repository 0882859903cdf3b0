package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/guard"
	"offramp.dev/observe"
)

// Claims keeps the guard's parameters equal to the ledger and lets a deleted claim go only when its walk has ended.
type Claims struct{ *Ports }

// Reconcile looks at one claim; the parameters are made from all of them.
func (r *Claims) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var claim v1alpha1.AddressClaim
	err := r.Client.Get(ctx, req.NamespacedName, &claim)
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, err
	}
	if err == nil && claim.DeletionTimestamp != nil {
		if done, err := r.letGo(ctx, &claim); err != nil || !done {
			return reconcile.Result{RequeueAfter: time.Minute}, err
		}
	}
	if err := r.syncGuard(ctx); err != nil || claim.Name == "" || claim.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: settingsRecheck}, r.reportRisk(ctx, &claim)
}

// letGo takes our finalizer off a deleted claim of which no EntryPoint that holds it has a walk under way.
func (r *Claims) letGo(ctx context.Context, claim *v1alpha1.AddressClaim) (bool, error) {
	for _, name := range addresspool.EntryPoints(&claim.Spec) {
		rec, err := (&Services{r.Ports}).youngest(ctx, name)
		if err != nil {
			return false, err
		}
		if rec != nil && !observe.Ended(rec) {
			return false, nil
		}
	}
	if controllerutil.RemoveFinalizer(claim, v1alpha1.Finalizer) {
		return true, client.IgnoreNotFound(r.Client.Update(ctx, claim, owner))
	}
	return true, nil
}

// syncGuard writes the parameters of the guard: who may hold which address. The canary is claimed by nobody, for ever.
func (r *Claims) syncGuard(ctx context.Context) error {
	var claims v1alpha1.AddressClaimList
	if err := r.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing AddressClaims: %w", err)
	}
	data := guard.Holders(claims.Items)
	data[canaryKey()] = ""
	var params corev1.ConfigMap
	key := client.ObjectKey{Namespace: r.Namespace, Name: guard.ConfigMapName}
	err := r.Live.Get(ctx, key, &params)
	if apierrors.IsNotFound(err) {
		params.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
		params.Data = data
		return r.Client.Create(ctx, &params, owner)
	}
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	if maps.Equal(params.Data, data) {
		return nil
	}
	params.Data = data
	return r.Client.Update(ctx, &params, owner)
}

func canaryKey() string {
	a, _, err := addresspool.Canonical(observe.Canary)
	if err != nil {
		return observe.Canary
	}
	return addresspool.ClaimName(a)
}

// Records lets a deleted record go only when its walk has ended: before that it is the only way back.
type Records struct{ *Ports }

// Reconcile looks at one record.
func (r *Records) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var rec v1alpha1.MigrationRecord
	if err := r.Client.Get(ctx, req.NamespacedName, &rec); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if rec.DeletionTimestamp == nil || !observe.Ended(&rec) {
		return reconcile.Result{}, nil
	}
	if controllerutil.RemoveFinalizer(&rec, v1alpha1.Finalizer) {
		return reconcile.Result{}, client.IgnoreNotFound(r.Client.Update(ctx, &rec, owner))
	}
	return reconcile.Result{}, nil
}

// Observations needs no loop of its own: their sources write them, entry points read them. The loop removes reports of
// nodes that are gone, so that nobody mistakes them for news.
type Observations struct{ *Ports }

// Reconcile looks at one observation.
func (r *Observations) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var o v1alpha1.Observation
	if err := r.Client.Get(ctx, req.NamespacedName, &o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if o.Status.Source != v1alpha1.SourceNode || o.Status.Node == "" {
		return reconcile.Result{}, nil
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return reconcile.Result{}, err
	}
	if slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == o.Status.Node }) || len(nodes.Items) == 0 {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, errors.Join(client.IgnoreNotFound(r.Client.Delete(ctx, &o, client.Preconditions{UID: &o.UID})))
}
