// Command kubectl-offramp is the kubectl plugin. It also runs alone on files, without a cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"offramp.dev/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	log.SetLogger(logr.Discard())
	code := cli.Run(ctx, os.Args[1:], cli.IOStreams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, wiring())
	stop()
	os.Exit(code)
}

func wiring() cli.Wiring {
	return cli.Wiring{Version: version, Now: time.Now, Rehearse: rehearse, Faults: faults()}
}
