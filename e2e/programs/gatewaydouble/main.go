// Command gatewaydouble runs the end-to-end suite's small Gateway implementation: a test double, not for production.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"offramp.dev/e2e/gatewaydouble"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gatewaydouble:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := options(args)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server (flag --kubeconfig, $KUBECONFIG or in-cluster): %w", err)
	}
	return gatewaydouble.Run(ctx, cfg, o, log)
}

func options(args []string) (gatewaydouble.Options, error) {
	o := gatewaydouble.Options{Settings: gatewaydouble.Settings{
		Namespace: os.Getenv("POD_NAMESPACE"), Misbehave: gatewaydouble.Behave, Ports: gatewaydouble.DefaultPorts(),
	}}
	fs := flag.NewFlagSet("gatewaydouble", flag.ContinueOnError)
	ctrl.RegisterFlags(fs)
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "Namespace of the Pods and of the Gateways that they serve. Default: $POD_NAMESPACE.")
	fs.StringVar(&o.Bind, "bind", "", "Host whose ports the data plane listens on; empty: every address.")
	fs.StringVar(&o.Health, "health", ":8081", "`HOST:PORT` of /healthz and /readyz.")
	fs.DurationVar(&o.Linger, "linger", 5*time.Second, "How long to serve on after SIGTERM, no longer ready.")
	fs.Func("selector", "Labels of the Pods as key=value,key=value.", func(text string) (err error) {
		o.Selector, err = gatewaydouble.ParseSelector(text)
		return err
	})
	fs.Func("ports", "Ports that the data plane may listen on, as FIRST-LAST (default 20000-29999).", func(text string) (err error) {
		o.Ports, err = portRange(text)
		return err
	})
	fs.Func("misbehave", "How classes misbehave that do not say so in annotation double.offramp.dev/misbehave: "+
		"none, external-ips, foreign-class or no-address (default none).", func(text string) (err error) {
		o.Misbehave, err = gatewaydouble.ParseMode(text)
		return err
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.Validate()
}

func portRange(text string) (gatewaydouble.PortRange, error) {
	low, high, _ := strings.Cut(text, "-")
	first, err := strconv.ParseUint(low, 10, 16)
	if err != nil {
		return gatewaydouble.PortRange{}, err
	}
	last, err := strconv.ParseUint(high, 10, 16)
	return gatewaydouble.PortRange{First: uint16(first), Last: uint16(last)}, err
}
