//go:build netns

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"offramp.dev/api/v1alpha1"
)

// The world of these tests: a client, a node and a server, each in a network namespace; the node translates addresses as
// kube-proxy does. The test runs on the node.
//
//	client 198.51.100.2 -- 198.51.100.1 node 10.0.2.1 -- 10.0.2.2 server
const (
	clientAddress = "198.51.100.2"
	serverAddress = "10.0.2.2"
	external      = "203.0.113.10"
	external6     = "2001:db8:ffff::10"
	echoPort      = 8080
)

var (
	webTuple  = Tuple{Address: netip.MustParseAddr(external), Port: 80, Protocol: tcp}
	web6Tuple = Tuple{Address: netip.MustParseAddr(external6), Port: 80, Protocol: tcp}
	dnsTuple  = Tuple{Address: netip.MustParseAddr(external), Port: 53, Protocol: udp}
	sctpTuple = Tuple{Address: netip.MustParseAddr(external), Port: 132, Protocol: sctp}
	// refusedTuple is served by nobody, silentTuple by somebody who does not answer.
	refusedTuple = Tuple{Address: netip.MustParseAddr(external), Port: 81, Protocol: tcp}
	silentTuple  = Tuple{Address: netip.MustParseAddr(external), Port: 82, Protocol: tcp}
	// goneTuple has no rule any more, and the node drops what is sent to it.
	goneTuple = Tuple{Address: netip.MustParseAddr("203.0.113.11"), Port: 80, Protocol: tcp}
)

// host is a network namespace beside the node's.
type host struct {
	t    *testing.T
	work chan func()
	tid  int
}

// newHost makes a namespace and keeps a thread in it.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, work: make(chan func())}
	ready := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so that it ends with the goroutine, and the namespace with it.
		runtime.LockOSThread()
		h.tid = unix.Gettid()
		ready <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range h.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatalf("unshare: %v", err)
	}
	t.Cleanup(func() { close(h.work) })
	return h
}

// do runs f in the namespace. f must not begin goroutines that open sockets.
func (h *host) do(f func()) {
	done := make(chan struct{})
	h.work <- func() { defer close(done); f() }
	<-done
}

