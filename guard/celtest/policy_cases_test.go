package celtest

import (
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	create  = admission.Create
	update  = admission.Update
	destroy = admission.Delete
)

// claimedCases are about claimed addresses.
func claimedCases() map[string]policyCase {
	on := func(op admission.Operation, old, object, want string) policyCase {
		return policyCase{policy: "claimed-addresses", user: admin, operation: op, old: old, object: object, want: want}
	}
	plain := service("own", "") + ", spec: {ports: [{port: 80}]}}"
	ips := func(name, list string) string {
		return service(name, "") + ", spec: {externalIPs: [" + list + "], ports: [{port: 80, protocol: TCP}]}}"
	}
	lb := func(name, annotation, spec string) string {
		return service(name, ", annotations: {"+annotation+"}") + ", spec: {type: LoadBalancer" + spec + "}}"
	}
	status := func(name, addresses string) string {
		return service(name, "") + ", spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [" + addresses + "]}}}"
	}
	st := func(old, object, want string) policyCase {
		return policyCase{policy: "claimed-ingress", subresource: "status", user: cloud, operation: update, old: old, object: object, want: want}
	}
	noParams := on(create, "", ips("other", "203.0.113.10"), "")
	noParams.noParams = true
	ctl := on(update, ips("web", "203.0.113.10"), strings.Replace(ips("web", "203.0.113.10"), "port: 80", "port: 81", 1), "")
	ctl.user = controller
	return map[string]policyCase{
		"an ordinary Service is passed by":                       on(create, "", plain, "-"),
		"a label on a Service with addresses is passed by":       on(update, ips("own", "198.51.100.1"), strings.Replace(ips("own", "198.51.100.1"), "shop", "shop, labels: {a: b}", 1), "-"),
		"an address that nobody claims is let in":                on(create, "", ips("own", "198.51.100.1"), ""),
		"a claimed address is denied to everybody, admins too":   on(create, "", ips("other", "203.0.113.10"), "address 203.0.113.10 is claimed, and Service shop/other is no holder"),
		"the canary is denied":                                   on(create, "", ips("canary", "192.0.0.8"), "192.0.0.8 is claimed"),
		"a holder may put its address back":                      on(update, plain, ips("web", "203.0.113.10"), ""),
		"a holder is a whole name, not a part of one":            on(create, "", ips("we", "203.0.113.10"), "is no holder"),
		"any Service of a held namespace may carry it":           on(create, "", strings.Replace(ips("gw", `"2001:db8::50"`), "shop", "edge", 1), ""),
		"another spelling is the same address":                   on(create, "", ips("other", `"2001:DB8:0::50"`), "address 2001:db8::50 is claimed"),
		"a padded name is found":                                 on(create, "", ips("other", `"2001:db8::"`), "address 2001:db8:: is claimed"),
		"a mapped address could be a claimed one":                on(create, "", ips("other", `"::ffff:203.0.113.10"`), "cannot be read"),
		"a leading zero could hide a claimed one":                on(create, "", ips("other", "203.0.113.010"), "cannot be read"),
		"what was there before stays":                            on(update, ips("other", "203.0.113.10"), ips("other", `203.0.113.10, "198.51.100.1"`), ""),
		"removal passes":                                         on(update, ips("other", "203.0.113.10"), plain, "-"),
		"a new port beside a claimed address is denied":          on(update, ips("web", "203.0.113.10"), strings.Replace(ips("web", "203.0.113.10"), "port: 80", "port: 22", 1), "new port(s) TCP/22 on claimed address 203.0.113.10"),
		"the same port of another protocol is a new port":        on(update, ips("web", "203.0.113.10"), strings.Replace(ips("web", "203.0.113.10"), "TCP", "UDP", 1), "new port(s) UDP/80"),
		"Offramp itself may change ports":                        ctl,
		"loadBalancerIP is an address":                           on(create, "", lb("other", "", ", loadBalancerIP: 203.0.113.10"), "is claimed"),
		"MetalLB's annotation is an address":                     on(create, "", lb("other", `"metallb.io/loadBalancerIPs": "198.51.100.9, 203.0.113.10"`, ""), "is claimed"),
		"MetalLB's old annotation is an address":                 on(create, "", lb("other", `"metallb.universe.tf/loadBalancerIPs": "203.0.113.10"`, ""), "is claimed"),
		"a load balancer without an address is let in":           on(create, "", lb("other", "", ""), ""),
		"the annotation on a ClusterIP Service means nothing":    on(create, "", service("other", `, annotations: {"metallb.io/loadBalancerIPs": "203.0.113.10"}`)+", spec: {}}", "-"),
		"it means something once the type says so":               on(update, service("other", `, annotations: {"metallb.io/loadBalancerIPs": "203.0.113.10"}`)+", spec: {type: ClusterIP}}", lb("other", `"metallb.io/loadBalancerIPs": "203.0.113.10"`, ""), "is claimed"),
		"a headless Service with the address means nothing":      on(create, "", strings.Replace(ips("other", "203.0.113.10"), "spec: {", "spec: {clusterIP: None, ", 1), ""),
		"bringing the dead field to life is a new use":           on(update, strings.Replace(ips("other", "203.0.113.10"), "spec: {", "spec: {type: ExternalName, ", 1), ips("other", "203.0.113.10"), "is claimed"),
		"without its parameters the guard is off, hence the ban": noParams,
		"five thousand addresses are judged within the budget":   on(create, "", ips("big", manyAddresses(5000)), ""),
		"five thousand addresses may lose one":                   on(update, ips("big", manyAddresses(5000)), ips("big", manyAddresses(4999)), ""),
		"a claimed ingress address is denied":                    st(status("other", ""), status("other", "{ip: 203.0.113.10}"), "status.loadBalancer.ingress: address 203.0.113.10 is claimed"),
		"a holder's ingress address is let in":                   st(status("web", ""), status("web", "{ip: 203.0.113.10}"), ""),
		"an ingress that does not change is passed by":           st(status("other", "{ip: 203.0.113.10}"), status("other", "{ip: 203.0.113.10}"), "-"),
		"an ingress by name is let in":                           st(status("other", ""), status("other", "{hostname: lb.example.com}"), ""),
	}
}

