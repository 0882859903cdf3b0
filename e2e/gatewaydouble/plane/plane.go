package plane

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
)

// Plane serves the ports of a Table. Program and Close may be called from any goroutine.
type Plane struct {
	host string
	log  *slog.Logger

	mu    sync.Mutex
	ports map[uint16]*port
}

// port is one port that is being served.
type port struct {
	want    Port
	routing atomic.Pointer[routing]
	tracked *tracked
	server  *http.Server
	stop    context.CancelFunc
}

// New makes a data plane that listens on the ports of a host, or of every address where host is "".
func New(host string, log *slog.Logger) *Plane {
	return &Plane{host: host, log: log, ports: map[uint16]*port{}}
}

// Program serves exactly what the table says from now on, and answers for each port why it cannot be listened on. Ports
// whose Kind stays keep their connections.
func (p *Plane) Program(ctx context.Context, table Table) map[uint16]error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, serving := range p.ports {
		if want, stays := table[number]; !stays || want.Kind != serving.want.Kind {
			p.log.Info("closing", "port", number)
			serving.close()
			delete(p.ports, number)
		}
	}
	failed := map[uint16]error{}
	for number, want := range table {
		if err := p.serve(ctx, number, want); err != nil {
			failed[number] = err
		}
	}
	return failed
}

// serve changes a port's rules in place, or opens it. Equal rules keep their turns.
func (p *Plane) serve(ctx context.Context, number uint16, want Port) error {
	if serving, ok := p.ports[number]; ok {
		if !reflect.DeepEqual(serving.want, want) {
			serving.want = want
			serving.routing.Store(newRouting(want))
		}
		return nil
	}
	address := net.JoinHostPort(p.host, strconv.Itoa(int(number)))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	p.log.Info("serving", "port", number, "kind", want.Kind)
	p.ports[number] = open(ctx, l, want, p.log)
	return nil
}

func open(ctx context.Context, l net.Listener, want Port, log *slog.Logger) *port {
	// What is served outlives the call that programmed it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	opened := &port{want: want, tracked: track(l), stop: stop}
	opened.routing.Store(newRouting(want))
	if want.Kind == TCP {
		w := &wire{routing: &opened.routing, log: log}
		go w.serve(ctx, opened.tracked)
		return opened
	}
	opened.server = newWeb(&opened.routing, log).server(log)
	go func() { _ = opened.server.Serve(opened.tracked) }() // ends with close
	return opened
}

func (p *port) close() {
	p.stop()
	if p.server != nil {
		_ = p.server.Close() // what it does not know, closeAll cuts
	}
	p.tracked.closeAll()
}

// Close stops serving and cuts every connection.
func (p *Plane) Close() {
	p.Program(context.Background(), Table{})
}
