package traffic

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheRateHoldsWhileNothingIsAnswered(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	fault(t, e, `{"mode":"hang"}`)
	c := settings(newNames(t, "127.0.0.1"), HTTP, port(t, e.Addresses()["http"]))
	c.Timeout = 8 * time.Second
	began := time.Now()
	control := start(t, c)
	s := until(t, control, "a hundred sent", func(s Stats) bool { return s.Sent >= 100 })
	if took := time.Since(began); took < 900*time.Millisecond || s.Sent > int64(100*time.Since(began).Seconds())+2 {
		t.Errorf("%d sent in %s at 100 a second", s.Sent, took)
	}
	if s.InFlight != s.Sent || s.MissedTicks != 0 || s.Lost != 0 {
		t.Errorf("the hanging server holds the client back: %+v", s)
	}
	fault(t, e, `{"mode":"none"}`)
	if s = stop(t, control); s.Answered != s.Sent || s.InFlight != 0 || s.Verdict() != nil {
		t.Errorf("what was in flight is not finished: %+v: %v", s, s.Verdict())
	}
}

func TestATickBeyondTheBoundIsMissedAndNotSent(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	fault(t, e, `{"mode":"hang"}`)
	c := settings(newNames(t, "127.0.0.1"), TCP, port(t, e.Addresses()["tcp"]))
	c.InFlight, c.Timeout = 5, 8*time.Second
	control := start(t, c)
	s := until(t, control, "ticks missed", func(s Stats) bool { return s.MissedTicks >= 20 })
	if s.Sent != 5 || s.InFlight != 5 {
		t.Errorf("got %+v", s)
	}
	fault(t, e, `{"mode":"none"}`)
	if s = stop(t, control); s.Verdict() == nil || s.Lost != 0 {
		t.Errorf("missed ticks pass for good: %+v", s)
	}
}

func TestATickThatComesLateIsMissed(t *testing.T) {
	t.Parallel()
	client, err := New(settings(newNames(t, "127.0.0.1"), TCP, unused(t)))
	if err != nil {
		t.Fatal(err)
	}
	client.tick(t.Context(), time.Now().Add(-late-time.Millisecond))
	if s := client.Stats(0); s.Sent != 0 || s.MissedTicks != 1 || s.MaxLag < 1001 {
		t.Errorf("got %+v", s)
	}
	client.tick(t.Context(), time.Now().Add(-late/2))
	client.running.Wait()
	if s := client.Stats(0); s.Sent != 1 || s.Lost != 1 || s.MissedTicks != 1 {
		t.Errorf("got %+v", s)
	}
}

// whims is a server that misbehaves at random and remembers what became of each connection.
type whims struct {
	mu     sync.Mutex
	random *rand.Rand
	did    map[Class]int64
}

func (w *whims) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	text, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	w.mu.Lock()
	whim := []Class{"", "", "", Reset, Body, Timeout}[w.random.IntN(6)]
	gentle, pause := w.random.IntN(2) == 0, time.Duration(w.random.IntN(30))*time.Millisecond
	w.did[whim]++
	w.mu.Unlock()
	time.Sleep(pause)
	switch whim {
	case "":
		_, _ = conn.Write([]byte("pod 192.0.2.1:1 " + text))
	case Body:
		_, _ = conn.Write([]byte("pod 192.0.2.1:1 not-" + text))
	case Timeout:
		_, _ = conn.Write([]byte("pod 192.0.2.1:1 "))
		_, _ = io.Copy(io.Discard, conn) // until the client gives up
	case Reset:
		if !gentle {
			cutOff(conn)
		}
	case DNS, Connect, Status:
	}
}

