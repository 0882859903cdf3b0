// Package plane is the data plane of the end-to-end suite's Gateway double: HTTP by host and path, WebSockets, and plain
// TCP, on ports that a Table names. It knows nothing of Kubernetes. A test double, not for production: no TLS, no limits,
// no metrics.
//
// A connection survives every change of the table while its port stays in it. When its port goes, it is cut at once: real
// implementations drain for a while, and whatever moves traffic away in time does not see the difference.
package plane
