package inventory

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
)

// ahead is one look ahead under way.
type ahead struct {
	release     Release
	path        Datapath
	writers     map[string]bool
	entryPoints map[string]string
	out         []Consequence
}

func (a *ahead) add(c Consequence) { a.out = append(a.out, c) }

// services looks at every Service that carries the field.
func (a *ahead) services(list []*corev1.Service) {
	for _, svc := range list {
		if len(svc.Spec.ExternalIPs) == 0 {
			continue
		}
		m := (&world{}).member(svc)
		c := Consequence{
			Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, Field: "spec.externalIPs", EntryPoint: a.entryPoints[m.key],
			Addresses: liveTexts(m),
		}
		switch {
		case m.cleanUp != "":
			c.Effect, c.Message = EffectDead, "Nothing changes: "+m.cleanUp+"."
			c.Fix = "Remove spec.externalIPs; it carries no traffic of its own."
		case len(m.addresses) == 0:
			c.Effect, c.Message = EffectUnreadable, "No value of the field is an address that a proxy serves, so it cannot be told what it is for."
			c.Fix = "Correct the values, or remove them."
		default:
			a.fieldOf(&c, "Service "+m.key)
		}
		a.add(c)
	}
}

func liveTexts(m *member) []string {
	out := make([]string, 0, len(m.addresses))
	for _, address := range m.addresses {
		out = append(out, address.String())
	}
	return out
}

// fieldOf says what the release means for a live field. who is what the sentence speaks of.
func (a *ahead) fieldOf(c *Consequence, who string) {
	c.Fix = "Move it before the upgrade: kubectl offramp inventory says how."
	if c.EntryPoint != "" {
		c.Fix = "Move it before the upgrade: kubectl offramp plan " + c.EntryPoint + "."
	}
	switch {
	case a.release.Rules == releaseWarns:
		c.Effect, c.Message = EffectWarns, who+" works as before; the API server warns at every write of the field."
		c.Fix = strings.Replace(c.Fix, "before the upgrade", "before 1.40", 1)
	case a.path.Free():
		c.Effect, c.Message = EffectUpToDatapath, who+" is served by "+a.path.Proxy+", to which the gate AllowServiceExternalIPs does not apply; "+
			"it works until a release of "+a.path.Proxy+" drops the field"+a.conformance()+"."
		c.Fix = strings.Replace(c.Fix, "the upgrade", "a release of "+a.path.Proxy+" drops the field", 1)
	case a.release.Rules == releaseOff:
		c.Effect, c.Message = EffectNeedsGate, who+" "+a.gateSentence()
		c.Fix += " Until 1.43 the feature gate, true on every kube-proxy, keeps it."
	default:
		c.Effect, c.Message = EffectStops, who+" looks healthy and gets no traffic at its externalIPs; no feature gate keeps it."
	}
	if !a.path.Known() && c.Effect != EffectWarns {
		c.Message = "If kube-proxy serves this cluster, " + lowerFirst(c.Message)
	}
}

// conformance is what 1.43 asks of every implementation.
func (a *ahead) conformance() string {
	if a.release.Rules >= releaseGone {
		return ", which conformance asks for from 1.43"
	}
	return ""
}

func (a *ahead) gateSentence() string {
	switch a.path.Gate {
	case GateOn:
		return "keeps its traffic, but only because " + a.path.GateFrom + " sets AllowServiceExternalIPs=true; with 1.43 that ends."
	case GateOff:
		return "gets no traffic at its externalIPs: " + a.path.GateFrom + " sets AllowServiceExternalIPs=false already, so every kube-proxy that " +
			"was started since serves none."
	case GateDefault, GateNone:
	}
	return "looks healthy and gets no traffic at its externalIPs, unless every kube-proxy runs with AllowServiceExternalIPs=true."
}

// gateways looks at Gateways that ask for addresses.
func (a *ahead) gateways(c Cluster, services []*corev1.Service) {
	controllers := map[string]string{}
	for _, class := range c.GatewayClasses {
		if class != nil {
			controllers[class.Name] = string(class.Spec.ControllerName)
		}
	}
	made := generated(services)
	for _, gw := range c.Gateways {
		if gw == nil {
			continue
		}
		if wanted := wantedAddresses(gw); len(wanted) > 0 {
			a.gateway(gw, wanted, controllers[string(gw.Spec.GatewayClassName)], made[gw.Namespace+"/"+gw.Name])
		}
	}
}

