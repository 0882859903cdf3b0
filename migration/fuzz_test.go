package migration

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// FuzzMakePlan makes plans of Services, names and hints as a hostile tenant may write them.
func FuzzMakePlan(f *testing.F) {
	for _, spec := range []string{
		`{"externalIPs":["203.0.113.10"],"ports":[{"port":80,"appProtocol":"http"}],"selector":{"app":"web"}}`,
		`{"externalIPs":["010.0.0.5","::ffff:192.0.2.1","[a b]","fe80::1%eth0",""],"ports":[{"port":0}]}`,
		`{"type":"ExternalName","externalName":"a.b","externalIPs":["2001:DB8::1"],"ports":[{"port":65535,"protocol":"SCTP"}]}`,
		`{"clusterIP":"None","externalIPs":["203.0.113.10","203.0.113.10"],"ports":[{"port":80},{"port":80,"protocol":"UDP"},{"port":80}]}`,
		`{"type":"LoadBalancer","loadBalancerClass":"offramp.dev/adopted","externalIPs":["::"],"ports":[{"port":443,"appProtocol":"https"}]}`,
		`{"externalIPs":["255.255.255.255"],"ports":[{"port":-1,"nodePort":-1,"name":"..","targetPort":"x"}],"selector":{"":""}}`,
		`null`,
	} {
		for _, strategy := range []string{"Gateway", "LoadBalancer", "Adopt", "None", "?"} {
			f.Add([]byte(spec), strategy, "shop", "web", "www.example.com", "203.0.113.10")
		}
	}
	f.Add([]byte(`{"externalIPs":["2001:db8::1"],"ports":[{"port":53}]}`), "LoadBalancer", "../x", "\x00", "*.\xff", "2001:db8::1")
	f.Fuzz(func(t *testing.T, spec []byte, strategy, namespace, svcName, host, answer string) {
		svc := member(svcName, nil)
		svc.Namespace = namespace
		if json.Unmarshal(spec, &svc.Spec) != nil {
			return
		}
		in := planInput(func(in *PlanInput) {
			in.Strategy, in.Services = v1alpha1.Strategy(strategy), []*corev1.Service{svc}
			in.EntryPoint.Spec.Members, in.Policy.Spec.Namespaces = nil, []string{namespace}
			in.Names = []dnsctl.Name{hostileName(host, answer)}
		})
		kept := svc.DeepCopy()
		checkFuzzed(t, in)
		if !reflect.DeepEqual(svc, kept) {
			t.Error("the Service was changed")
		}
		checkFuzzedPatches(svc)
	})
}

func hostileName(host, answer string) dnsctl.Name {
	n := dnsctl.Name{Name: host, Zone: "example"}
	n.Snapshot.A.TTL = 60
	if err := json.Unmarshal([]byte(`["`+answer+`"]`), &n.Snapshot.A.Addresses); err != nil {
		n.Snapshot.A.Addresses = nil
	}
	return n
}

func checkFuzzed(t *testing.T, in PlanInput) {
	t.Helper()
	plan, findings := MakePlan(in)
	for _, f := range findings {
		if f.Reason == "" || f.Object == "" || f.Message == "" || f.Fix == "" {
			t.Errorf("a finding without a way out: %+v", f)
		}
	}
	if plan == nil {
		if len(findings) == 0 {
			t.Fatal("neither plan nor finding")
		}
		return
	}
	again, _ := MakePlan(in)
	if HashPlan(plan) == "" || HashPlan(plan) != HashPlan(again) {
		t.Fatalf("hashes %q and %q", HashPlan(plan), HashPlan(again))
	}
	if len(plan.Checks) == 0 || len(plan.Claims) == 0 || len(plan.NewAddresses) == 0 {
		t.Fatalf("a plan without checks, claims or addresses: %+v", plan)
	}
	checkStored(t, plan)
}

// checkFuzzedPatches looks only for panics: what a patch does is judged against the emulated API server.
func checkFuzzedPatches(svc *corev1.Service) {
	snap := TakeSnapshot([]*corev1.Service{svc}, nil, time.Unix(0, 0))
	plan := adoptionOf(svc)
	for _, live := range []*corev1.Service{svc, Before(svc, snap)} {
		ReleasePatch(live, "r", 1)
		RestorePatch(live, snap.Services[0])
		AdoptPatch(live, plan)
		UnadoptPatch(live, snap.Services[0])
		AdoptStatus(live, plan)
		Adopted(live, plan)
		ReleasedBy(live)
	}
}
