package plane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAHalfClosedConnectionStillGetsItsAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: tcpPort(one(l.sums()))})
	c := l.connect(p)
	if _, err := io.Copy(c, strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "1048576 <nil>" {
		t.Errorf("got %q %v", got, err)
	}
}

func TestAConnectionOutlivesChangesOfItsPortAndEndsWithIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: tcpPort(one(l.echoes("old")))})
	c := l.connect(p)
	l.says(c, "1", "old 1")
	l.program(Table{p: tcpPort(one(l.echoes("new"))), l.freePort(): httpPort()})
	l.says(c, "2", "old 2")
	l.says(l.connect(p), "3", "new 3")
	l.program(Table{})
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("the connection is still there: %d", n)
	}
}

func TestAConnectionThatNoEndpointTakesIsReset(t *testing.T) {
	t.Parallel()
	for name, backend := range map[string][]Backend{
		"broken": {{Weight: 1, Broken: true}}, "no endpoint": {{Weight: 1}}, "no backend": {}, "no weight": {{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			p := l.freePort()
			l.program(Table{p: tcpPort(backend...)})
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err == nil { // where the reset was not faster
				_, err = c.Read(make([]byte, 1))
			}
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAResetOfTheClientReachesTheBackendAsAReset(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	backend, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	l.program(Table{p: tcpPort(one(addrPort(t, backend.Addr().String())))})
	client := l.connect(p)
	upstream, err := backend.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(client.SetLinger(0), client.Close(), upstream.SetReadDeadline(time.Now().Add(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := upstream.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}

func TestConnectionsAreSpreadByWeight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	a, b := one(l.echoes("a")), one(l.echoes("b"))
	a.Weight = 3
	l.program(Table{p: tcpPort(a, b)})
	for _, want := range []string{"a x", "a x", "b x", "a x", "a x", "a x", "b x", "a x"} {
		l.says(l.connect(p), "x", want)
	}
}

func TestAPortThatChangesItsKindIsServedAnew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: tcpPort(one(l.echoes("tcp")))})
	l.says(l.connect(p), "x", "tcp x")
	l.program(Table{p: httpPort(web1("", one(l.backend("http"))))})
	l.wants(p, "a.test", "/", 200, "http ")
}
