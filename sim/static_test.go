package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// The manifests of an implementation that serves every Gateway on one Service that an admin made.
const (
	staticAddress = "198.19.0.5"
	staticWorld   = `
apiVersion: offramp.dev/v1alpha1
kind: MigrationPolicy
metadata: {name: default}
spec:
  namespaces: [shop]
  gateway:
    className: traefik
    namespace: gateways
    profile: StaticService
    tcpRoutes: true
    staticService: {namespace: traefik, name: traefik}
  pools: [pool]
  zones: [example.com]
  soakSeconds: 120
  dns: {soakSeconds: 60}
  drain: {attraction: Static, windowSeconds: 300}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: traefik}
spec: {controllerName: traefik.io/gateway-controller}
---
apiVersion: v1
kind: Service
metadata:
  namespace: traefik
  name: traefik
  annotations: {metallb.io/loadBalancerIPs: 198.19.0.5}
spec:
  type: LoadBalancer
  selector: {app: traefik}
  ports: [{name: web, port: 80}, {name: mqtt, port: 1883}]
status: {loadBalancer: {ingress: [{ip: 198.19.0.5}]}}
`
	brokerService = `
apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: mqtt
  annotations: {offramp.dev/policy: default, offramp.dev/hostnames: mqtt.example.com}
spec:
  selector: {app: mqtt}
  externalIPs: [203.0.113.11]
  ports: [{name: mqtt, port: 1883}]
`
)

// static are the world of a static Service, and its tenants.
func static(t *testing.T, services ...string) []runtime.Object {
	t.Helper()
	return manifests(t, append([]string{staticWorld}, services...)...)
}

// webs are n HTTP Services; the first turns back at a gate, if one is given.
func webs(n int, back string) []string {
	var out []string
	for i := range n {
		s := strings.ReplaceAll(httpService, "web", fmt.Sprintf("web%02d", i))
		s = strings.Replace(s, "203.0.113.10", fmt.Sprintf("203.0.113.%d", 20+i), 1)
		if i == 0 && back != "" {
			s = strings.Replace(s, "annotations: {", "annotations: {"+AnnotationRollbackAt+": "+back+", ", 1)
		}
		out = append(out, s)
	}
	return out
}

// sharers are the entry points that hold the static Service's address, by the name of their Service.
func (w *world) sharers(t *testing.T) []string {
	t.Helper()
	row, ok := w.server.store.cache.objects[claimKind][nameKey(staticAddress)].(*v1alpha1.AddressClaim)
	if !ok {
		return nil
	}
	if got := row.Labels[v1alpha1.LabelEntryPoint]; !strings.HasPrefix(got, row.Spec.EntryPoint) {
		t.Errorf("the row of %s carries the label %s", row.Spec.EntryPoint, got)
	}
	var out []string
	for _, name := range addresspool.EntryPoints(&row.Spec) {
		out = append(out, strings.Split(name, "-")[1])
	}
	return slices.Sorted(slices.Values(out))
}

// outcomes of a report by the name of the Service, with the requests that were lost.
func outcomes(t *testing.T, r *Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range r.EntryPoints {
		if e.Requests.Lost != 0 || e.Requests.Sent == 0 {
			t.Errorf("%s: %d of %d requests lost", e.Name, e.Requests.Lost, e.Requests.Sent)
		}
		out[strings.Split(e.Name, "-")[1]] = e.Outcome
		if e.Outcome != Released && e.Outcome != Undone {
			t.Logf("%s: %s (%s)", e.Name, e.Outcome, e.Why)
		}
	}
	return out
}

func TestEntryPointsMoveToOneStaticServiceTogether(t *testing.T) {
	t.Parallel()
	for name, services := range map[string][]string{
		"mqtt web00": append(webs(1, ""), brokerService), "mqtt web00 web01": append(webs(2, ""), brokerService), "web00 web01 web02": webs(3, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := walkThrough(t, Options{Objects: static(t, services...)})
			for name, outcome := range outcomes(t, r) {
				if outcome != Released {
					t.Errorf("%s: %s", name, outcome)
				}
			}
			if got := strings.Join(w.sharers(t), " "); got != name {
				t.Errorf("%s is shared by %s", staticAddress, got)
			}
			params, ok := w.server.store.cache.objects[configMapKind][paramsKey].(*corev1.ConfigMap)
			if !ok || params.Data[staticAddress] != "traefik/traefik" {
				t.Errorf("the guard lets %v carry the address, want the static Service alone", params)
			}
		})
	}
}

