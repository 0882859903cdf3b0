package plane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wire copies the connections of one TCP port.
type wire struct {
	routing *atomic.Pointer[routing]
	log     *slog.Logger
}

// serve accepts until the listener is closed.
func (w *wire) serve(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			w.log.Error("accepting", "address", l.Addr(), "err", err)
			time.Sleep(50 * time.Millisecond) // such as too many open files: it passes
		default:
			go w.carry(ctx, c)
		}
	}
}

// carry joins a client with an endpoint. A client that no endpoint takes is reset: it must not take an empty answer for
// an answer.
func (w *wire) carry(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }() // the second time where join did
	upstream, err := w.dial(ctx)
	if err != nil {
		w.log.Info("refused", "client", client.RemoteAddr(), "err", err)
		reset(client)
		return
	}
	join(client, upstream)
}

func (w *wire) dial(ctx context.Context) (net.Conn, error) {
	rule := w.routing.Load().tcp()
	if rule == nil {
		return nil, errors.New("no route")
	}
	to := rule.next()
	if to.broken {
		return nil, errors.New("the route's backend does not exist or is not permitted")
	}
	return dial(ctx, to.endpoints)
}

// halves is a connection whose directions end one by one.
type halves interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

func reset(c net.Conn) {
	if h, ok := c.(halves); ok {
		_ = h.SetLinger(0) // the close that follows is a reset
	}
}

// join copies both ways until both directions have ended. An end passes on as an end, anything worse as a reset.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
	_ = a.Close() // nothing is left to send
	_ = b.Close()
}

func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if h, ok := to.(halves); ok && err == nil && h.CloseWrite() == nil {
		return
	}
	for _, c := range []net.Conn{to, from} {
		reset(c)
		_ = c.Close() // the other direction ends with it
	}
}