func manyAddresses(n int) string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("198.%d.%d.7", 18+i/256, i%256))
	}
	return strings.Join(out, ", ")
}

// adoptedCases are about the class offramp.dev/adopted.
func adoptedCases() map[string]policyCase {
	adopted := func(more string) string {
		return service("web", "") + ", spec: {type: LoadBalancer, loadBalancerClass: offramp.dev/adopted, ports: [{port: 80, protocol: TCP}]" + more + "}}"
	}
	plain := service("web", "") + ", spec: {type: ClusterIP, ports: [{port: 80, protocol: TCP}]}}"
	by := func(u any, op admission.Operation, old, object, want string) policyCase {
		c := policyCase{policy: "adopted-services", user: tenant, operation: op, old: old, object: object, want: want}
		if u != nil {
			c.user = controller
		}
		return c
	}
	with := func(ingress string) string {
		return service("web", "") + ", spec: {loadBalancerClass: offramp.dev/adopted}, status: {loadBalancer: {ingress: [" + ingress + "]}}}"
	}
	status := func(old, object, want string) policyCase {
		return policyCase{policy: "adopted-status", subresource: "status", user: admin, operation: update, old: old, object: object, want: want}
	}
	ours := status(with(""), with("{ip: 203.0.113.10}"), "")
	ours.user = controller
	return map[string]policyCase{
		"a tenant creates no Service of the class":    by(nil, create, "", adopted(""), "may only be set by Offramp"),
		"a tenant adopts nothing":                     by(nil, update, plain, adopted(""), "may only be set by Offramp"),
		"a tenant does not leave the class":           by(nil, update, adopted(""), plain, "would lose it"),
		"a tenant adds no port to an adopted address": by(nil, update, adopted(""), strings.Replace(adopted(""), "port: 80", "port: 22", 1), "new port(s) TCP/22 on an adopted address"),
		"a tenant may change selector and labels":     by(nil, update, adopted(""), adopted(", selector: {app: web2}"), ""),
		"a tenant may take a port away":               by(nil, update, strings.Replace(adopted(""), "ports: [", "ports: [{port: 443}, ", 1), adopted(""), ""),
		"Offramp adopts":                              by(controller, update, plain, adopted(""), "-"),
		"Offramp goes back":                           by(controller, update, adopted(""), plain, "-"),
		"another class is none of ours":               by(nil, create, "", strings.Replace(adopted(""), "offramp.dev/adopted", "metallb.io/x", 1), "-"),
		"an admin does not write adopted ingress":     status(with(""), with("{ip: 203.0.113.10}"), "written by Offramp only"),
		"an admin does not clear adopted ingress":     status(with("{ip: 203.0.113.10}"), with(""), "written by Offramp only"),
		"Offramp writes adopted ingress":              ours,
		"conditions alone are passed by":              status(with("{ip: 203.0.113.10}"), with("{ip: 203.0.113.10}"), "-"),
	}
}