func TestEntryPointsThatShareAnAddressGoBackTogetherAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"Claimed", "Proven", "Shifted", "Released", "TTLRestored"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w, r := walkThrough(t, Options{Objects: static(t, append(webs(2, ""), brokerService)...), RollbackAt: at})
			for name, outcome := range outcomes(t, r) {
				if outcome != Undone {
					t.Errorf("%s: %s", name, outcome)
				}
			}
			isAsBefore(t, w)
		})
	}
}

func TestOneGoesBackFromEveryGateWhileTheOthersServe(t *testing.T) {
	t.Parallel()
	for _, at := range append(forwardGates(), "Shifted@50") {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			w, r := walkThrough(t, Options{Objects: static(t, append(webs(2, string(at)), brokerService)...)})
			got := outcomes(t, r)
			if got["web00"] != Undone || got["web01"] != Released || got["mqtt"] != Released {
				t.Errorf("outcomes %v", got)
			}
			if got := w.sharers(t); !slices.Equal(got, []string{"mqtt", "web01"}) {
				t.Errorf("%s is shared by %v", staticAddress, got)
			}
		})
	}
}

func TestATCPPortOfTheStaticServiceIsOneEntryPointsAlone(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("mqtt.example", "mqtt2.example", "name: mqtt\n", "name: mqttb\n", "113.11", "113.12").Replace(brokerService)
	w, r := walkThrough(t, Options{Objects: static(t, brokerService, second)})
	got := outcomes(t, r)
	if got["mqtt"] == got["mqttb"] || got["mqtt"] != Released && got["mqttb"] != Released {
		t.Fatalf("outcomes %v, want one that is released and one that is not", got)
	}
	if got := w.sharers(t); len(got) != 1 {
		t.Errorf("%s is shared by %v", staticAddress, got)
	}
	for _, e := range r.EntryPoints {
		if e.Outcome != Released && !strings.Contains(e.Why, "ort TCP/1883 on shared address "+staticAddress+" belongs to entry point shop-mqtt") {
			t.Errorf("%s says: %s", e.Name, e.Why)
		}
	}
}

func TestAnAbortKeepsTheShare(t *testing.T) {
	t.Parallel()
	w, r := walkThrough(t, Options{Objects: static(t, webs(2, "")...), Fault: "path-fails-at-50"})
	aborted := 0
	for _, e := range r.EntryPoints {
		if e.Outcome == Held && strings.Contains(e.Why, "Aborted") {
			aborted++
		}
		if got := w.entryPoint(t, e.Name).Status.SharePercent; got != 0 && e.Outcome != Released {
			t.Errorf("%s: share %d at the end, %s (%s)", e.Name, got, e.Outcome, e.Why)
		}
	}
	if got := w.sharers(t); aborted == 0 || !slices.Equal(got, []string{"web00", "web01"}) {
		t.Errorf("%d aborted, %s is shared by %v, want both", aborted, staticAddress, got)
	}
}

func TestTheControllerMayDieAtEveryWriteOfEntryPointsThatShare(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"both come and go": "Claimed", "both come and one goes": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := webs(2, "Claimed")
			clean, _ := walkThrough(t, Options{Objects: static(t, services...), RollbackAt: at})
			want := clean.leftovers()
			for n := 1; n <= min(clean.kill.done, 24); n++ {
				for _, fault := range []string{faultKilledBefore, faultKilledAfter} {
					fault = fmt.Sprintf("%s=%d", fault, n)
					t.Run(fault, func(t *testing.T) {
						t.Parallel()
						w, _ := walkThrough(t, Options{Objects: static(t, services...), RollbackAt: at, Fault: fault})
						if got := w.leftovers(); got != want || w.kill.kills != 1 {
							t.Errorf("killed %d times, the world ends as\n%s\nwant\n%s", w.kill.kills, got, want)
						}
					})
				}
			}
		})
	}
}
