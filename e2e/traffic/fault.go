package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Mode of a fault.
type Mode string

// The modes. None: answer. Fail ("500"): HTTP answers status 500; lines, datagrams and messages get an answer that is none.
// ResetMode: connections are reset, datagrams ignored. Hang: nothing is answered until the fault is over.
const (
	None      Mode = "none"
	Fail      Mode = "500"
	ResetMode Mode = "reset"
	Hang      Mode = "hang"
)

// Fault is what a backend does to requests instead of answering them. /healthz and the admin port stay as they are, so that
// the Pod stays an endpoint.
type Fault struct {
	Mode Mode `json:"mode"`
	// ForwardedOnly spares HTTP requests without an X-Forwarded-For header, and all lines and datagrams: then only the path
	// through a proxy fails.
	ForwardedOnly bool `json:"forwardedOnly,omitempty"`
	// Health makes /healthz fail too.
	Health bool `json:"health,omitempty"`
}

// faults is the fault in force.
type faults struct {
	mu  sync.Mutex
	now Fault
	// over is closed when the fault in force is replaced.
	over chan struct{}
}

func newFaults() *faults { return &faults{now: Fault{Mode: None}, over: make(chan struct{})} }

func (f *faults) set(next Fault) error {
	switch next.Mode {
	case None, Fail, ResetMode, Hang:
	default:
		return fmt.Errorf("mode %.20q: give none, 500, reset or hang", next.Mode)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.over)
	f.now, f.over = next, make(chan struct{})
	return nil
}

// meet is the mode for one request. It waits while the mode is Hang, until the fault changes or ctx ends.
func (f *faults) meet(ctx context.Context, forwarded, health bool) Mode {
	for {
		f.mu.Lock()
		now, over := f.now, f.over
		f.mu.Unlock()
		if now.ForwardedOnly && !forwarded || health && !now.Health {
			return None
		}
		if now.Mode != Hang {
			return now.Mode
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ResetMode // nobody waits for an answer any more
		}
	}
}

// ServeHTTP is POST /fault on the admin port, with a Fault as its body.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var next Fault
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10))
	d.DisallowUnknownFields()
	err := d.Decode(&next)
	if err == nil {
		err = f.set(next)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, next)
}

// cutOff resets a connection: its peer sees an error, not an end.
func cutOff(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}
