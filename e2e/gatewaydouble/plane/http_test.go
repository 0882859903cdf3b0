package plane

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestARequestGoesToTheMostSpecificListenerAndToNoOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: httpPort(
		web1("", one(l.backend("any"))), web1("*.example.test", one(l.backend("wild"))), web1("shop.example.test", one(l.backend("shop"))),
		Listener{Hostname: "empty.example.test"},
	)})
	l.wants(p, "shop.example.test", "/a", 200, "shop shop.example.test /a")
	l.wants(p, "SHOP.example.test.:8080", "/", 200, "shop ")
	l.wants(p, "x.y.example.test", "/", 200, "wild ")
	l.wants(p, "example.test", "/", 200, "any ")
	l.wants(p, "empty.example.test", "/", 404, "")
}

func TestAnUnknownHostIsNotFound(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: httpPort(web1("shop.example.test", one(l.backend("shop"))))})
	l.wants(p, "other.example.test", "/", 404, "no route")
	l.wants(p, "127.0.0.1", "/", 404, "no route")
}

func TestPathsMatchByWholeSegments(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	rule := func(path Path, name string) Rule { return Rule{Path: path, Backends: []Backend{one(l.backend(name))}} }
	l.program(Table{p: httpPort(Listener{Rules: []Rule{
		rule(Path{Value: "/exact", Exact: true}, "exact"), rule(Path{Value: "/api/"}, "api"),
	}})})
	l.wants(p, "a.test", "/exact", 200, "exact ")
	l.wants(p, "a.test", "/exact/", 404, "")
	l.wants(p, "a.test", "/api", 200, "api ")
	l.wants(p, "a.test", "/api/v1", 200, "api ")
	l.wants(p, "a.test", "/apis", 404, "")
}

func TestTheClientIsNamedAndCannotNameAnother(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: httpPort(web1("", one(l.backend("b"))))})
	status, body := l.get(p, "a.test", "/", "X-Forwarded-For", "203.0.113.9")
	if status != 200 || !strings.HasSuffix(body, `["127.0.0.1"]`) {
		t.Errorf("got %d %s", status, body)
	}
}

func TestWeightsAreHonoredAndWhatFallsToABrokenBackendIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	a, b, idle := one(l.backend("a")), one(l.backend("b")), one(l.backend("idle"))
	a.Weight, idle.Weight = 6, 0
	l.program(Table{p: httpPort(web1("", a, b, idle, Backend{Weight: 2, Broken: true}, Backend{Weight: 1}))})
	got := map[string]int{}
	for range 100 {
		status, body := l.get(p, "a.test", "/")
		name, _, _ := strings.Cut(body, " ")
		if status != 200 {
			name = fmt.Sprint(status)
		}
		got[name]++
	}
	if len(got) != 4 || got["a"] != 60 || got["b"] != 10 || got["500"] != 20 || got["503"] != 10 {
		t.Errorf("got %v", got)
	}
}

func TestEndpointsTakeTurnsAndADeadOneIsSkipped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, dead := l.freePort(), addrPort(t, fmt.Sprintf("127.0.0.1:%d", l.freePort()))
	l.program(Table{p: httpPort(web1("", one(l.backend("a"), dead, l.backend("b"))))})
	got := map[string]int{}
	for range 30 {
		_, body := l.get(p, "a.test", "/")
		got[body[:1]]++
	}
	if got["a"] != 10 || got["b"] != 20 {
		t.Errorf("got %v", got)
	}
}

func TestABackendThatNobodyListensAtIsABadGateway(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: httpPort(web1("", one(addrPort(t, fmt.Sprintf("127.0.0.1:%d", l.freePort())))))})
	l.wants(p, "a.test", "/", 502, "")
}

// chatty is a backend that answers each WebSocket message, with its name in front.
func chatty(l *lab, name string) Backend {
	l.Helper()
	upgrader := websocket.Upgrader{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		for {
			kind, text, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, append([]byte(name+" "), text...)) != nil {
				return
			}
		}
	}))
	l.Cleanup(s.Close)
	return one(addrPort(l.T, strings.TrimPrefix(s.URL, "http://")))
}

func (l *lab) upgrade(port uint16) *websocket.Conn {
	l.Helper()
	c, resp, err := websocket.DefaultDialer.DialContext(l.Context(), fmt.Sprintf("ws://127.0.0.1:%d/ws", port), http.Header{"Host": {"ws.test"}})
	if err != nil {
		l.Fatal(err)
	}
	_ = resp.Body.Close()
	l.Cleanup(func() { _ = c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		l.Fatal(err)
	}
	return c
}

func exchange(l *lab, c *websocket.Conn, text, want string) {
	l.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		l.Fatal(err)
	}
	if _, got, err := c.ReadMessage(); err != nil || string(got) != want {
		l.Fatalf("got %q %v, want %q", got, err, want)
	}
}

func TestAWebSocketOutlivesChangesOfItsPortAndEndsWithIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	l.program(Table{p: httpPort(web1("ws.test", chatty(l, "old")))})
	c := l.upgrade(p)
	exchange(l, c, "1", "old 1")
	l.program(Table{p: httpPort(web1("ws.test", chatty(l, "new")), web1("more.test"))})
	exchange(l, c, "2", "old 2")
	exchange(l, l.upgrade(p), "3", "new 3")
	l.program(Table{})
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("the connection is still there")
	}
}

func TestAnEqualTableDoesNotBeginTheTurnsAnew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.freePort()
	table := func(a, b Backend) Table { return Table{p: httpPort(web1("", a, b))} }
	a, b := one(l.backend("a")), one(l.backend("b"))
	got := map[string]int{}
	for range 10 {
		l.program(table(a, b))
		_, body := l.get(p, "a.test", "/")
		got[body[:1]]++
	}
	if got["a"] != 5 || got["b"] != 5 {
		t.Errorf("got %v", got)
	}
}

func TestAPortThatIsTakenIsReportedAndTheOthersAreServed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, taken := l.freePort(), l.backend("stranger").Port()
	table := Table{p: httpPort(web1("", one(l.backend("b")))), taken: httpPort()}
	failed := l.plane.Program(t.Context(), table)
	if len(failed) != 1 || failed[taken] == nil || errors.Is(failed[taken], http.ErrServerClosed) {
		t.Fatalf("got %v", failed)
	}
	l.wants(p, "a.test", "/", 200, "b ")
}
