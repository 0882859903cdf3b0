package gatewaydouble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// Options are what Run needs beside the Settings.
type Options struct {
	Settings

	// Bind is the host whose ports the data plane listens on; "" means all addresses.
	Bind string
	// Health is the HOST:PORT of /healthz and /readyz.
	Health string
	// Linger is how long the data plane serves on after the end was asked for, so that kube-proxy can turn away first.
	Linger time.Duration
}

// errNotProgrammed keeps a Pod out of the Services until its ports are open.
var errNotProgrammed = errors.New("the data plane is not programmed yet")

// Run serves until the context ends.
func Run(ctx context.Context, cfg *rest.Config, o Options, log *slog.Logger) error {
	if err := o.Validate(); err != nil {
		return err
	}
	mgr, err := newManager(cfg, o)
	if err != nil {
		return err
	}
	p := plane.New(o.Bind, log)
	defer p.Close()
	r := &Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Plane: p, Settings: o.Settings, Leads: leads(mgr), Log: log}
	if err := r.setup(mgr); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	log.Info("serving on", "linger", o.Linger)
	time.Sleep(o.Linger)
	return nil
}

func newManager(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), gatewayv1.Install(s)); err != nil {
		return nil, err
	}
	// Long leases: a replica that loses its lease ends, and its connections with it.
	lease, renew, retry := time.Minute, 40*time.Second, 5*time.Second
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: s, Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: o.Health,
		LeaderElection: true, LeaderElectionID: "gatewaydouble", LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, nil
}

func leads(mgr ctrl.Manager) func() bool {
	return func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
}

// setup watches everything that look reads. Every event asks for the one same look.
func (r *Reconciler) setup(mgr ctrl.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	elected := make(chan event.GenericEvent, 1)
	b := ctrl.NewControllerManagedBy(mgr).Named("gatewaydouble").
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		WatchesRawSource(source.Channel(elected, one))
	for _, kind := range kinds() {
		b = b.Watches(kind, one)
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("watching (Gateway API 1.6 or later is needed): %w", err)
	}
	ready := func(*http.Request) error {
		if !r.Programmed() {
			return errNotProgrammed
		}
		return nil
	}
	alive := func(*http.Request) error { return nil }
	return errors.Join(mgr.AddHealthzCheck("alive", alive), mgr.AddReadyzCheck("programmed", ready), mgr.Add(whenElected(mgr, elected)))
}

// whenElected makes a new leader look once more: now it may write. It waits for what Leads asks, which comes after the
// start of the leader's runnables.
func whenElected(mgr ctrl.Manager, elected chan<- event.GenericEvent) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-mgr.Elected():
			elected <- event.GenericEvent{Object: &gatewayv1.Gateway{}}
		case <-ctx.Done():
		}
		return nil
	})
}
