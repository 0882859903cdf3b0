// Package api is the API ring: a real kube-apiserver and etcd, a real BIND 9, the controller as its own process under
// its real RBAC, and an emulated data plane (Gateway implementation, load balancer, node agent, old path), named as
// emulation. `make test-api` runs it in a network namespace of its own, where documentation addresses lie on loopback.
package api
