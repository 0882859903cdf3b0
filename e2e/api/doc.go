// Package api is the API ring: a real kube-apiserver and etcd, a real BIND 9, the controller as its own process under
// its real RBAC, the node agent under its real RBAC on an emulated kernel, and an emulated data plane (Gateway
// implementation, load balancer, old path), named as emulation. `make test-api` runs it in a network namespace of its own, where documentation addresses lie on loopback.
package api