// ownCases are about Offramp's own objects: its Services, its kinds, its parameters.
func ownCases() map[string]policyCase {
	out := ownServiceCases()
	for name, c := range entryPointCases() {
		out[name] = c
	}
	for name, c := range observationCases() {
		out[name] = c
	}
	for name, c := range heartbeatCases() {
		out[name] = c
	}
	params := func(data string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: offramp-guard, namespace: offramp-system}" + data + "}"
	}
	filled := params(", data: {a: b}")
	out["nobody deletes the parameters"] = policyCase{policy: "guard-parameters", user: controller, operation: destroy, old: filled, want: "without it the guard is off"}
	out["an admin does not write the parameters"] = policyCase{policy: "guard-parameters", user: admin, operation: update, old: filled, object: params(""), want: "written by Offramp only"}
	out["an admin may label the parameters"] = policyCase{policy: "guard-parameters", user: admin, operation: update, old: filled, object: strings.Replace(filled, "offramp-system", "offramp-system, labels: {a: b}", 1)}
	out["Offramp writes the parameters"] = policyCase{policy: "guard-parameters", user: controller, operation: update, old: params(""), object: filled}
	return out
}

func ownServiceCases() map[string]policyCase {
	plain := service("web", "") + ", spec: {}}"
	ours := service("web", ", labels: {offramp.dev/entrypoint: shop-web}") + ", spec: {}}"
	c := func(op admission.Operation, old, object, want string) policyCase {
		return policyCase{policy: "owned-services", user: tenant, operation: op, old: old, object: object, want: want}
	}
	out := map[string]policyCase{
		"a tenant does not forge our label":           c(create, "", ours, "may only be set by it"),
		"a tenant does not take our label on":         c(update, plain, ours, "may only be set by it"),
		"a tenant does not take our label off":        c(update, ours, plain, "belongs to Offramp"),
		"a tenant does not edit our Service":          c(update, ours, strings.Replace(ours, "spec: {}", "spec: {ports: [{port: 22}]}", 1), "belongs to Offramp"),
		"a tenant does not delete our Service":        c(destroy, ours, "", "belongs to Offramp"),
		"a Service without the label is none of ours": c(destroy, plain, "", "-"),
	}
	for name, u := range map[string]policyCase{
		"Offramp creates its Service":               {user: controller, operation: create, object: ours},
		"Offramp deletes its Service":               {user: controller, operation: destroy, old: ours},
		"MetalLB annotates our Service":             {user: metallb, operation: update, old: ours, object: ours},
		"the garbage collector may delete anything": {user: collector, operation: destroy, old: ours},
	} {
		u.policy, u.want = "owned-services", "-"
		out[name] = u
	}
	return out
}

