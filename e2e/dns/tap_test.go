//go:build dns

package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"offramp.dev/dnsctl"
)

// tapped is a port whose updates somebody comes before.
type tapped struct {
	dnsctl.Port

	// before is called with the changes of each update, counted from 1.
	before func(n int, changes []dnsctl.Change)
	n      int
}

// Update lets the other one go first.
func (p *tapped) Update(ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change) error {
	p.n++
	p.before(p.n, changes)
	return p.Port.Update(ctx, zone, changes)
}

// relay stands between the controller and a server, over TCP, and knows updates from queries.
type relay struct {
	address string
	server  string

	mu sync.Mutex
	// onUpdate is asked for every update: whether the server gets it, and whether its reply comes back. It is asked a second
	// time, with the reply in hand, where the first said that the reply does not come back.
	onUpdate func() (pass, reply bool)
	replied  func()
	updates  int
}

// newRelay serves until the test ends.
func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: l.Addr().String(), server: server}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r
}

// fault sets what becomes of updates from now on; nil lets all pass.
func (r *relay) fault(on func() (pass, reply bool), replied func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onUpdate, r.replied = on, replied
}

func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.updates
}

func (r *relay) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		m, err := message(c)
		if err != nil {
			return
		}
		pass, reply, done := r.verdict(m)
		if !pass {
			return
		}
		answer, err := r.ask(m)
		if err == nil && !reply && done != nil {
			done()
		}
		if err != nil || !reply {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

func (r *relay) verdict(m []byte) (pass, reply bool, done func()) {
	const update = 5
	if m[4]>>3&0xf != update {
		return true, true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates++
	if r.onUpdate == nil {
		return true, true, nil
	}
	pass, reply = r.onUpdate()
	return pass, reply, r.replied
}

// ask is one exchange with the server.
func (r *relay) ask(m []byte) ([]byte, error) {
	s, err := net.Dial("tcp", r.server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Write(m); err != nil {
		return nil, err
	}
	return message(s)
}

// message reads one message with its two octets of length.
func message(c io.Reader) ([]byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head))
	if n < 12 {
		return nil, errors.New("no message of DNS")
	}
	m := append(head, make([]byte, n)...)
	_, err := io.ReadFull(c, m[2:])
	return m, err
}
