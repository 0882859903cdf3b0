package inventory

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
)

// FeatureGate is how kube-proxy's AllowServiceExternalIPs is set.
type FeatureGate string

// The settings.
const (
	// GateDefault: nothing sets it, so that the release decides.
	GateDefault FeatureGate = "Default"
	GateOn      FeatureGate = "On"
	GateOff     FeatureGate = "Off"
	// GateNone: no kube-proxy serves the cluster.
	GateNone FeatureGate = "NotApplicable"
)

const gateName = "AllowServiceExternalIPs"

// Datapath is what serves Services.
type Datapath struct {
	// Proxy is "kube-proxy", the name of what replaces it, or "" where nothing tells.
	Proxy string
	// Mode of kube-proxy, or "".
	Mode v1alpha1.ProxyMode
	Gate FeatureGate
	// From names what says so, GateFrom what sets the gate.
	From, GateFrom string
}

const kubeProxy = "kube-proxy"

// Known tells whether anything says what serves Services.
func (d Datapath) Known() bool { return d.Proxy != "" }

// Free tells that no kube-proxy serves the cluster.
func (d Datapath) Free() bool { return d.Proxy != "" && d.Proxy != kubeProxy }

// datapathOf reads what serves Services off the configuration of kube-proxy and of the network plugins that can replace it.
// A replacement wins: kube-proxy's ConfigMap often outlives kube-proxy.
func datapathOf(c Cluster) Datapath {
	if proxy, from := replacement(c); proxy != "" {
		return Datapath{Proxy: proxy, Gate: GateNone, From: from}
	}
	d := Datapath{Mode: c.ProxyMode, Gate: GateDefault, From: kubeProxySign(c)}
	if d.From != "" {
		d.Proxy = kubeProxy
	}
	for _, s := range gateSettings(c) {
		if !s.proxy {
			continue
		}
		d.Proxy, d.GateFrom, d.Gate = kubeProxy, s.object(), GateOff
		if s.on {
			d.Gate = GateOn
		}
	}
	return d
}

// replacement names a network plugin that serves Services in kube-proxy's place.
func replacement(c Cluster) (proxy, from string) {
	for _, m := range c.ConfigMaps {
		if m != nil && m.Name == "cilium-config" && slices.Contains([]string{"true", "strict"}, m.Data["kube-proxy-replacement"]) {
			return "Cilium", "ConfigMap " + m.Namespace + "/" + m.Name + " data[kube-proxy-replacement]"
		}
	}
	for _, o := range c.Others {
		if o == nil || o.GetKind() != "FelixConfiguration" {
			continue
		}
		if spec, ok := o.Object["spec"].(map[string]any); ok && spec["bpfEnabled"] == true {
			return "Calico's eBPF dataplane", "FelixConfiguration " + o.GetName() + " spec.bpfEnabled"
		}
	}
	if i := slices.IndexFunc(c.Workloads, isKubeRouterProxy); i >= 0 {
		return "kube-router", c.Workloads[i].Kind + " " + c.Workloads[i].Namespace + "/" + c.Workloads[i].Name
	}
	return "", ""
}

// isKubeRouterProxy tells kube-router where it is the service proxy, which it is unless told otherwise.
func isKubeRouterProxy(w Workload) bool {
	return slices.ContainsFunc(w.Containers, func(c Container) bool {
		return imageName(c.Image) == "kube-router" && !slices.Contains(c.Args, "--run-service-proxy=false")
	})
}

// imageName is the last part of an image's path: "kube-proxy" of "registry.k8s.io/kube-proxy:v1.36.3".
func imageName(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// kubeProxySign says what tells that kube-proxy runs.
func kubeProxySign(c Cluster) string {
	for _, w := range c.Workloads {
		if slices.ContainsFunc(w.Containers, isKubeProxy) {
			return w.Kind + " " + w.Namespace + "/" + w.Name
		}
	}
	for _, m := range c.ConfigMaps {
		if isProxyConfig(m) {
			return "ConfigMap " + m.Namespace + "/" + m.Name
		}
	}
	if c.ProxyMode != "" {
		return "its mode"
	}
	return ""
}

func isKubeProxy(c Container) bool {
	return imageName(c.Image) == kubeProxy || slices.ContainsFunc(c.Args, func(arg string) bool { return path.Base(arg) == kubeProxy })
}

func isProxyConfig(m *corev1.ConfigMap) bool {
	return m != nil && m.Namespace == "kube-system" && m.Name == kubeProxy
}

// gateSetting is one place where the feature gate is set.
type gateSetting struct {
	kind, namespace, name, field string
	// proxy: it is kube-proxy's.
	proxy, on bool
}

func (s gateSetting) object() string { return s.kind + " " + s.namespace + "/" + s.name }

// gateSettings finds them in kube-proxy's configuration and in the arguments of whatever runs.
func gateSettings(c Cluster) []gateSetting {
	var out []gateSetting
	for _, m := range c.ConfigMaps {
		if !isProxyConfig(m) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m.Data)) {
			if on, set := configuredGate(m.Data[key]); set {
				out = append(out, gateSetting{"ConfigMap", m.Namespace, m.Name, "data[" + key + "] featureGates", true, on})
			}
		}
	}
	for _, w := range c.Workloads {
		for i := range w.Containers {
			if on, set := argumentGate(w.Containers[i].Args); set {
				field := "container " + quote(w.Containers[i].Name) + " --feature-gates"
				out = append(out, gateSetting{w.Kind, w.Namespace, w.Name, field, isKubeProxy(w.Containers[i]), on})
			}
		}
	}
	return out
}

// configuredGate reads the gate of a KubeProxyConfiguration.
func configuredGate(config string) (on, set bool) {
	if !strings.Contains(config, gateName) {
		return false, false
	}
	var parsed struct {
		FeatureGates map[string]bool `json:"featureGates"`
	}
	if yaml.Unmarshal([]byte(config), &parsed) != nil {
		return false, false
	}
	on, set = parsed.FeatureGates[gateName]
	return on, set
}

// argumentGate reads --feature-gates=A=true,B=false, also with the value as the next argument.
func argumentGate(args []string) (on, set bool) {
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--feature-gates=")
		if arg == "--feature-gates" && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if !found {
			continue
		}
		for pair := range strings.SplitSeq(value, ",") {
			name, word, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if parsed, err := strconv.ParseBool(word); name == gateName && err == nil {
				on, set = parsed, true
			}
		}
	}
	return on, set
}