func entryPointCases() map[string]policyCase {
	ep := func(spec string) string {
		return "{apiVersion: offramp.dev/v1alpha1, kind: EntryPoint, metadata: {name: shop-web}, spec: {policy: shop, " + spec + "}}"
	}
	report := ep("goal: Report, direction: Forward, attempt: 1")
	c := func(op admission.Operation, old, object, want string, verbs ...string) policyCase {
		return policyCase{policy: "entrypoint-verbs", user: tenant, operation: op, old: old, object: object, want: want, verbs: verbs}
	}
	waived := ep("goal: Report, direction: Forward, attempt: 1, waivers: [{gate: Drained}]")
	kept := func(until, who string) string {
		return ep("goal: Report, direction: Forward, attempt: 1, retention: {until: '" + until + "', requester: '" + who + "', reason: r}")
	}
	return map[string]policyCase{
		"an EntryPoint may be created at Report":        c(create, "", report, ""),
		"none is created at Stage without the verb":     c(create, "", ep("goal: Stage, direction: Forward, attempt: 1"), "need the verb advance"),
		"a goal needs the verb":                         c(update, report, ep("goal: Stage, direction: Forward, attempt: 1"), "need the verb advance"),
		"going back needs the verb":                     c(update, report, ep("goal: Report, direction: Back, attempt: 1"), "need the verb advance"),
		"another attempt needs the verb":                c(update, report, ep("goal: Report, direction: Forward, attempt: 2"), "need the verb advance"),
		"an approval needs the verb":                    c(update, report, ep("goal: Report, direction: Forward, attempt: 1, approvedPlan: abc"), "need the verb advance"),
		"with the verb a goal is set":                   c(update, report, ep("goal: Stage, direction: Forward, attempt: 1"), "", "advance"),
		"the verb waive does not advance":               c(update, report, ep("goal: Stage, direction: Forward, attempt: 1"), "need the verb advance", "waive"),
		"pausing needs no verb":                         c(update, report, ep("goal: Report, direction: Forward, attempt: 1, paused: true"), ""),
		"a waiver needs the verb waive":                 c(update, report, waived, "needs the verb waive", "advance"),
		"with the verb a waiver is signed":              c(update, report, waived, "", "waive"),
		"labels alone are passed by":                    c(update, report, strings.Replace(report, "shop-web", "shop-web, labels: {a: b}", 1), "-"),
		"taking a waiver back needs the verb waive too": c(update, waived, report, "needs the verb waive"),
		"an extension needs the verb extend":            c(update, report, kept("2027-01-01T00:00:00Z", tenant.Name), "needs the verb extend", "advance", "waive"),
		"with the verb the way back is kept":            c(update, report, kept("2027-01-01T00:00:00Z", tenant.Name), "", "extend"),
		"nobody extends in another's name":              c(update, report, kept("2027-01-01T00:00:00Z", "boss"), "spec.retention.requester: is whoever extends", "extend"),
		"none is created with an extension":             c(create, "", kept("2027-01-01T00:00:00Z", tenant.Name), "needs the verb extend"),
		"an extension of another stands by itself": c(update, kept("2027-01-01T00:00:00Z", "boss"),
			strings.Replace(kept("2027-01-01T00:00:00Z", "boss"), "attempt: 1", "attempt: 1, paused: true", 1), ""),
		"its words are not changed without the verb": c(update, kept("2027-01-01T00:00:00Z", "boss"), kept("2027-01-01T00:00:00Z", tenant.Name), "needs the verb extend"),
	}
}

func observationCases() map[string]policyCase {
	obs := func(name, status string) string {
		return "{apiVersion: offramp.dev/v1alpha1, kind: Observation, metadata: {name: " + name + "}" + status + "}"
	}
	node1 := obs("node-1", ", status: {source: Node, node: node-1}")
	c := func(node string, op admission.Operation, old, object, want string) policyCase {
		return policyCase{policy: "observation-writers", user: agentOf(node), operation: op, old: old, object: object, want: want}
	}
	other := func(old, object, want string) policyCase {
		return policyCase{policy: "observation-writers", user: tenant, operation: update, old: old, object: object, want: want}
	}
	return map[string]policyCase{
		"an agent creates its node's Observation":     c("node-1", create, "", obs("node-1", ""), ""),
		"an agent writes its node's Observation":      c("node-1", update, obs("node-1", ""), node1, ""),
		"an agent speaks for no other node":           c("node-2", update, obs("node-1", ""), node1, "the agent of node node-2 may not write Observation node-1"),
		"a token without a node speaks for none":      c("", create, "", obs("node-1", ""), "the token names no node"),
		"nobody else speaks for a node":               other(obs("node-1", ""), node1, "written by the agent of that node only"),
		"nobody else overwrites what an agent wrote":  other(node1, obs("node-1", ", status: {source: External}"), "written by the agent of that node only"),
		"an external prober writes a source External": other(obs("paris", ""), obs("paris", ", status: {source: External}"), ""),
		"others may label a node's Observation":       other(node1, strings.Replace(node1, "name: node-1}", "name: node-1, labels: {a: b}}", 1), ""),
	}
}