// Not parallel: a machine busy with other tests would time out what the server answered.
func TestEveryRequestIsCountedOnceAndUnderItsClass(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &whims{random: rand.New(rand.NewPCG(seed, 1)), did: map[Class]int64{}}
	s := newScript(t, w.serve)
	c := settings(newNames(t, "127.0.0.1"), TCP, port(t, s.Addr().String()))
	c.Timeout = 3 * time.Second
	control := start(t, c)
	until(t, control, "two hundred sent", func(s Stats) bool { return s.Sent >= 200 })
	last := stop(t, control)
	if last.InFlight != 0 || last.Sent != last.Answered+last.Lost || last.Sent != s.accepted.Load() || last.MissedTicks != 0 {
		t.Errorf("%d connections, sent %d, answered %d, %v", s.accepted.Load(), last.Sent, last.Answered, last.LostByClass)
	}
	if last.Answered != w.did[""] {
		t.Errorf("answered %d, the server %d", last.Answered, w.did[""])
	}
	for _, class := range []Class{Reset, Body, Timeout, DNS, Connect, Status} {
		if last.LostByClass[class] != w.did[class] {
			t.Errorf("%s %d, the server %d", class, last.LostByClass[class], w.did[class])
		}
	}
	a := last.PerAddress["127.0.0.1"]
	if a.Answered != last.Answered || a.Lost != last.Lost || int64(len(last.LostList)) != last.Lost {
		t.Errorf("the address has %+v, %d are told", a, len(last.LostList))
	}
}

func TestAWindowShowsTheShareOfEachAddress(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	p := port(t, e.Addresses()["http"])
	backend(t, EchoConfig{HTTP: at("127.0.0.2", p)})
	n := newNames(t, "127.0.0.1")
	control := start(t, settings(n, HTTP, p))
	until(t, control, "answered", func(s Stats) bool { return s.Answered >= 50 })
	n.point("127.0.0.2")
	until(t, control, "answered by the second", func(s Stats) bool { return s.PerAddress["127.0.0.2"].Answered >= 50 })
	s, err := control.Stats(30 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	first, second := s.PerAddress["127.0.0.1"], s.PerAddress["127.0.0.2"]
	if w := s.Window.PerAddress["127.0.0.2"]; s.Window.Seconds != 30 || w.Answered != second.Answered || w.Lost != second.Lost {
		t.Errorf("the window has %+v, all is %+v", s.Window, s.PerAddress)
	}
	share, ok := s.Window.Share("127.0.0.2")
	if want := float64(second.Answered+second.Lost) / float64(first.Answered+first.Lost+second.Answered+second.Lost); !ok || share != want {
		t.Errorf("share %v, want %v", share, want)
	}
	for _, last := range []time.Duration{500 * time.Millisecond, time.Hour, -time.Second} {
		if _, err := control.Stats(last); err == nil || !strings.Contains(err.Error(), "whole seconds") {
			t.Errorf("a window of %s: %v", last, err)
		}
	}
}

func TestAfterTheStopNothingIsSentAndNothingHeld(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	c := settings(newNames(t, "127.0.0.1"), HTTP, port(t, e.Addresses()["http"]))
	c.Held = 3
	control := start(t, c)
	until(t, control, "answered and held", func(s Stats) bool { return s.Answered > 5 && s.Held.Open == 3 })
	first := stop(t, control)
	if first.Held.Ended != 3 || first.Held.Open != 0 || first.Verdict() != nil {
		t.Errorf("got %+v: %v", first.Held, first.Verdict())
	}
	if err := control.Hold(1); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("holds after the stop: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	if again := stop(t, control); again.Sent != first.Sent || again.Held.Failed != 0 {
		t.Errorf("the last word was %+v, now %+v", first, again)
	}
}

func TestTheControlAPIRefusesNonsenseAndWritesNoNull(t *testing.T) {
	t.Parallel()
	e, _ := backend(t, anywhere())
	control := start(t, settings(newNames(t, "127.0.0.1"), UDP, port(t, e.Addresses()["udp"])))
	if err := control.Hold(0); err == nil {
		t.Error("holds none")
	}
	if err := control.Hold(1); err == nil || !strings.Contains(err.Error(), "held-kind") {
		t.Errorf("holds UDP: %v", err)
	}
	if _, err := control.EndHeld("shop"); err == nil {
		t.Error("ends what is no address")
	}
	text, err := http.Get(control.BaseURL + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(text.Body)
	_ = text.Body.Close()
	if err != nil || !strings.Contains(string(body), `"lostList":[]`) || strings.Contains(string(body), "null") {
		t.Errorf("lists that are empty: %s, %v", body, err)
	}
	res, err := http.Get(control.BaseURL + "/stop")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a GET stops the client: %d", res.StatusCode)
	}
	if _, err := (Control{BaseURL: "http://" + at("127.0.0.1", unused(t))}).Stats(0); err == nil {
		t.Error("nobody's counts are counts")
	}
}
