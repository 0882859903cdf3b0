package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"offramp.dev/e2e/traffic"
)

// silent is the address of a UDP socket on loopback that answers nothing.
func silent(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// eventually polls, for what starts in another goroutine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTheClientsLastWordIsItsCountsOnStandardOutput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	control := free(t)
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, strings.Fields("client --name shop.example.test --port 80 --kind udp --rate 200 --control "+control+" --resolver "+silent(t)), &out)
	}()
	c := traffic.Control{BaseURL: "http://" + control}
	eventually(t, "requests in flight", func() bool { s, err := c.Stats(0); return err == nil && s.InFlight > 10 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var s traffic.Stats
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	if s.Lost == 0 || s.Lost != s.Sent || s.LostByClass[traffic.DNS] != s.Lost {
		t.Errorf("a resolver that never answers: %+v", s)
	}
}

func TestAStopOverTheControlAPIIsAnsweredAndEndsTheProgram(t *testing.T) {
	t.Parallel()
	control := free(t)
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- run(context.Background(), strings.Fields("client --name shop.example.test --port 80 --kind tcp --rate 20 --control "+control+" --resolver "+free(t)), &out)
	}()
	c := traffic.Control{BaseURL: "http://" + control}
	eventually(t, "requests", func() bool { s, err := c.Stats(0); return err == nil && s.Sent > 2 })
	last, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var s traffic.Stats
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.Sent != last.Sent || s.Lost != last.Lost {
		t.Errorf("answered %+v, said %s (%v)", last, out.Bytes(), err)
	}
}

func TestTheBackendServesWhatItsFlagsSay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address := free(t)
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"echo", "--http", address, "--linger", "0s"}, nil) }()
	var reply traffic.Reply
	eventually(t, "an answer", func() bool {
		res, err := http.Get("http://" + address + "/a/path")
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		return json.NewDecoder(res.Body).Decode(&reply) == nil
	})
	if reply.Pod == "" || reply.Path != "/a/path" || reply.Host != address || !strings.HasPrefix(reply.Client, "127.0.0.1:") {
		t.Errorf("got %+v", reply)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestACommandLineThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "serve", "echo extra", "echo --http nowhere", "client", "client --port 70000",
		"client --name shop.example.test --port 80 --kind http --resolver 127.0.0.1:53 --control nowhere",
	} {
		if err := run(t.Context(), strings.Fields(line), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
