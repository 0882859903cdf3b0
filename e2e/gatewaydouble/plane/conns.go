package plane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// dialTimeout bounds one attempt to reach an endpoint.
const dialTimeout = 3 * time.Second

var errNoEndpoint = errors.New("the backend has no ready endpoint")

// dial connects to the first endpoint that answers, within dialTimeout each.
func dial(ctx context.Context, endpoints []netip.AddrPort) (net.Conn, error) {
	failed := errNoEndpoint
	for _, e := range endpoints {
		c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", e.String())
		if err == nil {
			return c, nil
		}
		failed = err
	}
	return nil, failed
}

// tracked is a listener that knows its open connections, also those that HTTP gave away as WebSockets.
type tracked struct {
	net.Listener

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

// trackedConn keeps what a TCP connection can do, such as closing one direction.
type trackedConn struct {
	*net.TCPConn

	owner *tracked
}

func track(l net.Listener) *tracked { return &tracked{Listener: l, open: map[*trackedConn]struct{}{}} }

// Accept is that of net.Listener.
func (t *tracked) Accept() (net.Conn, error) {
	accepted, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	plain, isTCP := accepted.(*net.TCPConn)
	if !isTCP {
		return nil, errors.Join(errors.New("the listener is not TCP"), accepted.Close())
	}
	c := &trackedConn{plain, t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil { // accepted while the port was being closed
		return nil, errors.Join(net.ErrClosed, plain.Close())
	}
	t.open[c] = struct{}{}
	return c, nil
}

// Close is that of net.Conn.
func (c *trackedConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.open, c)
	c.owner.mu.Unlock()
	return c.TCPConn.Close()
}

// closeAll stops listening and cuts every connection.
func (t *tracked) closeAll() {
	_ = t.Close() // it has nothing to flush
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	for c := range open {
		_ = c.TCPConn.Close() // its peers see the end
	}
}
