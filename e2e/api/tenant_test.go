//go:build api

package api

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tenant is a kubeconfig that may write every Service and route of shop, and nothing else. (The built-in ClusterRole
// "admin" is empty here: the controller that aggregates it does not run.)
func (r *ring) tenant(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tenant"}}
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tenant"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: verbs},
			{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"httproutes"}, Verbs: verbs},
		},
	}
	if err := r.admin.Create(ctx, role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "tenant"}},
	}
	if err := r.admin.Create(ctx, account); err != nil {
		t.Fatal(err)
	}
	if err := r.admin.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	return r.kubeconfig(t, "tenant", r.as(t, "shop", "tenant"))
}

// tenantRow is one thing a tenant tries; says is a part of the refusal, "" where it must be allowed.
type tenantRow struct {
	args, input, says string
}

// tenantRows are tried while walk w is staged: its claims are held.
func tenantRows(w *walk, target string) map[string]tenantRow {
	service := func(name, more string) string {
		return "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: " + name + more + "}"
	}
	return map[string]tenantRow{
		"a tenant may create an ordinary Service": {args: "create -f -", input: service("plain", "}, spec: {ports: [{port: 80}]")},
		"a tenant may label a Service on its way": {args: "-n shop label service " + w.name + " color=blue"},
		"a tenant may not claim an old address that is claimed": {
			args: "create -f -", says: "claimed",
			input: service("thief", "}, spec: {externalIPs: ["+w.old+"], ports: [{port: 81}]"),
		},
		"a tenant may not claim the new address": {
			args: "create -f -", says: "claimed",
			input: service("thief2", "}, spec: {externalIPs: ["+target+"], ports: [{port: 81}]"),
		},
		"a tenant may not ask the load balancer for the new address": {
			args: "create -f -", says: "claimed",
			input: service("thief3", ", annotations: {metallb.io/loadBalancerIPs: "+target+"}}, spec: {type: LoadBalancer, ports: [{port: 81}]"),
		},
		"a tenant may not read the ledger":              {args: "get addressclaims", says: "forbidden"},
		"a tenant may not delete a claim":               {args: "delete addressclaim " + w.old, says: "forbidden"},
		"a tenant may not delete a record":              {args: "delete migrationrecord " + w.entryPoint + "-1", says: "forbidden"},
		"a tenant may not advance a walk":               {args: "patch entrypoint " + w.entryPoint + ` --type merge -p {"spec":{"goal":"Forget"}}`, says: "forbidden"},
		"a tenant may not touch the admin's Gateways":   {args: "-n gateways delete gateway --all", says: "forbidden"},
		"a tenant may not write the guard's parameters": {args: "-n " + systemNamespace + " delete configmap offramp-guard", says: "forbidden"},
		"a tenant may not read the zone's key":          {args: "-n " + systemNamespace + " get secret zone-key", says: "forbidden"},
		"a tenant may not write an Observation":         {args: "create -f -", input: "{apiVersion: offramp.dev/v1alpha1, kind: Observation, metadata: {name: n1}", says: "forbidden"},
		"a tenant may not use our class": {
			args: "create -f -", says: "offramp.dev/adopted",
			input: service("squat", "}, spec: {type: LoadBalancer, loadBalancerClass: offramp.dev/adopted, ports: [{port: 80}]"),
		},
		"a tenant may not dress a Service as ours": {
			args: "create -f -", says: "offramp.dev/entrypoint",
			input: service("dressed", ", labels: {offramp.dev/entrypoint: x}}, spec: {ports: [{port: 80}]"),
		},
	}
}

func (r *ring) tenants(t *testing.T) {
	t.Parallel()
	w := r.newWalk(t, 30)
	w.goal("Stage")
	w.reach("Proven")
	ep, err := w.get()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := r.tenant(t)
	rows := tenantRows(w, ep.Status.NewAddresses[0])
	maps.Copy(rows, attackRows(w, ep.Status.NewAddresses[0]))
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			input := row.input
			if input != "" {
				input += "}"
			}
			out, err := r.kubectl(t, kubeconfig, input, strings.Fields(row.args)...)
			if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(strings.ToLower(out), strings.ToLower(row.says))) {
				t.Errorf("kubectl %s: %v\n%s", row.args, err, out)
			}
		})
	}
	w.back()
}