// generated tells which Gateways have a Service made for them, and whether one of those carries the field.
func generated(services []*corev1.Service) map[string]*bool {
	out := map[string]*bool{}
	for _, svc := range services {
		if kind, name := gatewayOf(svc); kind == "Gateway" {
			key := svc.Namespace + "/" + name
			if out[key] == nil {
				out[key] = new(bool)
			}
			*out[key] = *out[key] || len(svc.Spec.ExternalIPs) > 0
		}
	}
	return out
}

func wantedAddresses(gw *gatewayv1.Gateway) []string {
	var out []string
	for _, address := range gw.Spec.Addresses {
		if (address.Type == nil || *address.Type == gatewayv1.IPAddressType) && address.Value != "" {
			out = append(out, address.Value)
		}
	}
	return out
}

// gateway judges one. What its implementation made is better evidence than its name.
func (a *ahead) gateway(gw *gatewayv1.Gateway, wanted []string, controller string, made *bool) {
	writes, known := a.writers[controller]
	if made != nil {
		writes, known = *made, true
	}
	c := Consequence{Kind: "Gateway", Namespace: gw.Namespace, Name: gw.Name, Field: "spec.addresses", Addresses: wanted}
	switch {
	case known && !writes:
		return
	case known:
		a.fieldOf(&c, "The Service that "+orWord(controller, "its implementation")+" makes of spec.addresses has externalIPs and")
		c.Fix = "Take the addresses out of spec.addresses and pin them with spec.infrastructure.annotations[metallb.io/loadBalancerIPs]."
	default:
		c.Effect = EffectGatewayUnknown
		c.Message = fmt.Sprintf("It cannot be told whether the implementation of GatewayClass %s writes spec.addresses into externalIPs (Envoy Gateway and NGINX "+
			"Gateway Fabric do).", quote(string(gw.Spec.GatewayClassName)))
		c.Fix = "Give the GatewayClass too, or the Service that the implementation made."
	}
	a.add(c)
}

func orWord(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}

// components looks at what runs the cluster: settings that a release does not take any more.
func (a *ahead) components(c Cluster) {
	if !a.path.Known() {
		a.add(Consequence{
			Effect: EffectDatapathUnknown, Kind: "Cluster", Name: "datapath",
			Message: "Nothing that was read tells what serves Services; what is said holds for kube-proxy.",
			Fix:     "Look at the cluster, or give ConfigMap kube-system/kube-proxy or that of the network plugin.",
		})
	}
	if a.path.Mode == v1alpha1.ProxyIPVS && a.release.Rules >= releaseOff {
		a.add(Consequence{
			Effect: EffectIPVSGoes, Kind: "Cluster", Name: "datapath",
			Message: "kube-proxy runs in ipvs mode, which is off by default from 1.40 and gone in 1.43.",
			Fix:     "Change kube-proxy to nftables mode, in a step of its own.",
		})
	}
	for _, s := range gateSettings(c) {
		a.setting(s)
	}
	for _, w := range c.Workloads {
		a.plugin(w)
	}
}

// setting judges one place where the feature gate is set: locked to false from 1.43, unknown from 1.46.
func (a *ahead) setting(s gateSetting) {
	refused := a.release.Rules >= releasePlugin || a.release.Rules == releaseGone && s.on
	if !refused {
		return
	}
	a.add(Consequence{
		Effect: EffectGateRefused, Kind: s.kind, Namespace: s.namespace, Name: s.name, Field: s.field,
		Message: fmt.Sprintf("%s sets AllowServiceExternalIPs=%t, which %s does not take: the component does not start.", s.object(), s.on, a.release),
		Fix:     "Take the setting out before the upgrade, after everything has moved.",
	})
}

func (a *ahead) plugin(w Workload) {
	if a.release.Rules < releasePlugin {
		return
	}
	for i := range w.Containers {
		args := w.Containers[i].Args
		if !slices.ContainsFunc(args, asksForPlugin) {
			continue
		}
		a.add(Consequence{
			Effect: EffectPluginGone, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Field: "container " + quote(w.Containers[i].Name),
			Message: "--enable-admission-plugins names DenyServiceExternalIPs, which " + a.release.String() + " does not know: the API server does not start.",
			Fix:     "Take it out of the list before the upgrade; Offramp's guard refuses new addresses in its place.",
		})
	}
}

func asksForPlugin(arg string) bool {
	return strings.HasPrefix(arg, "--enable-admission-plugins") && strings.Contains(arg, "DenyServiceExternalIPs")
}
