//go:build dns

package dns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// recursor is a resolver that clients ask.
type recursor struct {
	name, address string
}

// habits are what resolvers do beside obeying the TTL.
type habits struct {
	// minTTL in seconds keeps every answer at least that long.
	minTTL int
	// stale answers from what has expired, and asks then.
	stale bool
}

func startUnbound(t *testing.T, name, authority string, h habits) recursor {
	t.Helper()
	d := newDaemon(t)
	host, port, _ := strings.Cut(freeAddress(t), ":")
	stale := "no"
	if h.stale {
		stale = "yes"
	}
	d.write(t, "unbound.conf", fmt.Sprintf(`server:
    directory: %[1]q
    username: ""
    chroot: ""
    pidfile: ""
    use-syslog: no
    verbosity: 0
    num-threads: 1
    interface: %[2]s
    port: %[3]s
    do-ip6: no
    do-not-query-localhost: no
    module-config: "iterator"
    local-zone: "test." nodefault
    cache-min-ttl: %[4]d
    serve-expired: %[5]s
    outgoing-range: 64
    outgoing-port-avoid: "0-32767"
    msg-cache-size: 1m
    rrset-cache-size: 1m
remote-control:
    control-enable: no
stub-zone:
    name: %[6]s
    stub-addr: %[7]s
`, d.dir, host, port, h.minTTL, stale, apex, strings.Replace(authority, ":", "@", 1)))
	d.argv = []string{tool(t, "unbound", "unbound"), "-d", "-p", "-c", d.path("unbound.conf")}
	return answering(t, d, recursor{name, host + ":" + port})
}

// startResolvingBIND is a BIND 9 that forwards to the authority; stale: it answers from the expired at once.
func startResolvingBIND(t *testing.T, name, authority string, h habits) recursor {
	t.Helper()
	d := newDaemon(t)
	host, port, _ := strings.Cut(freeAddress(t), ":")
	stale := ""
	if h.stale {
		stale = "stale-cache-enable yes; stale-answer-enable yes; stale-answer-client-timeout 0; stale-answer-ttl 1; max-stale-ttl 3600;"
	}
	to, at, _ := strings.Cut(authority, ":")
	d.write(t, "named.conf", fmt.Sprintf(`options {
	directory %q; pid-file none; session-keyfile none; listen-on port %s { %s; }; listen-on-v6 { none; };
	recursion yes; allow-query { any; }; dnssec-validation no; empty-zones-enable no; min-cache-ttl %d; %s
};
controls { };
zone %q { type forward; forward only; forwarders { %s port %s; }; };
`, d.dir, port, host, h.minTTL, stale, apex, to, at))
	d.argv = []string{tool(t, "named", "bind9"), "-f", "-g", "-n", "1", "-c", d.path("named.conf")}
	return answering(t, d, recursor{name, host + ":" + port})
}

// answering waits until the resolver answers for the zone.
func answering(t *testing.T, d *daemon, r recursor) recursor {
	t.Helper()
	d.start(t)
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, err = r.lookup(t.Context(), "ns1."+apex); err == nil {
			return r
		}
	}
	t.Fatalf("%s does not answer: %v", r.name, err)
	return r
}

// lookup asks for the IPv4 addresses of name, once, and gives them in the answer's order.
func (r recursor) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	id := uint16(rand.UintN(1 << 16))
	question := dnsmessage.Question{Name: dnsmessage.MustNewName(name + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true}, Questions: []dnsmessage.Question{question}}
	packet, err := m.Pack()
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", r.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := c.Write(packet); err != nil {
		return nil, err
	}
	buffer := make([]byte, 4096)
	n, err := c.Read(buffer)
	if err != nil {
		return nil, err
	}
	return addressesOf(buffer[:n], id)
}

func addressesOf(packet []byte, id uint16) ([]netip.Addr, error) {
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil {
		return nil, err
	}
	if m.ID != id || m.RCode != dnsmessage.RCodeSuccess {
		return nil, fmt.Errorf("answered %s to question %d, wanted %d", m.RCode, m.ID, id)
	}
	var out []netip.Addr
	for _, rr := range m.Answers {
		if a, ok := rr.Body.(*dnsmessage.AResource); ok {
			out = append(out, netip.AddrFrom4(a.A))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no address in the answer")
	}
	return out, nil
}
