package plane

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// lab is a data plane on loopback.
type lab struct {
	*testing.T

	plane *Plane
}

func newLab(t *testing.T) *lab {
	t.Helper()
	p := New("127.0.0.1", slog.New(slog.NewTextHandler(io.Discard, nil)))
	t.Cleanup(p.Close)
	return &lab{t, p}
}

// freePort is a port that nobody listens on just now.
func (l *lab) freePort() uint16 {
	l.Helper()
	probe, err := (&net.ListenConfig{}).Listen(l.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = probe.Close() }()
	return addrPort(l.T, probe.Addr().String()).Port()
}

func addrPort(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (l *lab) program(table Table) {
	l.Helper()
	if failed := l.plane.Program(l.Context(), table); len(failed) > 0 {
		l.Fatalf("got %v", failed)
	}
}

// backend answers with its name and what it was asked.
func (l *lab) backend(name string) netip.AddrPort {
	l.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Asked", fmt.Sprintf("%s %s %q", r.Host, r.URL.Path, r.Header.Values("X-Forwarded-For")))
		_, _ = io.WriteString(w, name)
	}))
	l.Cleanup(s.Close)
	return addrPort(l.T, strings.TrimPrefix(s.URL, "http://"))
}

// get asks a port for a path of a host; what the backend adds is in the text.
func (l *lab) get(port uint16, host, path string, header ...string) (int, string) {
	l.Helper()
	req, err := http.NewRequestWithContext(l.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		l.Fatal(err)
	}
	req.Host = host
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.Fatal(err)
	}
	return resp.StatusCode, string(body) + " " + resp.Header.Get("Asked")
}

// wants asks and compares the status and the beginning of the answer.
func (l *lab) wants(port uint16, host, path string, status int, text string) {
	l.Helper()
	if got, body := l.get(port, host, path); got != status || !strings.HasPrefix(body, text) {
		l.Errorf("%s%s: got %d %q, want %d %q", host, path, got, body, status, text)
	}
}

// sums is a TCP backend that reads to the end, then answers how much came: it works with half-closed connections only.
func (l *lab) sums() netip.AddrPort {
	l.Helper()
	listener, err := (&net.ListenConfig{}).Listen(l.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				n, err := io.Copy(io.Discard, c)
				_, _ = fmt.Fprintf(c, "%d %v", n, err)
			}()
		}
	}()
	return addrPort(l.T, listener.Addr().String())
}

// echoes is a TCP backend that answers each line, with its name in front.
func (l *lab) echoes(name string) netip.AddrPort {
	l.Helper()
	listener, err := (&net.ListenConfig{}).Listen(l.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if _, err := fmt.Fprintf(c, "%s %s\n", name, lines.Text()); err != nil {
						return
					}
				}
			}()
		}
	}()
	return addrPort(l.T, listener.Addr().String())
}

func (l *lab) connect(port uint16) *net.TCPConn {
	l.Helper()
	c, err := (&net.Dialer{}).DialContext(l.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		l.Fatal(err)
	}
	plain, ok := c.(*net.TCPConn)
	if !ok {
		l.Fatalf("got %T", c)
	}
	l.Cleanup(func() { _ = plain.Close() })
	if err := plain.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		l.Fatal(err)
	}
	return plain
}

// says sends a line and wants an answer.
func (l *lab) says(c net.Conn, line, want string) {
	l.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		l.Fatal(err)
	}
	got, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || got != want+"\n" {
		l.Fatalf("got %q %v, want %q", got, err, want)
	}
}

func web1(hostname string, backends ...Backend) Listener {
	return Listener{Hostname: hostname, Rules: []Rule{{Backends: backends}}}
}

func one(endpoints ...netip.AddrPort) Backend { return Backend{Weight: 1, Endpoints: endpoints} }

func httpPort(listeners ...Listener) Port { return Port{Kind: HTTP, Listeners: listeners} }

func tcpPort(backends ...Backend) Port {
	return Port{Kind: TCP, Listeners: []Listener{web1("", backends...)}}
}
