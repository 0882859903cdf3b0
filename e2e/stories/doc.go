// Package stories walks real Services off their external IPs on a real kind cluster, with a client outside the cluster
// that never stops sending. Its tests have the build tag e2e and need the cluster of hack/kind/cluster.sh: make e2e.
package stories
