// Package controllers holds one reconciler for each kind: observe, decide, act, report. Nothing here decides; act.go is
// one switch over migration.Action, report.go the only writer of status.
package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/observe"
)

// Ports are the ways to look at and to change the world.
type Ports struct {
	observe.Ports
	// Client writes (and reads from the cache).
	Client client.Client
	// Events for users.
	Events events.EventRecorder
	// Since is when this process became leader (zero: with its first pass, for only a leader passes), Lease how long the one
	// before may still act: no action before Since+Lease.
	Since time.Time
	Lease time.Duration
}

// Reconciler is one loop: the kind it is called for and the call.
type Reconciler struct {
	Name string
	For  client.Object
	Do   func(context.Context, reconcile.Request) (reconcile.Result, error)
}

// Reconcilers lists every loop, in an order in which a synchronous caller may call them.
func Reconcilers(p *Ports) []Reconciler {
	return []Reconciler{
		{Name: "policy", For: &v1alpha1.MigrationPolicy{}, Do: (&Policies{p}).Reconcile},
		{Name: "zone", For: &v1alpha1.DNSZone{}, Do: (&Zones{p}).Reconcile},
		{Name: "service", For: &corev1.Service{}, Do: (&Services{p}).Reconcile},
		{Name: "claim", For: &v1alpha1.AddressClaim{}, Do: (&Claims{p}).Reconcile},
		{Name: "record", For: &v1alpha1.MigrationRecord{}, Do: (&Records{p}).Reconcile},
		{Name: "observation", For: &v1alpha1.Observation{}, Do: (&Observations{p}).Reconcile},
		{Name: "entrypoint", For: &v1alpha1.EntryPoint{}, Do: NewEntryPoints(p).Reconcile},
	}
}
