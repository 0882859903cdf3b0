package plane

import (
	"net/netip"
	"strings"
)

// Kind is what a port speaks.
type Kind string

// Kinds of ports.
const (
	HTTP Kind = "HTTP"
	TCP  Kind = "TCP"
)

// Table says what every port of this process serves, by port number.
type Table map[uint16]Port

// Port is one port. HTTP has a listener for each hostname, TCP has one.
type Port struct {
	Kind      Kind
	Listeners []Listener
}

// Listener has the rules for the hosts that its hostname covers, the first to be asked first. An HTTP request that the
// most specific listener has no rule for is not found: no other listener is asked (Gateway API, listener isolation).
type Listener struct {
	Hostname string
	Rules    []Rule
}

// Rule sends what it matches to its backends, by weight. TCP looks at the backends only.
type Rule struct {
	Hostname string
	Path     Path
	Backends []Backend
}

// Path matches a path or, unless it is Exact, everything below it too. Empty, it matches every path.
type Path struct {
	Value string
	Exact bool
}

// Backend is one of a rule's targets. What falls to one that is Broken, or has no endpoint, is refused: it never falls to
// the others (HTTPRoute and TCPRoute, backendRefs).
type Backend struct {
	Weight    int32
	Broken    bool
	Endpoints []netip.AddrPort
}

// Covers reports whether a hostname, "*.parent" or "" for every host covers a host.
func Covers(hostname, host string) bool {
	suffix, wildcard := strings.CutPrefix(hostname, "*")
	switch {
	case hostname == "":
		return true
	case wildcard:
		return len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	default:
		return hostname == host
	}
}

// Specificity orders hostnames: a full one before every wildcard, a longer wildcard before a shorter one, "" last.
func Specificity(hostname string) int {
	const longest = 253 // RFC 1035, without the dot at the end
	if strings.HasPrefix(hostname, "*") || hostname == "" {
		return len(hostname)
	}
	return longest + 1 + len(hostname)
}

// matches reports whether a path is this one or stands below it, by whole segments.
func (p Path) matches(path string) bool {
	if p.Exact {
		return path == p.Value
	}
	prefix := strings.TrimSuffix(p.Value, "/")
	rest, found := strings.CutPrefix(path, prefix)
	return found && (rest == "" || rest[0] == '/')
}
