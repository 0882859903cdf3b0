package inventory

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

// checkOwner says who would put the field back. At most one owner is told, the one closest to the field.
func (w *world) checkOwner(c *collector, g *group, m *member) {
	for _, check := range []func(*collector, *group, *member) bool{
		w.byGateway, w.byOpenShift, byInjector, w.byHolder, w.byController, byGitOps, byHelm,
		byFile,
	} {
		if check(c, g, m) {
			return
		}
	}
}

// gatewayOf names the Gateway (or class, where Gateways are merged) that an implementation made the Service for.
func gatewayOf(svc *corev1.Service) (kind, name string) {
	for _, key := range []string{"gateway.networking.k8s.io/gateway-name", "gateway.envoyproxy.io/owning-gateway-name"} {
		if name := svc.Labels[key]; name != "" {
			return "Gateway", name
		}
	}
	if name := svc.Labels["gateway.envoyproxy.io/owning-gatewayclass"]; name != "" {
		return "GatewayClass", name
	}
	for _, ref := range svc.OwnerReferences {
		if slices.Contains([]string{"Gateway", "GatewayClass", "EnvoyProxy", "NginxProxy", "NginxGateway"}, ref.Kind) {
			return ref.Kind, ref.Name
		}
	}
	return "", ""
}

func (w *world) byGateway(c *collector, _ *group, m *member) bool {
	kind, name := gatewayOf(m.svc)
	if kind == "" {
		return false
	}
	fix := fmt.Sprintf("Migrate at the Gateway: take the addresses out of spec.addresses of %s %s/%s and pin them with "+
		"spec.infrastructure.annotations[metallb.io/loadBalancerIPs].",
		kind, m.svc.Namespace, name)
	if kind != "Gateway" {
		fix = fmt.Sprintf("Take externalIPs out of the proxy settings behind %s %s (EnvoyProxy spec.provider.kubernetes.envoyService, "+
			"NginxProxy spec.kubernetes.service).", kind, name)
	}
	for _, h := range w.holdersFor(m) {
		if h.kind == "EnvoyProxy" || h.kind == "NginxProxy" {
			fix = fmt.Sprintf("Take the addresses out of %s of %s; the implementation then writes the Service without them.", h.path, h.object)
		}
	}
	c.add(ReasonOwnedByGateway, block, "metadata.labels", fmt.Sprintf("A Gateway implementation writes this Service for %s %s; an edit "+
		"here would be reverted.", kind, quote(name)), fix)
	return true
}

func (w *world) byOpenShift(c *collector, _ *group, m *member) bool {
	if !w.autoAssigns(m) && !fieldManagedBy(m.svc, "openshift-controller-manager", "cluster-policy-controller", "ingress-ip-controller") {
		return false
	}
	c.add(ReasonOwnedByOpenShift, block, "metadata.managedFields",
		"OpenShift assigns these addresses (autoAssignCIDRs) and would assign them again.",
		"Remove spec.externalIP.autoAssignCIDRs from networks.config.openshift.io cluster first.")
	return true
}

func byInjector(c *collector, _ *group, m *member) bool {
	const key = "externalip.spacebird.dev/cluster-external-ip-source"
	if _, ok := m.svc.Annotations[key]; !ok {
		return false
	}
	c.add(ReasonFieldInjected, block, "metadata.annotations["+key+"]",
		"externalip-manager writes addresses into the field and would write them again.",
		"Remove the annotation; publish the address with external-dns' target annotation instead.")
	return true
}

// byHolder finds the object that holds the addresses: there the edit belongs, wherever owner references and labels point.
func (w *world) byHolder(c *collector, g *group, m *member) bool {
	list := w.holdersFor(m)
	if len(list) == 0 {
		return false
	}
	h := list[0]
	reason, severity := ReasonOwnedByController, ask
	switch h.kind {
	case "HelmRelease", "Application":
		reason, severity = ReasonOwnedByGitOps, edit(g)
	case "HelmChart", "HelmChartConfig":
		reason, severity = ReasonOwnedByHelm, edit(g)
	}
	c.add(reason, severity, "spec.externalIPs", fmt.Sprintf("%s holds the addresses in %s and would put them back.", h.object, h.path),
		fmt.Sprintf("Take them out of %s of %s when the walk asks for it.", h.path, h.object))
	return true
}

