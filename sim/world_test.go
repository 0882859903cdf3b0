package sim

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"offramp.dev/api/v1alpha1"
)

// The manifests of the tests: a policy with short waits, and Services by kind of walk.
const (
	shortPolicy = `
apiVersion: offramp.dev/v1alpha1
kind: MigrationPolicy
metadata: {name: default}
spec:
  namespaces: [shop]
  gateway: {className: envoy, namespace: gateways}
  pools: [pool]
  zones: [example.com]
  soakSeconds: 120
  dns: {soakSeconds: 60}
  drain: {attraction: Static, windowSeconds: 300}
`
	httpService = `
apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: web
  annotations: {offramp.dev/policy: default, offramp.dev/hostnames: web.example.com}
spec:
  selector: {app: web}
  externalIPs: [203.0.113.10]
  ports: [{name: http, port: 80, appProtocol: http}]
`
	localService = `
apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: mqtt
  annotations: {offramp.dev/policy: default, offramp.dev/hostnames: mqtt.example.com}
spec:
  externalTrafficPolicy: Local
  selector: {app: mqtt}
  externalIPs: [203.0.113.11]
  ports: [{name: mqtt, port: 1883}]
`
	keptService = `
apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: printer
  annotations: {offramp.dev/policy: default}
spec:
  externalTrafficPolicy: Local
  selector: {app: printer}
  externalIPs: [198.18.0.11]
  ports: [{name: ipp, port: 631}]
`
)

// manifests decodes documents.
func manifests(t *testing.T, docs ...string) []runtime.Object {
	t.Helper()
	out, err := decodeAll([]byte(strings.Join(docs, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// many are n HTTP entry points.
func many(t *testing.T, n int) []runtime.Object {
	t.Helper()
	docs := []string{shortPolicy}
	for i := range n {
		s := strings.ReplaceAll(httpService, "web", fmt.Sprintf("web%02d", i))
		docs = append(docs, strings.Replace(s, "203.0.113.10", fmt.Sprintf("203.0.113.%d", 10+i), 1))
	}
	return manifests(t, docs...)
}

// walkThrough runs a rehearsal and gives the world as well, for what a report does not say.
func walkThrough(t *testing.T, o Options) (*world, *Report) {
	t.Helper()
	f, err := parseFault(o.Fault)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rehearse(t.Context(), o, f)
	if err != nil {
		t.Fatal(err)
	}
	return w, w.report()
}

// only is the single entry point of a report.
func only(t *testing.T, r *Report) EntryPointReport {
	t.Helper()
	if len(r.EntryPoints) != 1 {
		t.Fatalf("%d entry points, want one: %+v", len(r.EntryPoints), r.EntryPoints)
	}
	return r.EntryPoints[0]
}

// entryPoint reads a stored entry point.
func (w *world) entryPoint(t *testing.T, name string) *v1alpha1.EntryPoint {
	t.Helper()
	ep, ok := w.server.store.cache.objects[entryPointKind][nameKey(name)].(*v1alpha1.EntryPoint)
	if !ok {
		t.Fatalf("EntryPoint %s is gone", name)
	}
	return ep
}
