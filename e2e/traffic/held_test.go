package traffic

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// holding is a client that holds connections of a kind to the backend's port at the names' address.
func holding(t *testing.T, e *Echo, n *names, kind Kind, held int) (Config, Control) {
	t.Helper()
	c := settings(n, kind, port(t, e.Addresses()[string(kind)]))
	c.Held = held
	control := start(t, c)
	until(t, control, "held", func(s Stats) bool { return s.Held.Open == int64(held) && s.Held.Exchanges > int64(2*held) })
	return c, control
}

func TestAHeldConnectionThatTheBackendEndsIsCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{HTTP, TCP} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			e, end := backend(t, anywhere())
			c, control := holding(t, e, newNames(t, "127.0.0.1"), kind, 4)
			end()
			s := until(t, control, "all cut", func(s Stats) bool { return s.Held.Cut == 4 })
			if s.Held.Open != 0 || s.Held.Ended != 0 || len(s.Held.CutList) != 4 {
				t.Fatalf("got %+v", s.Held)
			}
			cut := s.Held.CutList[0]
			if cut.Remote != at("127.0.0.1", c.Port) || cut.Local == cut.Remote || cut.Error == "" || time.Since(cut.Time) > time.Minute {
				t.Errorf("got %+v", cut)
			}
		})
	}
}

func TestAFaultOnAHeldConnectionCutsIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{HTTP, TCP} {
		for _, mode := range []Mode{Fail, ResetMode, Hang} {
			t.Run(string(kind)+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				e, _ := backend(t, anywhere())
				_, control := holding(t, e, newNames(t, "127.0.0.1"), kind, 2)
				fault(t, e, `{"mode":"`+string(mode)+`"}`)
				if s := until(t, control, "cut", func(s Stats) bool { return s.Held.Cut == 2 }); s.Held.Open != 0 || s.Held.Ended != 0 {
					t.Errorf("got %+v", s.Held)
				}
			})
		}
	}
}

func TestHeldConnectionsStayWhereTheyAreWhenTheNameMovesAndEndByAddress(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	p := port(t, e.Addresses()["http"])
	backend(t, EchoConfig{HTTP: at("127.0.0.2", p)})
	n := newNames(t, "127.0.0.1")
	_, control := holding(t, e, n, HTTP, 3)
	n.point("127.0.0.2")
	if err := control.Hold(2); err != nil {
		t.Fatal(err)
	}
	s := until(t, control, "five held", func(s Stats) bool { return s.Held.Open == 5 })
	if s.Held.PerAddress["127.0.0.1"] != 3 || s.Held.PerAddress["127.0.0.2"] != 2 {
		t.Errorf("got %+v", s.Held)
	}
	h, err := control.EndHeld("127.0.0.1")
	if err != nil || h.Ended != 3 || h.Open != 2 || h.PerAddress["127.0.0.1"] != 0 || h.PerAddress["127.0.0.2"] != 2 || h.Cut != 0 {
		t.Errorf("got %+v, %v", h, err)
	}
	if h, err = control.EndHeld(""); err != nil || h.Ended != 5 || h.Open != 0 || h.Cut != 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

func TestAConnectionCutBetweenTwoMessagesDoesNotPassForEnded(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{HTTP, TCP} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			e, end := backend(t, anywhere())
			c := settings(newNames(t, "127.0.0.1"), kind, port(t, e.Addresses()[string(kind)]))
			c.Held, c.Every = 2, time.Hour
			control := start(t, c)
			until(t, control, "held", func(s Stats) bool { return s.Held.Exchanges == 2 })
			end()
			if h, err := control.EndHeld(""); err != nil || h.Cut != 2 || h.Ended != 0 {
				t.Errorf("got %+v, %v", h, err)
			}
		})
	}
}

func TestAConnectionThatCannotBeHeldIsCountedAndSaid(t *testing.T) {
	t.Parallel()
	c := settings(newNames(t, "127.0.0.1"), HTTP, unused(t))
	c.Held = 3
	control := start(t, c)
	until(t, control, "failed", func(s Stats) bool { return s.Held.Failed == 1 })
	if err := control.Hold(2); err == nil {
		t.Error("holds what refuses it")
	}
	if s := stop(t, control); s.Held.Failed != 2 || s.Held.LastFailure == "" || s.Held.Open != 0 {
		t.Errorf("got %+v", s.Held)
	}
}

func TestAnUpgradeThatIsRefusedIsNotHeld(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
		_ = conn.Close()
	})
	control := start(t, settings(newNames(t, "127.0.0.1"), HTTP, port(t, s.Addr().String())))
	if err := control.Hold(1); err == nil {
		t.Error("a 404 is held")
	}
}

func TestAFaultForForwardedRequestsSparesTheDirectOnes(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	fault(t, e, `{"mode":"500","forwardedOnly":true}`)
	url := "http://" + e.Addresses()["http"] + "/"
	if direct, through := status(t, url, ""), status(t, url, "192.0.2.9"); direct != http.StatusOK || through != http.StatusInternalServerError {
		t.Errorf("direct %d, through a proxy %d", direct, through)
	}
}

func TestAFaultLeavesHealthAloneUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	url := "http://" + e.Addresses()["http"]
	fault(t, e, `{"mode":"500"}`)
	if h, r := status(t, url+"/healthz", ""), status(t, url+"/", ""); h != http.StatusOK || r != http.StatusInternalServerError {
		t.Errorf("health %d, request %d", h, r)
	}
	fault(t, e, `{"mode":"500","health":true}`)
	if h := status(t, url+"/healthz", ""); h != http.StatusInternalServerError {
		t.Errorf("health %d", h)
	}
	for _, bad := range []string{`{"mode":"slow"}`, `{"mode":"none","path":"/"}`, `500`, ``} {
		if got := fault(t, e, bad); got != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, got)
		}
	}
}

func status(t *testing.T, url, forwardedFor string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if forwardedFor != "" {
		req.Header.Set("X-Forwarded-For", forwardedFor)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestABackendToldToEndServesOnWhileItsHealthFails(t *testing.T) {
	t.Parallel()
	c := anywhere()
	c.Linger = 2 * time.Second
	e, end := backend(t, c)
	_, control := holding(t, e, newNames(t, "127.0.0.1"), HTTP, 1)
	ended := make(chan struct{})
	go func() { end(); close(ended) }()
	url := "http://" + e.Addresses()["http"]
	for deadline := time.Now().Add(time.Second); status(t, url+"/healthz", "") != http.StatusServiceUnavailable; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("healthy to the end")
		}
	}
	if got := status(t, url+"/", ""); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	s := stop(t, control)
	if s.Held.Cut != 0 || s.Lost != 0 {
		t.Errorf("lost at once: %v", s.Verdict())
	}
	<-ended
}
