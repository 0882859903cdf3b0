package plane

import (
	"cmp"
	"net"
	"slices"
	"strings"
)

// routing is a Port made ready: listeners by specificity, each rule with its balancer.
type routing struct{ listeners []routedListener }

type routedListener struct {
	hostname string
	rules    []routedRule
}

type routedRule struct {
	Rule

	balancer *balancer
}

func newRouting(p Port) *routing {
	r := &routing{}
	for _, l := range p.Listeners {
		routed := routedListener{hostname: l.Hostname}
		for _, rule := range l.Rules {
			routed.rules = append(routed.rules, routedRule{rule, newBalancer(rule.Backends)})
		}
		r.listeners = append(r.listeners, routed)
	}
	slices.SortStableFunc(r.listeners, func(a, b routedListener) int {
		return cmp.Compare(Specificity(b.hostname), Specificity(a.hostname))
	})
	return r
}

// http finds the rule for a request, or nil.
func (r *routing) http(host, path string) *balancer {
	host = canonicalHost(host)
	at := slices.IndexFunc(r.listeners, func(l routedListener) bool { return Covers(l.hostname, host) })
	if at < 0 {
		return nil
	}
	for _, rule := range r.listeners[at].rules {
		if Covers(rule.Hostname, host) && rule.Path.matches(path) {
			return rule.balancer
		}
	}
	return nil
}

// tcp is the one rule of a TCP port, or nil.
func (r *routing) tcp() *balancer {
	for _, l := range r.listeners {
		for _, rule := range l.rules {
			return rule.balancer
		}
	}
	return nil
}

// canonicalHost is a Host header without its port, in lower case, without the root's dot.
func canonicalHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
