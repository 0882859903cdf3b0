package traffic

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// once makes one request.
func once(t *testing.T, c Config) outcome {
	t.Helper()
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client.requests.do(t.Context())
}

func wantLost(t *testing.T, o outcome, class Class, address string) {
	t.Helper()
	if o.class != class || o.err == nil || o.address != address {
		t.Errorf("want %s at %q, got %q at %q: %v", class, address, o.class, o.address, o.err)
	}
}

func TestEveryKindIsAnsweredAndTellsTheClientThatTheBackendSaw(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	n := newNames(t, "127.0.0.1")
	for _, kind := range []Kind{HTTP, TCP, UDP} {
		o := once(t, settings(n, kind, port(t, e.Addresses()[string(kind)])))
		if o.class != "" || o.address != "127.0.0.1" || o.source != "127.0.0.1" || o.took <= 0 {
			t.Errorf("%s: %+v", kind, o)
		}
	}
}

func TestFamilySixAsksForAAAAAlone(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, EchoConfig{HTTP: "[::1]:0", TCP: "[::1]:0", UDP: "[::1]:0"})
	n := newNames(t, "127.0.0.1", "::1")
	for _, kind := range []Kind{HTTP, TCP, UDP} {
		c := settings(n, kind, port(t, e.Addresses()[string(kind)]))
		c.Family = 6
		if o := once(t, c); o.class != "" || o.address != "::1" || o.source != "::1" {
			t.Errorf("%s: %+v", kind, o)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.types[dnsmessage.TypeA] != 0 || n.types[dnsmessage.TypeAAAA] != 3 {
		t.Errorf("asked for %v", n.types)
	}
}

func TestAResolverThatFailsIsLostAndAskedOnce(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*names){
		"SERVFAIL":   func(n *names) { n.rcode = dnsmessage.RCodeServerFailure },
		"NXDOMAIN":   func(n *names) { n.rcode = dnsmessage.RCodeNameError },
		"no address": func(n *names) { n.addresses = nil },
		"no answer":  func(n *names) { n.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNames(t, "127.0.0.1")
			n.mu.Lock()
			fail(n)
			n.mu.Unlock()
			c := settings(n, HTTP, 80)
			c.Timeout = 300 * time.Millisecond
			wantLost(t, once(t, c), DNS, "")
			if got := n.asked.Load(); got != 1 {
				t.Errorf("asked %d times", got)
			}
		})
	}
}

func TestOnlyTheFirstAddressIsTriedEvenIfTheSecondWouldAnswer(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	n := newNames(t, "127.0.0.9", "127.0.0.1")
	c := settings(n, HTTP, port(t, e.Addresses()["http"]))
	wantLost(t, once(t, c), Connect, "127.0.0.9")
	n.point("127.0.0.1", "127.0.0.9")
	if o := once(t, c); o.class != "" || o.address != "127.0.0.1" {
		t.Errorf("the order of the answer is not kept: %+v", o)
	}
}

func TestAFaultOfTheBackendHasItsClass(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]map[Kind]Class{
		Fail:      {HTTP: Status, TCP: Body, UDP: Body},
		ResetMode: {HTTP: Reset, TCP: Reset, UDP: Timeout},
		Hang:      {HTTP: Timeout, TCP: Timeout, UDP: Timeout},
		None:      {HTTP: "", TCP: "", UDP: ""},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			e, _ := backend(t, anywhere())
			if got := fault(t, e, fmt.Sprintf(`{"mode":%q}`, mode)); got != http.StatusOK {
				t.Fatalf("status %d", got)
			}
			n := newNames(t, "127.0.0.1")
			for kind, class := range want {
				c := settings(n, kind, port(t, e.Addresses()[string(kind)]))
				c.Timeout = 500 * time.Millisecond
				if o := once(t, c); o.class != class || o.address != "127.0.0.1" {
					t.Errorf("%s: want %q, got %+v", kind, class, o)
				}
			}
		})
	}
}

