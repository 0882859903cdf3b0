// Package dns is the ring of the name servers: BIND 9, Knot DNS and PowerDNS as primaries, unbound and BIND 9 as resolvers,
// all of them real, on the loopback. A walk of names is driven through the gate table of package migration and the port of
// package dnsctl, as the controller does it; everything that is no name (objects, probes, connections) is taken to be good.
//
// `make test-dns` runs it, in a network namespace of its own where that is possible.
package dns
