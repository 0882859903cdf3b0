// Package gatewaydouble is a small implementation of the Gateway API for the kind end-to-end suite: a test double, not for
// production. It stands for the implementations that provision one Service per Gateway and copy spec.infrastructure onto
// it (Envoy Gateway, NGINX Gateway Fabric, Istio, Contour, kgateway), beside a real one that does not. On demand it
// misbehaves as released ones did: see Mode.
//
// It serves HTTPRoute (hostnames, exact and prefix paths) and TCPRoute, both v1: Gateway API 1.6 or later. A route that
// asks for more is not accepted, so that nothing is silently left out. It serves Gateways of its own namespace only,
// because the Services that it makes select its own Pods.
//
// Every replica programs its own data plane from the API; one, the leader, writes Services and statuses.
package gatewaydouble