// whole is an HTTP answer with a body.
func whole(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func TestAReplyThatIsNotTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want Class
	}{
		"another host":                {text: whole(`{"host":"other.example.test"}`), want: Body},
		"no JSON":                     {text: whole("hello"), want: Body},
		"no HTTP":                     {text: "SSH-2.0-OpenSSH_9.2\r\n\r\n", want: Body},
		"half a body":                 {text: whole(`{"host":"` + shop + `"}` + strings.Repeat(" ", 50))[:100], want: Reset},
		"nothing":                     {text: "", want: Reset},
		"a redirect":                  {text: "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", want: Status},
		"half a body of a bad status": {text: "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbusy", want: Status},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, func(conn net.Conn) {
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = conn.Write([]byte(c.text))
				_ = conn.Close()
			})
			wantLost(t, once(t, settings(newNames(t, "127.0.0.1"), HTTP, port(t, s.Addr().String()))), c.want, "127.0.0.1")
			if got := s.accepted.Load(); got != 1 {
				t.Errorf("connected %d times", got)
			}
		})
	}
}

func TestARefusedConnectionIsLostAtConnectForEveryKind(t *testing.T) {
	t.Parallel()
	p := unused(t)
	for _, kind := range []Kind{HTTP, TCP, UDP} {
		wantLost(t, once(t, settings(newNames(t, "127.0.0.1"), kind, p)), Connect, "127.0.0.1")
	}
}

func TestAConnectionThatNeverComesIsLostAtConnect(t *testing.T) {
	t.Parallel()
	address := full(t)
	c := settings(newNames(t, "127.0.0.1"), HTTP, port(t, address))
	c.Timeout = 500 * time.Millisecond
	wantLost(t, once(t, c), Connect, "127.0.0.1")
}

// full is the address of a listener whose backlog is full: a SYN gets no answer.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	p := unused(t)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(p), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		conn, err := net.DialTimeout("tcp", at("127.0.0.1", p), 300*time.Millisecond)
		if err != nil {
			return at("127.0.0.1", p)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the backlog takes everything")
	return ""
}

func TestAProxysForwardedForIsKeptBesideTheSource(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = conn.Write([]byte(whole(`{"pod":"p","client":"10.0.0.7:41234","host":"` + shop + `","forwardedFor":"192.0.2.9"}`)))
		_ = conn.Close()
	})
	c := start(t, settings(newNames(t, "127.0.0.1"), HTTP, port(t, s.Addr().String())))
	until(t, c, "answered", func(s Stats) bool { return s.Answered > 3 })
	a := stop(t, c).PerAddress["127.0.0.1"]
	if !slices.Equal(a.Sources, []string{"10.0.0.7"}) || !slices.Equal(a.ForwardedFor, []string{"192.0.2.9"}) || a.P50 <= 0 || a.P99 < a.P50 {
		t.Errorf("got %+v", a)
	}
}

func TestAReplyAfterTheTimeoutIsLostHoweverValid(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	c := settings(newNames(t, "127.0.0.1"), HTTP, port(t, e.Addresses()["http"]))
	fault(t, e, `{"mode":"hang"}`)
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	client.requests.timeout = 200 * time.Millisecond
	time.AfterFunc(400*time.Millisecond, func() { _ = e.faults.set(Fault{Mode: None}) })
	wantLost(t, client.requests.do(context.Background()), Timeout, "127.0.0.1")
}

func TestAConfigurationThatCannotMeasureIsRefused(t *testing.T) {
	t.Parallel()
	good := Config{Name: shop, Port: 80, Kind: HTTP, Resolver: "127.0.0.1:53", Rate: 1}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Config){
		"no name": func(c *Config) { c.Name = "" }, "no port": func(c *Config) { c.Port = 0 },
		"unknown kind": func(c *Config) { c.Kind = "sctp" }, "no rate": func(c *Config) { c.Rate = 0 },
		"family 5": func(c *Config) { c.Family = 5 }, "held UDP": func(c *Config) { c.Kind, c.Held = UDP, 1 },
		"unknown held kind": func(c *Config) { c.HeldKind = "quic" }, "relative path": func(c *Config) { c.Path = "x" },
	} {
		c := good
		edit(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
