package probe_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"offramp.dev/probe"
)

var dialer = probe.Dialer{AllowLoopback: true}

// at is a check of a listener on loopback.
func at(t *testing.T, addr net.Addr, kind probe.Kind) probe.Check {
	t.Helper()
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return probe.Check{Address: ap.Addr(), Port: ap.Port(), Kind: kind, Timeout: 5 * time.Second}
}

func expect(t *testing.T, got probe.Result, outcome probe.Outcome, detail string) {
	t.Helper()
	if got.Outcome != outcome || !strings.Contains(got.Detail, detail) {
		t.Errorf("got %s %q, want %s with %q", got.Outcome, got.Detail, outcome, detail)
	}
}

func serve(t *testing.T, handler http.HandlerFunc) net.Addr {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

// raw accepts connections and gives each to handle, which owns it.
func raw(t *testing.T, handle func(net.Conn)) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return listener.Addr()
}

// hold keeps a connection open and silent until the other side leaves.
func hold(conn net.Conn) {
	buffer := make([]byte, 1024)
	for {
		if _, err := conn.Read(buffer); err != nil {
			_ = conn.Close()
			return
		}
	}
}

// readSome waits for the request: an answer that comes before it is no answer to it.
func readSome(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1024))
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func TestHTTPSendsHostAndPathAndReportsTheStatus(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	c := at(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Host + " " + r.URL.RequestURI()
		_, _ = fmt.Fprint(w, "secret body")
	}), probe.HTTP)
	c.Host, c.Path = "shop.example.test", "/healthz?full=1"
	got := dialer.Probe(t.Context(), c)
	expect(t, got, probe.Good, "HTTP 200, 11 bytes, sha256 ")
	if s := <-seen; s != "shop.example.test /healthz?full=1" {
		t.Errorf("the server saw %q", s)
	}
	if strings.Contains(got.Detail, "secret") {
		t.Error("the detail holds the body")
	}
	if got.Check != c || got.Took <= 0 {
		t.Errorf("check %v took %v", got.Check, got.Took)
	}
}

func TestHTTPJudgesByStatusClass(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]probe.Outcome{
		200: probe.Good, 204: probe.Good, 399: probe.Good, 404: probe.Failed, 500: probe.Failed, 503: probe.Failed,
	} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		expect(t, dialer.Probe(t.Context(), at(t, addr, probe.HTTP)), want, fmt.Sprintf("HTTP %d", status))
	}
}

func TestHTTPDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://"+elsewhere.String()+"/")
		w.WriteHeader(http.StatusFound)
	})
	expect(t, dialer.Probe(t.Context(), at(t, addr, probe.HTTP)), probe.Good, "HTTP 302")
}

func TestHTTPReadsAtMost64KiBOfTheBody(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<16)
		for range 1 << 12 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	expect(t, dialer.Probe(t.Context(), at(t, addr, probe.HTTP)), probe.Good, "65536 bytes or more")
}

func TestHTTPGivesUpOnASlowServer(t *testing.T) {
	t.Parallel()
	c := at(t, raw(t, hold), probe.HTTP)
	c.Timeout = 100 * time.Millisecond
	got := dialer.Probe(t.Context(), c)
	expect(t, got, probe.Failed, "timed out")
	if got.Took > 5*time.Second {
		t.Errorf("took %v for a timeout of %v", got.Took, c.Timeout)
	}
}

func TestHTTPGivesUpOnABodyThatNeverEnds(t *testing.T) {
	t.Parallel()
	addr := raw(t, func(conn net.Conn) {
		readSome(conn)
		_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		hold(conn)
	})
	c := at(t, addr, probe.HTTP)
	c.Timeout = 100 * time.Millisecond
	expect(t, dialer.Probe(t.Context(), c), probe.Failed, "the body broke off after 4 bytes")
}

