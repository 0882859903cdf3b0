// Command offramp-agent measures, on its node, who uses the addresses of the ledger, and writes the node's Observation.
// It holds flags and wiring only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/agent"
	"offramp.dev/api/v1alpha1"
)

// bootIDFile is where Linux says which boot this is.
const bootIDFile = "/proc/sys/kernel/random/boot_id"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "offramp-agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("offramp-agent", flag.ContinueOnError)
	node := fs.String("node-name", os.Getenv("NODE_NAME"), "Name of the node. Default: $NODE_NAME.")
	interval := fs.Int("interval-seconds", 10, "Seconds between two sweeps, 1 to 600.")
	mode := fs.String("proxy-mode", "", "kube-proxy's mode on this node: NFTables, IPTables, IPVS or Other. Default: what is found.")
	namespace := fs.String("lease-namespace", "",
		"Namespace of the Lease that says that nothing has changed. Default: none; the Observation is written again in its place.")
	ctrl.RegisterFlags(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *interval < 1 || *interval > 600 {
		return fmt.Errorf("--interval-seconds %d: give 1 to 600", *interval)
	}
	if *node == "" {
		return fmt.Errorf("--node-name is empty and so is NODE_NAME: name the node")
	}
	boot, err := os.ReadFile(bootIDFile)
	if err != nil {
		return fmt.Errorf("reading the boot id: %w", err)
	}
	c, claims, err := connect(ctx)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	meter := &agent.Node{Log: log}
	w := agent.Writer{
		Client: c, Claims: claims, Meter: meter, Log: log, Now: time.Now,
		Observer: agent.NewObserver(agent.Identity{
			Node: *node, BootID: strings.TrimSpace(string(boot)), ProxyMode: v1alpha1.ProxyMode(*mode), StaleAfter: int32(6 * *interval),
		}),
		Name: *node, Namespace: *namespace,
	}
	return errors.Join(w.Run(ctx, time.Duration(*interval)*time.Second), meter.Close())
}

// connect gives a client, and a reader that watches AddressClaims.
func connect(ctx context.Context) (client.Client, client.Reader, error) {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("finding the API server (flag --kubeconfig, $KUBECONFIG or in-cluster): %w", err)
	}
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), coordinationv1.AddToScheme(s)); err != nil {
		return nil, nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	claims, err := watch(ctx, cfg, s)
	return c, claims, err
}

// watch begins to watch AddressClaims and waits until all of them are known: fewer would read as another watched set.
func watch(ctx context.Context, cfg *rest.Config, s *runtime.Scheme) (client.Reader, error) {
	claims, err := cache.New(cfg, cache.Options{Scheme: s, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("making the cache of AddressClaims: %w", err)
	}
	if _, err := claims.GetInformer(ctx, &v1alpha1.AddressClaim{}, cache.BlockUntilSynced(false)); err != nil {
		return nil, fmt.Errorf("watching AddressClaims: %w", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- claims.Start(ctx) }()
	if !claims.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watching AddressClaims: %w", errors.Join(context.Cause(ctx), <-failed))
	}
	return claims, nil
}