// sh runs commands in the namespace: a child begins in that of the thread that makes it.
func (h *host) sh(script string) {
	h.t.Helper()
	var out []byte
	var err error
	h.do(func() { out, err = exec.Command("sh", "-ec", script).CombinedOutput() })
	if err != nil {
		h.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// run runs commands on the node.
func run(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// alone fails where the test would change the network of the machine.
func alone(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("these tests need root: run hack/test.sh agent as root")
	}
	if links, err := net.Interfaces(); err != nil || len(links) > 1 {
		t.Fatalf("these tests need a network namespace of their own: run hack/test.sh agent (%d interfaces, error %v)", len(links), err)
	}
}

type world struct {
	t              *testing.T
	client, server *host
}

// newWorld builds the world, and takes it down at the end of the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	alone(t)
	w := &world{t: t, client: newHost(t), server: newHost(t)}
	t.Cleanup(func() {
		run(t, "nft flush ruleset; conntrack -F 2>/dev/null; ip link del toclient 2>/dev/null || true; ip link del toserver 2>/dev/null || true")
	})
	run(t, "nft flush ruleset; ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
	w.link(w.client, "toclient", "198.51.100.1/24", clientAddress+"/24", "2001:db8:1::1/64", "2001:db8:1::2/64")
	w.link(w.server, "toserver", "10.0.2.1/24", serverAddress+"/24", "2001:db8:2::1/64", "2001:db8:2::2/64")
	w.proxy()
	w.server.sh("nft add table inet silent; nft 'add chain inet silent in { type filter hook input priority 0; }'; nft add rule inet silent in tcp dport 7 drop")
	w.server.serve(t)
	return w
}

func (w *world) link(h *host, name, ours, theirs, ours6, theirs6 string) {
	w.t.Helper()
	run(w.t, fmt.Sprintf(`ip link add %[1]s type veth peer name eth0 netns /proc/%[2]d/task/%[3]d/ns/net
ip addr add %[4]s dev %[1]s; ip addr add %[5]s dev %[1]s nodad; ip link set %[1]s up`, name, os.Getpid(), h.tid, ours, ours6))
	gateway, _, _ := strings.Cut(ours, "/")
	gateway6, _, _ := strings.Cut(ours6, "/")
	h.sh(fmt.Sprintf(`ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.eth0.accept_dad=0; ip addr add %s dev eth0; ip addr add %s dev eth0 nodad; ip link set eth0 up
ip route add default via %s; ip route add default via %s`, theirs, theirs6, gateway, gateway6))
}

// proxy writes rules as kube-proxy has them in mode nftables.
func (w *world) proxy() {
	w.t.Helper()
	run(w.t, fmt.Sprintf(`nft -f - <<X
table ip kube-proxy {
  chain nat-prerouting { type nat hook prerouting priority dstnat; jump services; }
  chain nat-output { type nat hook output priority -100; jump services; }
  chain services {
    ip daddr %[1]s tcp dport 82 dnat to %[2]s:7
    ip daddr %[1]s tcp dport 80 dnat to %[2]s:%[3]d
    ip daddr %[1]s udp dport 53 dnat to %[2]s:%[3]d
    ip daddr %[1]s tcp dport 81 dnat to %[2]s:9
  }
}
table ip6 kube-proxy {
  chain nat-prerouting { type nat hook prerouting priority dstnat; ip6 daddr %[4]s tcp dport 80 dnat to [2001:db8:2::2]:%[3]d; }
}
table inet test { chain black-hole { type filter hook forward priority 0; ip daddr { 203.0.113.10, 203.0.113.11 } drop; }; }
X`, external, serverAddress, echoPort, external6))
}

// serve answers what it is sent, over TCP and UDP.
func (h *host) serve(t *testing.T) {
	t.Helper()
	var err error
	var l net.Listener
	var p net.PacketConn
	h.do(func() {
		l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("[::]:%d", echoPort))
		if err == nil {
			p, err = (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", fmt.Sprintf("0.0.0.0:%d", echoPort))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = p.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(buffer[:n], from)
		}
	}()
}

// dial connects from the client, sends a word and waits for it to come back.
func (w *world) dial(t Tuple) net.Conn {
	w.t.Helper()
	c, err := w.try(t)
	if err != nil {
		w.t.Fatalf("no answer from %s: %v", t, err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	talk(w.t, c)
	return c
}

func (w *world) try(t Tuple) (c net.Conn, err error) {
	d := net.Dialer{Timeout: 300 * time.Millisecond}
	address := netip.AddrPortFrom(t.Address, uint16(t.Port)).String()
	w.client.do(func() { c, err = d.Dial(strings.ToLower(t.Protocol), address) })
	return c, err
}

func talk(t *testing.T, c net.Conn) {
	t.Helper()
	buffer := make([]byte, 5)
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buffer); err != nil {
		t.Fatal(err)
	}
}

// listen waits at an address of the node.
func (w *world) listen(network, address string) {
	w.t.Helper()
	var c io.Closer
	var err error
	if network == "udp" {
		c, err = (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", address)
	} else {
		c, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", address)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
}

// attachXDP loads a program that passes everything (r0 = 2; exit) and puts it on a device, in the generic mode.
const attachXDP = `import ctypes, platform, socket, struct, sys
code, text = ctypes.create_string_buffer(bytes.fromhex("b7000000020000009500000000000000"), 16), ctypes.create_string_buffer(b"GPL")
attr = struct.pack("IIQQIIQII", 6, 2, ctypes.addressof(code), ctypes.addressof(text), 0, 0, 0, 0, 0)
fd = ctypes.CDLL(None).syscall({"x86_64": 321, "aarch64": 280}[platform.machine()], 5, ctypes.create_string_buffer(attr, len(attr)), len(attr))
assert fd >= 0, "the program cannot be loaded"
xdp = struct.pack("HHiHHI", 8, 1, fd, 8, 3, 2)
body = struct.pack("BBHiII", 0, 0, 0, socket.if_nametoindex(sys.argv[1]), 0, 0) + struct.pack("HH", 4 + len(xdp), 43 | 0x8000) + xdp
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.send(struct.pack("IHHII", 16 + len(body), 19, 5, 0, 0) + body)
code = struct.unpack("i", s.recv(4096)[16:20])[0]
assert code == 0, "the program cannot be attached: %d" % code`

// attach puts an XDP program on a device of the node.
func attach(t *testing.T, device string) {
	t.Helper()
	if out, err := exec.Command("python3", "-c", attachXDP, device).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// abort ends a connection with a reset.
func abort(c net.Conn) {
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetLinger(0)
	}
	_ = c.Close()
}

// watcher is an agent without an API server, and with a clock that the test moves.
type watcher struct {
	t    *testing.T
	node *Node
	o    *Observer
	now  time.Time
	log  *lines
	set  map[Tuple]bool
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (w *world) watch(tuples ...Tuple) *watcher {
	w.t.Helper()
	log := &lines{}
	a := &watcher{
		t: w.t, node: &Node{Log: slog.New(slog.NewTextHandler(log, nil))}, o: NewObserver(Identity{Node: "n", BootID: "b", StaleAfter: 60}),
		now: time.Now().Truncate(time.Second), log: log, set: map[Tuple]bool{},
	}
	w.t.Cleanup(func() { _ = a.node.Close() })
	for _, t := range tuples {
		a.set[t] = true
	}
	return a
}

// sweep looks a minute later.
func (a *watcher) sweep() v1alpha1.ObservationStatus {
	a.t.Helper()
	// Events are on their way for a moment.
	time.Sleep(50 * time.Millisecond)
	a.now = a.now.Add(time.Minute)
	a.o.Sweep(a.now, "w", a.set, a.node.Read(a.set))
	return a.o.Status(a.now)
}

// read looks once, and is what a sweep would be given.
func (a *watcher) read() Reading {
	a.t.Helper()
	time.Sleep(50 * time.Millisecond)
	return a.node.Read(a.set)
}

func asText(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