func (w *world) byController(c *collector, _ *group, m *member) bool {
	if len(m.svc.OwnerReferences) == 0 {
		return false
	}
	owner := ownerText(m.svc.OwnerReferences, m.svc.Namespace)
	message := owner + " owns the Service"
	root := w.root(owner)
	if root != owner {
		message += " (on behalf of " + root + ")"
	}
	c.add(ReasonOwnedByController, ask, "metadata.ownerReferences", message+" and would revert an edit here.",
		fmt.Sprintf("Be ready to take externalIPs out of %s when the walk asks for it.", root))
	return true
}

// autoAssigns tells that every address comes from a range from which OpenShift writes the field of load balancers.
func (w *world) autoAssigns(m *member) bool {
	return m.svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(m.addresses) > 0 &&
		!slices.ContainsFunc(m.addresses, func(a netip.Addr) bool {
			_, ok := w.openShift.find(a)
			return !ok
		})
}

// edit is how much the owner of the manifest has to do: to adopt, the very first step is an edit; otherwise the last one is.
func edit(g *group) v1alpha1.Severity {
	if g.choice.strategy == v1alpha1.StrategyAdopt {
		return ask
	}
	return inform
}

func byGitOps(c *collector, g *group, m *member) bool {
	owner := gitOpsOwner(m.svc)
	if owner == "" {
		return false
	}
	c.add(ReasonOwnedByGitOps, edit(g), "metadata", owner+" applies the Service; an edit in the cluster would be reverted.",
		"Make the edits in the repository when the walk prints them.")
	return true
}

func gitOpsOwner(svc *corev1.Service) string {
	marks := []struct{ owner, key string }{
		{"Argo CD", "argocd.argoproj.io/instance"},
		{"Argo CD", "argocd.argoproj.io/tracking-id"},
		{"Flux", "kustomize.toolkit.fluxcd.io/name"},
		{"Flux", "helm.toolkit.fluxcd.io/name"},
		{"Rancher Fleet", "objectset.rio.cattle.io/owner-name"},
	}
	for _, mark := range marks {
		if svc.Labels[mark.key] != "" || svc.Annotations[mark.key] != "" {
			return mark.owner
		}
	}
	managers := []struct {
		owner string
		names []string
	}{
		{"Argo CD", []string{"argocd-controller", "argocd-application-controller"}},
		{
			"Flux",
			[]string{"kustomize-controller", "helm-controller"},
		},
		{"Terraform", []string{"Terraform", "HashiCorp"}},
		{"Rancher Fleet", []string{"fleetagent", "fleet-agent"}},
	}
	for _, m := range managers {
		if fieldManagedBy(svc, m.names...) {
			return m.owner
		}
	}
	return ""
}

func byHelm(c *collector, g *group, m *member) bool {
	release := m.svc.Annotations["meta.helm.sh/release-name"]
	if release == "" && m.svc.Labels["app.kubernetes.io/managed-by"] != "Helm" && m.svc.Labels["heritage"] != "Helm" && !fieldManagedBy(m.svc,
		"helm", "Helm") {
		return false
	}
	which := "A Helm release"
	if release != "" {
		which = "Helm release " + quote(release)
	}
	c.add(ReasonOwnedByHelm, edit(g), "metadata", which+" renders the Service; its next upgrade would put the field back.",
		"Change the release's values when the walk prints the edit.")
	return true
}

func byFile(c *collector, _ *group, m *member) bool {
	const key = "kubectl.kubernetes.io/last-applied-configuration"
	if !strings.Contains(m.svc.Annotations[key], `"externalIPs"`) {
		return false
	}
	c.add(ReasonAppliedFromFile, inform, "metadata.annotations["+key+"]",
		"kubectl apply wrote the field; applying the same file again would put it back.",
		"Remove externalIPs from the file when the walk releases the field.")
	return true
}

// fieldManagedBy tells whether one of the managers owns spec.externalIPs.
func fieldManagedBy(svc *corev1.Service, names ...string) bool {
	return slices.ContainsFunc(svc.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return slices.Contains(names, e.Manager) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:externalIPs"`))
	})
}

func typeText(svc *corev1.Service) string {
	if svc.Spec.Type == "" {
		return string(corev1.ServiceTypeClusterIP)
	}
	return string(svc.Spec.Type)
}
