package probe_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"offramp.dev/probe"
)

func TestAddressesThatOnlyTheNodeOrTheCloudMayReachAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "169.254.169.254", "::ffff:169.254.169.254",
		"169.254.1.1", "fe80::1", "fe80::1%eth0", "2001:db8::1%eth0", "224.0.0.1", "ff02::1", "255.255.255.255",
		"100.100.100.200", "168.63.129.16", "fd00:ec2::254",
	} {
		for _, kind := range []probe.Kind{probe.TCP, probe.TLS, probe.HTTP} {
			c := probe.Check{Address: netip.MustParseAddr(address), Port: 80, Kind: kind, Timeout: time.Second}
			expect(t, probe.Dialer{}.Probe(t.Context(), c), probe.Inconclusive, "refused: ")
		}
	}
	expect(t, probe.Dialer{}.Probe(t.Context(), probe.Check{Kind: probe.TCP, Port: 80}), probe.Inconclusive, "refused: no address")
}

func TestAllowLoopbackAllowsNothingElse(t *testing.T) {
	t.Parallel()
	c := probe.Check{Address: netip.MustParseAddr("169.254.169.254"), Port: 80, Kind: probe.HTTP}
	expect(t, dialer.Probe(t.Context(), c), probe.Inconclusive, "refused: ")
}

func TestWhatTheCallerShouldHaveValidatedIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	addr := raw(t, func(conn net.Conn) { t.Error("a refused check was sent"); _ = conn.Close() })
	for name, change := range map[string]func(*probe.Check){
		"a host with a line break":  func(c *probe.Check) { c.Host = "a\r\nX-Evil: 1" },
		"a host with a port":        func(c *probe.Check) { c.Host = "a.example.test:80" },
		"a host in capitals":        func(c *probe.Check) { c.Host = "A.example.test" },
		"a host that is too long":   func(c *probe.Check) { c.Host = strings.Repeat("a.", 200) + "test" },
		"a path without a slash":    func(c *probe.Check) { c.Path = "http://elsewhere.example.test/" },
		"a path with a line break":  func(c *probe.Check) { c.Path = "/\r\nHost: evil" },
		"a path with a space":       func(c *probe.Check) { c.Path = "/a HTTP/1.0" },
		"a path with a bad escape":  func(c *probe.Check) { c.Path = "/%zz" },
		"a path with a fragment":    func(c *probe.Check) { c.Path = "/#a" },
		"a path that is too long":   func(c *probe.Check) { c.Path = "/" + strings.Repeat("a", 2000) },
		"port 0":                    func(c *probe.Check) { c.Port = 0 },
		"a kind that nobody knows":  func(c *probe.Check) { c.Kind = "GOPHER" },
		"a kind that was not given": func(c *probe.Check) { c.Kind = "" },
	} {
		c := at(t, addr, probe.HTTP)
		change(&c)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, dialer.Probe(t.Context(), c), probe.Inconclusive, "refused: ")
		})
	}
}

// FuzzForbiddenAddressesStayForbidden: whatever Host and Path hold, nothing panics and nothing is sent.
func FuzzForbiddenAddressesStayForbidden(f *testing.F) {
	f.Add("a.example.test", "/", "203.0.113.1")
	f.Add("a\r\n", "/%zz", "::1")
	f.Add("", "//x", "fe80::1%a")
	f.Fuzz(func(t *testing.T, host, path, address string) {
		a, err := netip.ParseAddr(address)
		forbidden := a.Unmap().IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast()
		if err != nil || !forbidden {
			return
		}
		got := probe.Dialer{}.Probe(t.Context(), probe.Check{Address: a, Port: 9, Kind: probe.HTTP, Host: host, Path: path})
		if got.Outcome != probe.Inconclusive || !strings.HasPrefix(got.Detail, "refused: ") {
			t.Errorf("%s was not refused: %s %q", address, got.Outcome, got.Detail)
		}
	})
}
