package traffic

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const shop = "shop.example.test"

// names is a name server on loopback.
type names struct {
	conn net.PacketConn

	mu        sync.Mutex
	addresses []netip.Addr
	rcode     dnsmessage.RCode
	silent    bool
	asked     atomic.Int64
	types     map[dnsmessage.Type]int
}

func newNames(t *testing.T, addresses ...string) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn, types: map[dnsmessage.Type]int{}}
	n.point(addresses...)
	go n.serve()
	t.Cleanup(func() { _ = conn.Close() })
	return n
}

func (n *names) point(addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = nil
	for _, a := range addresses {
		n.addresses = append(n.addresses, netip.MustParseAddr(a))
	}
}

func (n *names) serve() {
	buffer := make([]byte, 512)
	for {
		size, from, err := n.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		n.asked.Add(1)
		var q dnsmessage.Message
		if err := q.Unpack(buffer[:size]); err != nil {
			continue
		}
		if text, err := n.answer(q); err == nil {
			_, _ = n.conn.WriteTo([]byte("noise that no resolver sends"), from)
			_, _ = n.conn.WriteTo(text, from)
		}
	}
}

func (n *names) answer(q dnsmessage.Message) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.silent {
		return nil, context.DeadlineExceeded
	}
	n.types[q.Questions[0].Type]++
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, RCode: n.rcode}, Questions: q.Questions}
	for _, a := range n.addresses {
		h := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 30}
		switch {
		case a.Is4() && q.Questions[0].Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Questions[0].Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

// backend is a running Echo on one address; end stops it.
func backend(t *testing.T, c EchoConfig) (*Echo, func()) {
	t.Helper()
	c.Pod = "pod-1"
	e, err := Listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	end := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the backend ends with %v", err)
		}
	})
	t.Cleanup(end)
	return e, end
}

func anywhere() EchoConfig {
	return EchoConfig{HTTP: "127.0.0.1:0", TCP: "127.0.0.1:0", UDP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
}

// fault tells a backend over its admin port.
func fault(t *testing.T, e *Echo, body string) int {
	t.Helper()
	res, err := http.Post("http://"+e.Addresses()["admin"]+"/fault", "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func port(t *testing.T, address string) uint16 {
	t.Helper()
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return ap.Port()
}

// settings are a client's for a port, with times short enough for a test.
func settings(n *names, kind Kind, p uint16) Config {
	return Config{
		Name: shop, Port: p, Kind: kind, Resolver: n.conn.LocalAddr().String(), Rate: 100,
		Timeout: 2 * time.Second, Every: 20 * time.Millisecond,
	}
}

// start runs a client and serves its control API on loopback.
func start(t *testing.T, c Config) Control {
	t.Helper()
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(client.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	go client.Run(ctx)
	t.Cleanup(func() {
		cancel()
		<-client.Finished()
		server.Close()
	})
	return Control{BaseURL: server.URL}
}

// until polls a client's counts until they are as wanted.
func until(t *testing.T, c Control, want string, ok func(Stats) bool) Stats {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s, err := c.Stats(0)
		if err != nil {
			t.Fatal(err)
		}
		if s.Sent != s.Answered+s.Lost+s.InFlight {
			t.Fatalf("sent %d, answered %d, lost %d, in flight %d do not add up", s.Sent, s.Answered, s.Lost, s.InFlight)
		}
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("never %s: sent %d, %v; held %+v", want, s.Sent, s.Verdict(), s.Held)
		}
	}
}

func stop(t *testing.T, c Control) Stats {
	t.Helper()
	s, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unused is a port on loopback that nobody listens on.
func unused(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return port(t, l.Addr().String())
}

// script is a TCP server that gives each connection to a function, and counts them.
type script struct {
	net.Listener
	accepted atomic.Int64
}

func newScript(t *testing.T, do func(net.Conn)) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			go do(conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return s
}

func at(address string, p uint16) string { return net.JoinHostPort(address, strconv.Itoa(int(p))) }
