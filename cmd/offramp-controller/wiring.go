package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/controllers"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/observe"
	"offramp.dev/probe"
)

// leaseName is the name of the leader election Lease.
const leaseName = "offramp-controller"

// probesAtOnce bounds the probes of one entry point that run side by side, so that a round in which nothing answers takes
// little longer than one timeout.
const probesAtOnce = 8

func manager(cfg *rest.Config, o options) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	// The ratios are client-go's own defaults (15 s, 10 s, 2 s).
	renew, retry := o.lease*2/3, o.lease*2/15
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: o.metrics}, HealthProbeBindAddress: o.health,
		LeaderElection: o.leaderElect, LeaderElectionID: leaseName, LeaderElectionNamespace: o.namespace,
		LeaseDuration: &o.lease, RenewDeadline: &renew, RetryPeriod: &retry,
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Cache:  cacheOptions(o),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	for _, c := range controllers.Metrics() {
		if err := metrics.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	ports := newPorts(mgr, o)
	return mgr, controllers.Add(mgr, ports)
}

// cacheOptions keep of Leases those of the agents: the others belong to every controller and kubelet of the cluster, which
// may not be read and change all the time.
func cacheOptions(o options) cache.Options {
	out := cache.Options{ReaderFailOnMissingInformer: false, DefaultTransform: observe.Trim}
	if o.agents != "" {
		out.ByObject = map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{o.agents: {}}}}
	}
	return out
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, networkingv1.AddToScheme, v1alpha1.AddToScheme, gatewayv1.Install, metallb.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}

func newPorts(mgr ctrl.Manager, o options) *controllers.Ports {
	secrets := func(zone string) (rfc2136.Key, error) {
		return key(mgr.GetClient(), mgr.GetAPIReader(), o.namespace, zone)
	}
	lease := o.lease
	if !o.leaderElect {
		lease = 0
	}
	return &controllers.Ports{
		Ports: observe.Ports{
			Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Guard: mgr.GetClient(), Namespace: o.namespace,
			AgentNamespace: o.agents, Now: time.Now,
			DNS: rfc2136.New(rfc2136.Options{Keys: secrets}), Probe: probe.Dialer{}, ProbesAtOnce: probesAtOnce,
			Serves: serves(mgr),
		},
		Client: mgr.GetClient(), Events: mgr.GetEventRecorder("offramp-controller"), Lease: lease,
	}
}

// serves asks the REST mapping, which learns of new kinds by itself.
func serves(mgr ctrl.Manager) func(schema.GroupVersionKind) bool {
	return func(gvk schema.GroupVersionKind) bool {
		_, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		return err == nil
	}
}

// key reads the TSIG key of a zone anew for each use, so that a rotated Secret counts at once.
func key(c client.Reader, live client.Reader, namespace, zone string) (rfc2136.Key, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var z v1alpha1.DNSZone
	if err := c.Get(ctx, client.ObjectKey{Name: zone}, &z); err != nil {
		return rfc2136.Key{}, fmt.Errorf("DNSZone %s: %w", zone, err)
	}
	var s corev1.Secret
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: z.Spec.KeySecret}, &s); err != nil {
		return rfc2136.Key{}, fmt.Errorf("DNSZone %s spec.keySecret: Secret %s/%s: %w", zone, namespace, z.Spec.KeySecret, err)
	}
	k, err := rfc2136.KeyFromData(s.Data)
	if err != nil {
		return k, fmt.Errorf("DNSZone %s spec.keySecret: Secret %s/%s: %w", zone, namespace, z.Spec.KeySecret, err)
	}
	return k, nil
}
