package bindtest

import (
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

func TestEveryServerHasAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	var (
		given sync.Map
		group sync.WaitGroup
	)
	for range 200 {
		group.Go(func() {
			at, err := FreeAddress()
			if _, twice := given.LoadOrStore(at, true); twice || err != nil {
				t.Errorf("%q was given twice, or not at all: %v", at, err)
			}
		})
	}
	group.Wait()
}

func TestAnAddressThatWasGivenIsNotGivenAgainBeforeItsServerListens(t *testing.T) {
	t.Parallel()
	at, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(at)
	if free(at) != nil || reserve(port) == nil {
		t.Errorf("another process may have %s too, though nobody listens there yet", at)
	}
}

func TestAnAddressWhereSomebodyListensIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "udp"} {
		l, at := taken(t, network)
		if _, port, _ := net.SplitHostPort(at); reserve(port) == nil {
			t.Errorf("%s is free, and somebody listens there for %s", at, network)
		}
		_ = l.Close()
	}
}

func TestNoPortIsOneThatAKernelGivesAway(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{1, 32767, 4194303} {
		for n := range uint32(ports) {
			if p := portAt(pid, n); p < 1024 || p >= 32768 {
				t.Fatalf("process %d gets port %d", pid, p)
			}
		}
	}
}

// taken listens somewhere.
func taken(t *testing.T, network string) (l io.Closer, at string) {
	t.Helper()
	var err error
	for n := range uint32(100) {
		at = net.JoinHostPort("127.0.0.1", strconv.Itoa(portAt(1, n)))
		if network == "tcp" {
			l, err = net.Listen("tcp", at)
		} else {
			l, err = net.ListenPacket("udp", at)
		}
		if err == nil {
			return l, at
		}
	}
	t.Fatalf("nothing is free: %v", err)
	return nil, ""
}