func TestHTTPRefusesEndlessHeaders(t *testing.T) {
	t.Parallel()
	addr := raw(t, func(conn net.Conn) {
		readSome(conn)
		_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := fmt.Fprint(conn, "X-More: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
				_ = conn.Close()
				return
			}
		}
	})
	if got := dialer.Probe(t.Context(), at(t, addr, probe.HTTP)); got.Outcome != probe.Failed {
		t.Errorf("got %s %q", got.Outcome, got.Detail)
	}
}

func TestAResetFailsEveryKindThatReads(t *testing.T) {
	t.Parallel()
	addr := raw(t, reset)
	for _, kind := range []probe.Kind{probe.HTTP, probe.TLS} {
		if got := dialer.Probe(t.Context(), at(t, addr, kind)); got.Outcome != probe.Failed {
			t.Errorf("%s: got %s %q", kind, got.Outcome, got.Detail)
		}
	}
}

func TestHTTPDoesNotQuoteAnAnswerThatIsNotHTTP(t *testing.T) {
	t.Parallel()
	addr := raw(t, func(conn net.Conn) {
		_, _ = fmt.Fprint(conn, "220 internal-mail secret-banner\r\n")
		hold(conn)
	})
	got := dialer.Probe(t.Context(), at(t, addr, probe.HTTP))
	expect(t, got, probe.Failed, "not one that HTTP/1 allows")
	if strings.Contains(got.Detail, "secret") {
		t.Errorf("the detail quotes the answer: %q", got.Detail)
	}
}

func TestTLSReportsTheLeafAndSendsTheHostAsSNI(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	sni := make(chan string, 1)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, VerifyConnection: func(state tls.ConnectionState) error {
		sni <- state.ServerName
		return nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := at(t, server.Listener.Addr(), probe.TLS)
	c.Host = "shop.example.test"
	got := dialer.Probe(t.Context(), c)
	expect(t, got, probe.Good, `leaf for ["example.com"`)
	expect(t, got, probe.Good, " until "+server.Certificate().NotAfter.UTC().Format(time.RFC3339))
	if s := <-sni; s != c.Host {
		t.Errorf("SNI %q", s)
	}
}

func TestTLSGivesUpOnAHandshakeThatNeverEnds(t *testing.T) {
	t.Parallel()
	c := at(t, raw(t, hold), probe.TLS)
	c.Timeout = 100 * time.Millisecond
	expect(t, dialer.Probe(t.Context(), c), probe.Failed, "timed out")
}

func TestTLSFailsAgainstAServerThatSpeaksPlainly(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	expect(t, dialer.Probe(t.Context(), at(t, addr, probe.TLS)), probe.Failed, "handshake")
}

func TestTCPConnectsOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := at(t, listener.Addr(), probe.TCP)
	expect(t, dialer.Probe(t.Context(), c), probe.Good, "connected")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, dialer.Probe(t.Context(), c), probe.Failed, "refused")
}

func TestAnIPv4MappedAddressIsItsIPv4Address(t *testing.T) {
	t.Parallel()
	c := at(t, raw(t, hold), probe.TCP)
	c.Address = netip.AddrFrom16(c.Address.As16())
	expect(t, dialer.Probe(t.Context(), c), probe.Good, "connected")
}

func TestProtocolsWithoutAReplyAreInconclusive(t *testing.T) {
	t.Parallel()
	for _, kind := range []probe.Kind{probe.UDP, probe.SCTP} {
		c := probe.Check{Address: netip.MustParseAddr("203.0.113.10"), Port: 53, Kind: kind}
		expect(t, dialer.Probe(t.Context(), c), probe.Inconclusive, "NoReplyProtocol")
	}
}

func TestACheckThatItsCallerCutShortIsInconclusive(t *testing.T) {
	t.Parallel()
	c := at(t, raw(t, hold), probe.HTTP)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	expect(t, dialer.Probe(ctx, c), probe.Inconclusive, "cut short")
}

func TestTookIsReadFromTheGivenClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	got := probe.Dialer{Now: clock}.Probe(t.Context(), probe.Check{Kind: probe.UDP})
	if got.Took != time.Second {
		t.Errorf("took %v", got.Took)
	}
}
