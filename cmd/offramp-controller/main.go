// Command offramp-controller runs the reconcilers. It holds flags and wiring only.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// options are the flags.
type options struct {
	namespace, agents, metrics, health string
	leaderElect                        bool
	lease                              time.Duration
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "offramp-controller:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("offramp-controller", flag.ContinueOnError)
	fs.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"),
		"Namespace of the controller: guard parameters, key Secrets and the lease. Default: $POD_NAMESPACE.")
	fs.StringVar(&o.agents, "agent-namespace", "offramp-agent",
		"Namespace of the node agents, whose Leases say that their reports are still true. Empty: reports are as old as they say.")
	fs.StringVar(&o.metrics, "metrics-bind-address", ":8080", "Address of /metrics; 0 turns it off.")
	fs.StringVar(&o.health, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz; 0 turns it off.")
	fs.BoolVar(&o.leaderElect, "leader-elect", true, "Act only as the holder of the lease. Turn off only where a single process runs.")
	fs.DurationVar(&o.lease, "leader-election-lease-duration", 15*time.Second,
		"How long a lease holds. A new leader waits as long before its first action.")
	ctrl.RegisterFlags(fs)
	klog.InitFlags(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.namespace == "" {
		return o, fmt.Errorf("--namespace is empty and so is POD_NAMESPACE: name the namespace that the controller lives in")
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	log.SetLogger(klog.Background())
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server (flag --kubeconfig, $KUBECONFIG or in-cluster): %w", err)
	}
	// The API server warns of the deprecated field on every dry run that asks whether it is guarded: that is why we are here.
	cfg.WarningHandler = rest.NoWarnings{}
	// The API server's priority and fairness rations us; client-go's own default of 20 requests a second would make a dozen
	// walks wait for each other.
	cfg.QPS, cfg.Burst = 100, 200
	mgr, err := manager(cfg, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
