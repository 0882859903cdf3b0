//go:build api

package api

import (
	"maps"
	"strings"
)

// attackRows are what a tenant tries beside tenantRows, by kind of attack. docs/security.md has them in a table.
func attackRows(w *walk, target string) map[string]tenantRow {
	out := addressAttacks(w.old, target)
	maps.Copy(out, serviceAttacks(w))
	maps.Copy(out, forgeries(w))
	maps.Copy(out, guardAttacks())
	return out
}

// asking is the manifest of a load balancer's Service that asks for addresses in an annotation, but for its last brace.
func asking(name, annotation, addresses string) string {
	return `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: ` + name + `, annotations: {` + annotation + `: "` + addresses +
		`"}}, spec: {type: LoadBalancer, ports: [{port: 81}]}`
}

// addressAttacks claim an address of somebody else by every field that can carry one, and in disguise.
func addressAttacks(old, target string) map[string]tenantRow {
	const current, former = "metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs"
	return map[string]tenantRow{
		"the field loadBalancerIP": {
			args: "create -f -", says: "is claimed",
			input: "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: a1}, spec: {type: LoadBalancer, loadBalancerIP: " + target + ", ports: [{port: 81}]}",
		},
		"MetalLB's former annotation":         {args: "create -f -", says: "is claimed", input: asking("a2", former, target)},
		"an old address as a load balancer's": {args: "create -f -", says: "is claimed", input: asking("a3", current, old)},
		"the second of two addresses":         {args: "create -f -", says: "is claimed", input: asking("a4", current, "198.51.100.250, "+target)},
		"an address mapped into IPv6":         {args: "create -f -", says: "cannot be read", input: asking("a5", current, "::ffff:"+target)},
		"an address with leading zeros":       {args: "create -f -", says: "cannot be read", input: asking("a6", current, "0"+target)},
		"a prefix around the address":         {args: "create -f -", says: "cannot be read", input: asking("a7", current, target+"/24")},
		"an address with a zone":              {args: "create -f -", says: "cannot be read", input: asking("a8", current, "fe80::1%eth0")},
	}
}

// serviceAttacks edit a Service on its way.
func serviceAttacks(w *walk) map[string]tenantRow {
	return map[string]tenantRow{
		"a new port beside a claimed address": {
			args: "-n shop patch service " + w.name + ` --type merge -p {"spec":{"ports":[{"name":"http","port":80,"appProtocol":"http"},{"name":"ssh","port":22}]}}`,
			says: "spec.ports",
		},
		"one's own Service dressed as Offramp's": {
			args: "-n shop label service " + w.name + " offramp.dev/entrypoint=x", says: "offramp.dev/entrypoint",
		},
		"an ingress address in the status": {
			args: "-n shop patch service " + w.name + ` --subresource status --type merge -p {"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.11"}]}}}`,
			says: "forbidden",
		},
		"an annotation of a megabyte": {
			args: "create -f -", says: "too long", input: asking("big", "offramp.dev/hostnames", strings.Repeat("a.example.com,", 70000)),
		},
	}
}

// forgeries write what only Offramp, an agent or a human with the verb may.
func forgeries(w *walk) map[string]tenantRow {
	walk := "patch entrypoint " + w.entryPoint + " --type merge -p "
	return map[string]tenantRow{
		"a longer retention":         {args: walk + `{"spec":{"retention":{"requester":"tenant"}}}`, says: "forbidden"},
		"a waiver":                   {args: walk + `{"spec":{"waivers":[]}}`, says: "forbidden"},
		"the status of a walk":       {args: walk + `{"status":{"sharePercent":100}} --subresource status`, says: "forbidden"},
		"an EntryPoint":              {args: "create -f -", says: "forbidden", input: "{apiVersion: offramp.dev/v1alpha1, kind: EntryPoint, metadata: {name: forged}, spec: {policy: standard}"},
		"an AddressClaim":            {args: "create -f -", says: "forbidden", input: "{apiVersion: offramp.dev/v1alpha1, kind: AddressClaim, metadata: {name: 203.0.113.250}"},
		"a snapshot":                 {args: "create -f -", says: "forbidden", input: "{apiVersion: offramp.dev/v1alpha1, kind: MigrationRecord, metadata: {name: forged-1}"},
		"a line in the journal":      {args: "patch migrationrecord " + w.entryPoint + `-1 --type merge -p {"spec":{"journal":[]}}`, says: "forbidden"},
		"a report of a node's agent": {args: `patch observation n1 --subresource status --type merge -p {"status":{"source":"Node"}}`, says: "forbidden"},
		"a node's heartbeat":         {args: "create -f -", says: "forbidden", input: "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: offramp-agent, name: n1}"},
	}
}

// guardAttacks turn the rules themselves, or become Offramp.
func guardAttacks() map[string]tenantRow {
	const controller = "system:serviceaccount:" + systemNamespace + ":offramp-controller"
	return map[string]tenantRow{
		"the guard's binding deleted":         {args: "delete validatingadmissionpolicybinding claimed-addresses.offramp.dev", says: "forbidden"},
		"the namespace's exemption":           {args: "label namespace shop offramp.dev/external-ips=allowed", says: "forbidden"},
		"a policy that lets in more":          {args: `patch migrationpolicy standard --type merge -p {"spec":{"pools":["all"]}}`, says: "forbidden"},
		"a zone that lets in more":            {args: "create -f -", says: "forbidden", input: "{apiVersion: offramp.dev/v1alpha1, kind: DNSZone, metadata: {name: mine}"},
		"a token of the controller":           {args: "-n " + systemNamespace + " create token offramp-controller", says: "forbidden"},
		"the controller impersonated":         {args: "--as " + controller + " get addressclaims", says: "impersonate"},
		"the controller's Lease taken":        {args: "-n " + systemNamespace + ` patch lease offramp-controller --type merge -p {"spec":{"holderIdentity":"me"}}`, says: "forbidden"},
		"the admin's Gateway with a listener": {args: `-n gateways patch gateway x --type merge -p {"spec":{"listeners":[]}}`, says: "forbidden"},
	}
}