func heartbeatCases() map[string]policyCase {
	lease := "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: node-1, namespace: offramp-agent}}"
	c := func(u user.Info, op admission.Operation, want string) policyCase {
		out := policyCase{policy: "heartbeat-writers", user: u, operation: op, object: lease, want: want}
		if op == update {
			out.old = lease
		}
		return out
	}
	return map[string]policyCase{
		"an agent creates its node's Lease":     c(agentOf("node-1"), create, ""),
		"an agent renews its node's Lease":      c(agentOf("node-1"), update, ""),
		"an agent vouches for no other node":    c(agentOf("node-2"), update, "by the agent of node node-1 only, not by the one of node node-2"),
		"a token without a node renews none":    c(agentOf(""), create, "the token names no node"),
		"nobody else vouches for a node":        c(tenant, update, "only, not by alice"),
		"the controller vouches for no node":    c(controller, create, "by the agent of node node-1 only"),
		"an admin vouches for no node, neither": c(admin, update, "by the agent of node node-1 only"),
	}
}

// ratchetCases are about the general guard.
func ratchetCases() map[string]policyCase {
	ips := func(list, more string) string {
		return service("web", "") + ", spec: {externalIPs: [" + list + "], ports: [{port: 80, protocol: TCP}]" + more + "}}"
	}
	c := func(op admission.Operation, old, object, want string) policyCase {
		return policyCase{policy: "external-ips", user: tenant, operation: op, old: old, object: object, want: want}
	}
	ours := c(update, ips("", ""), ips("203.0.113.10", ""), "-")
	ours.user = controller
	return map[string]policyCase{
		"a new Service with an address is noticed":       c(create, "", ips("203.0.113.10", ""), "new address(es) 203.0.113.10 not allowed"),
		"another address is noticed":                     c(update, ips("203.0.113.10", ""), ips("203.0.113.11", ""), "new address(es) 203.0.113.11"),
		"a new port beside an old address is noticed":    c(update, ips("203.0.113.10", ""), strings.Replace(ips("203.0.113.10", ""), "port: 80", "port: 22", 1), "new port(s) TCP/22"),
		"a dead field brought to life is noticed":        c(update, ips("203.0.113.10", ", clusterIP: None"), ips("203.0.113.10", ""), "would come to life"),
		"shrinking passes":                               c(update, ips("203.0.113.10, 203.0.113.11", ""), ips("203.0.113.10", ""), ""),
		"reordering passes":                              c(update, ips("203.0.113.10, 203.0.113.11", ""), ips("203.0.113.11, 203.0.113.10", ""), ""),
		"a selector passes":                              c(update, ips("203.0.113.10", ""), ips("203.0.113.10", ", selector: {a: b}"), ""),
		"removal is passed by":                           c(update, ips("203.0.113.10", ""), ips("", ""), "-"),
		"an unrelated label on an old user is passed by": c(update, ips("203.0.113.10", ""), strings.Replace(ips("203.0.113.10", ""), "shop", "shop, labels: {a: b}", 1), "-"),
		"a selector on five thousand addresses passes":   c(update, ips(manyAddresses(5000), ""), ips(manyAddresses(5000), ", selector: {a: b}"), ""),
		"Offramp's restore is passed by":                 ours,
	}
}
