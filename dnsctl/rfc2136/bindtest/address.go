package bindtest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Servers of tests listen at ports that no query leaves from by chance: below those that the kernel gives away, which BIND
// takes too.
const (
	firstPort = 10000
	ports     = 20000
)

// places counts the ports that this process has tried.
var places atomic.Uint32

// FreeAddress is a host:port of the loopback, for UDP and TCP, that no other server of this process or of another test has
// or was given. A port that the kernel calls free is so only until somebody's query leaves from it.
func FreeAddress() (string, error) {
	var last error
	for range 1000 {
		port := strconv.Itoa(portAt(os.Getpid(), places.Add(1)))
		if last = reserve(port); last == nil {
			return net.JoinHostPort("127.0.0.1", port), nil
		}
	}
	return "", fmt.Errorf("no port from %d to %d of the loopback is free for TCP and UDP: %w", firstPort, firstPort+ports-1, last)
}

// portAt is the nth port of a process. Processes begin far from each other.
func portAt(pid int, n uint32) int { return firstPort + (pid*4001+int(n))%ports }

// reserve tells other processes that the port is taken, by a socket at another address of the loopback that is open until
// this process ends, and looks whether anybody listens at it already.
func reserve(port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.1.0.1", port))
	if err != nil {
		return err
	}
	if err := free(net.JoinHostPort("127.0.0.1", port)); err != nil {
		_ = l.Close()
		return err
	}
	return nil
}

// free tells whether nobody listens there.
func free(at string) error {
	tcp, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	defer func() { _ = tcp.Close() }()
	udp, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	return udp.Close()
}
