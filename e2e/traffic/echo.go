package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// EchoConfig of a backend. An empty address is not served.
type EchoConfig struct {
	// Pod is the name that answers carry; it has no space in it.
	Pod string
	// HTTP, TCP, UDP and Admin are HOST:PORT to listen on.
	HTTP, TCP, UDP, Admin string
	// Linger is how long, once told to end, it serves on while /healthz fails: endpoints are taken out by others.
	Linger time.Duration
}

// Echo is a backend that tells who asked it.
type Echo struct {
	config EchoConfig
	faults *faults
	ending atomic.Bool

	http, tcp, admin net.Listener
	udp              *net.UDPConn

	// ctx ends when held connections have to.
	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

// Listen opens the sockets of a backend; Run serves them.
func Listen(ctx context.Context, c EchoConfig) (*Echo, error) {
	e := &Echo{config: c, faults: newFaults()}
	e.ctx, e.end = context.WithCancel(context.WithoutCancel(ctx))
	var errs []error
	for address, l := range map[*string]*net.Listener{&c.HTTP: &e.http, &c.TCP: &e.tcp, &c.Admin: &e.admin} {
		errs = append(errs, listen(ctx, *address, l))
	}
	if c.UDP != "" {
		var lc net.ListenConfig
		conn, err := lc.ListenPacket(ctx, "udp", c.UDP)
		e.udp, _ = conn.(*net.UDPConn)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		e.end()
		closeNow(e.tcp, e.udp)
		closeNow(e.http, nil)
		closeNow(e.admin, nil)
		return nil, err
	}
	return e, nil
}

func listen(ctx context.Context, address string, into *net.Listener) error {
	if address == "" {
		return nil
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // a reset is to be a plain TCP reset
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	*into = l
	return nil
}

// Run serves until ctx ends, lingers, and ends: requests that it has begun are answered, held connections are closed.
func (e *Echo) Run(ctx context.Context) error {
	servers := []*http.Server{serve(e.http, e.handler()), serve(e.admin, e.adminHandler())}
	if e.tcp != nil {
		e.work.Go(e.serveTCP)
	}
	if e.udp != nil {
		e.work.Go(e.serveUDP)
	}
	<-ctx.Done()
	e.ending.Store(true)
	time.Sleep(e.config.Linger)
	return e.shutdown(servers)
}

// serve starts an HTTP server; without a listener it serves nothing.
func serve(l net.Listener, h http.Handler) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	if l != nil {
		go func() { _ = s.Serve(l) }() // ends with Shutdown
	}
	return s
}

func (e *Echo) shutdown(servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 5*time.Second)
	defer cancel()
	e.end() // first: who hangs does so no longer
	closeNow(e.tcp, e.udp)
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Shutdown(ctx))
	}
	e.work.Wait()
	return errors.Join(errs...)
}

// closeNow closes the sockets that are there.
func closeNow(tcp net.Listener, udp *net.UDPConn) {
	if tcp != nil {
		_ = tcp.Close()
	}
	if udp != nil {
		_ = udp.Close()
	}
}

// Addresses that a backend listens on, by protocol: http, tcp, udp, admin.
func (e *Echo) Addresses() map[string]string {
	out := map[string]string{}
	for name, l := range map[string]net.Listener{"http": e.http, "tcp": e.tcp, "admin": e.admin} {
		if l != nil {
			out[name] = l.Addr().String()
		}
	}
	if e.udp != nil {
		out["udp"] = e.udp.LocalAddr().String()
	}
	return out
}
