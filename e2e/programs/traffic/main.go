// Command traffic is a backend (echo) or a client that never stops asking (client) of the end-to-end suite.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"offramp.dev/e2e/traffic"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("say echo or client")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "echo":
		return echo(ctx, args[1:])
	case "client":
		return client(ctx, args[1:], out)
	}
	return errUsage
}

func echo(ctx context.Context, args []string) error {
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	c := traffic.EchoConfig{Pod: cmp.Or(os.Getenv("POD_NAME"), hostname)}
	fs := flag.NewFlagSet("echo", flag.ContinueOnError)
	fs.StringVar(&c.HTTP, "http", "", "`HOST:PORT` that answers HTTP and WebSockets (/ws); empty: none.")
	fs.StringVar(&c.TCP, "tcp", "", "`HOST:PORT` that answers lines; empty: none.")
	fs.StringVar(&c.UDP, "udp", "", "`HOST:PORT` that answers datagrams; empty: none.")
	fs.StringVar(&c.Admin, "admin", "", "`HOST:PORT` that takes faults (POST /fault); empty: none.")
	fs.DurationVar(&c.Linger, "linger", 500*time.Millisecond, "How long to serve on after SIGTERM, with /healthz failing.")
	if err := parse(fs, args); err != nil {
		return err
	}
	e, err := traffic.Listen(ctx, c)
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

func client(ctx context.Context, args []string, out io.Writer) error {
	var c traffic.Config
	fs := flag.NewFlagSet("client", flag.ContinueOnError)
	control := clientFlags(fs, &c)
	if err := parse(fs, args); err != nil {
		return err
	}
	client, err := traffic.New(c)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *control)
	if err != nil {
		return fmt.Errorf("--control %s: %w", *control, err)
	}
	server := &http.Server{Handler: client.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with Shutdown
	client.Run(ctx)
	err = json.NewEncoder(out).Encode(client.Stats(0))
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(last)) // whoever asked for the stop gets the answer
}

func clientFlags(fs *flag.FlagSet, c *traffic.Config) *string {
	fs.StringVar(&c.Name, "name", "", "Name to ask for.")
	fs.Func("port", "Port to connect to, 1 to 65535.", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		c.Port = uint16(n)
		return err
	})
	fs.Func("kind", "Kind of the requests: http, tcp or udp.", func(text string) error {
		c.Kind = traffic.Kind(text)
		return nil
	})
	fs.Func("held-kind", "Kind of the held connections: websocket or tcp. Default: websocket for http, tcp for tcp.", func(text string) error {
		c.HeldKind = traffic.HeldKind(text)
		return nil
	})
	fs.StringVar(&c.Path, "path", "/", "Path of HTTP requests.")
	fs.IntVar(&c.Family, "family", 4, "Family of the address: 4 or 6.")
	fs.StringVar(&c.Resolver, "resolver", "", "`HOST:PORT` to ask for the name, each time.")
	fs.IntVar(&c.Rate, "rate", 50, "Requests a second, 1 to 10000.")
	fs.IntVar(&c.InFlight, "in-flight", 0, "How many requests may be unfinished. Default: ten times the rate.")
	fs.IntVar(&c.Held, "held", 0, "Connections to hold from the start.")
	return fs.String("control", ":8090", "`HOST:PORT` of the control API.")
}

func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%s: what is %q?", fs.Name(), fs.Arg(0))
	}
	return nil
}
