package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
)

func TestATargetHasTheRulesOfTheLastReleaseThatChangedSomething(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Release{
		"1.36": {36, 36}, "v1.36": {36, 36}, "1.39": {39, 36}, "1.40": {40, 40}, "v1.40.2": {40, 40}, "1.40.2-rc.1+k3s1": {40, 40},
		"1.42": {42, 40}, "1.43": {43, 43}, "1.45.9": {45, 43}, "1.46": {46, 46}, "1.99": {99, 46},
	} {
		if got, err := ParseRelease(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "no release", "next": "no release", "1": "no release", "40": "no release", "1.35": "before 1.36", "1.4": "before 1.36",
		"2.0": "Kubernetes 2", "0.40": "Kubernetes 0", "latest": "no release",
	} {
		if _, err := ParseRelease(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

func field(name string, edit ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
			ExternalIPs: []string{"192.0.2.50"},
		},
	}
	for _, e := range edit {
		e(svc)
	}
	return svc
}

func proxyConfig(gates string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"},
		Data:       map[string]string{"config.conf": "kind: KubeProxyConfiguration\nmode: nftables\nfeatureGates: {" + gates + "}\n"},
	}
}

func ciliumConfig(replaces string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cilium-config"},
		Data:       map[string]string{"kube-proxy-replacement": replaces},
	}
}

func object(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err)
	}
	return o
}

// lookAt is LookAhead as the plugin calls it.
func lookAt(t *testing.T, target string, c Cluster) Outlook {
	t.Helper()
	r, err := ParseRelease(target)
	if err != nil {
		t.Fatal(err)
	}
	return LookAhead(c, Take(c), r, map[string]bool{"writes": true, "keeps": false})
}

func told(o Outlook) []string {
	out := []string{}
	for _, q := range o.Consequences {
		out = append(out, fmt.Sprintf("%s %s %s", q.Effect, q.Object(), q.Field))
	}
	return out
}

func TestWhatAReleaseMeansForAService(t *testing.T) {
	t.Parallel()
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	nonsense := func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"[a b]"} }
	kubeProxy, cilium := []*corev1.ConfigMap{proxyConfig("")}, []*corev1.ConfigMap{ciliumConfig("true"), proxyConfig("")}
	tests := map[string]struct {
		target  string
		service *corev1.Service
		maps    []*corev1.ConfigMap
		want    Effect
		says    string
	}{
		"1.36 only warns":                                {"1.36", field("web"), kubeProxy, EffectWarns, "warns at every write"},
		"1.39 still only warns":                          {"1.39", field("web"), kubeProxy, EffectWarns, "works as before"},
		"1.40 needs the gate":                            {"1.40", field("web"), kubeProxy, EffectNeedsGate, "unless every kube-proxy"},
		"1.40 with the gate on lasts until 1.43":         {"1.40", field("web"), []*corev1.ConfigMap{proxyConfig("AllowServiceExternalIPs: true")}, EffectNeedsGate, "only because ConfigMap kube-system/kube-proxy sets"},
		"1.40 with the gate off has no traffic":          {"1.40", field("web"), []*corev1.ConfigMap{proxyConfig("AllowServiceExternalIPs: false")}, EffectNeedsGate, "already"},
		"1.43 has no way":                                {"1.43", field("web"), kubeProxy, EffectStops, "no feature gate keeps it"},
		"1.46 has none either":                           {"1.46", field("web"), kubeProxy, EffectStops, "no feature gate keeps it"},
		"Cilium in kube-proxy's place knows no gate":     {"1.40", field("web"), cilium, EffectUpToDatapath, "until a release of Cilium"},
		"from 1.43 conformance asks Cilium to drop it":   {"1.43", field("web"), cilium, EffectUpToDatapath, "conformance asks for from 1.43"},
		"the API server warns before Cilium, too":        {"1.36", field("web"), cilium, EffectWarns, "warns"},
		"Cilium beside kube-proxy changes nothing":       {"1.40", field("web"), []*corev1.ConfigMap{ciliumConfig("false"), proxyConfig("")}, EffectNeedsGate, "kube-proxy"},
		"a headless Service loses nothing":               {"1.43", field("web", headless), kubeProxy, EffectDead, "headless"},
		"a value that is none is unknown, never nothing": {"1.36", field("web", nonsense), kubeProxy, EffectUnreadable, "cannot be told"},
		"without any sign kube-proxy is assumed, aloud":  {"1.43", field("web"), nil, EffectStops, "If kube-proxy serves this cluster"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster{Services: []*corev1.Service{tc.service, field("quiet", func(s *corev1.Service) { s.Spec.ExternalIPs = nil })}}
			c.ConfigMaps = tc.maps
			o := lookAt(t, tc.target, c)
			i := slices.IndexFunc(o.Consequences, func(q Consequence) bool { return q.Name == "web" })
			if i < 0 || slices.ContainsFunc(o.Consequences, func(q Consequence) bool { return q.Name == "quiet" }) {
				t.Fatalf("told %v", told(o))
			}
			q := o.Consequences[i]
			if q.Effect != tc.want || !strings.Contains(q.Message, tc.says) || !strings.HasSuffix(q.Message, ".") || q.Fix == "" {
				t.Errorf("got %s: %s (%s), want %s with %q", q.Effect, q.Message, q.Fix, tc.want, tc.says)
			}
			if o.Depends() == (tc.want == EffectDead) || q.EntryPoint == "" {
				t.Errorf("depends %t, entry point %q", o.Depends(), q.EntryPoint)
			}
		})
	}
}

func TestObjectsThatEmbedTheFieldDependOnItToo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		object string
		want   []string
	}{
		"a chart's values in a HelmRelease": {
			"{kind: HelmRelease, metadata: {namespace: a, name: b}, spec: {values: {controller: {service: {externalIPs: [192.0.2.1]}}}}}",
			[]string{"FieldStops HelmRelease a/b spec.values.controller.service.externalIPs"},
		},
		"values that are one text": {
			"{kind: HelmChartConfig, metadata: {namespace: a, name: b}, spec: {valuesContent: 'service: {externalIPs: [192.0.2.1]}'}}",
			[]string{"FieldStops HelmChartConfig a/b spec.valuesContent.service.externalIPs"},
		},
		"several, in order": {
			"{kind: Kafka, metadata: {namespace: a, name: b}, spec: {l: [{o: {externalIPs: [192.0.2.2]}}, {o: {externalIPs: [192.0.2.1]}}]}}",
			[]string{"FieldStops Kafka a/b spec.l[0].o.externalIPs", "FieldStops Kafka a/b spec.l[1].o.externalIPs"},
		},
		"an empty list is nothing":             {"{kind: X, metadata: {name: b}, spec: {externalIPs: []}}", []string{}},
		"a status is not a wish":               {"{kind: X, metadata: {name: b}, status: {externalIPs: [192.0.2.1]}}", []string{}},
		"a definition only describes it":       {"{kind: CustomResourceDefinition, metadata: {name: b}, spec: {default: {externalIPs: [x]}}}", []string{}},
		"our own objects are not asked":        {"{apiVersion: offramp.dev/v1alpha1, kind: MigrationRecord, metadata: {name: b}, spec: {externalIPs: [x]}}", []string{}},
		"text that only speaks of it is prose": {"{kind: X, metadata: {name: b}, spec: {text: externalIPs are gone}}", []string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster{ProxyMode: v1alpha1.ProxyNFTables}
			c.Others = []*unstructured.Unstructured{object(tc.object), nil}
			if got := told(lookAt(t, "1.43", c)); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAHostileObjectEndsTheSearchNotTheProgram(t *testing.T) {
	t.Parallel()
	deep := map[string]any{"externalIPs": []any{"192.0.2.1"}}
	for range 10_000 {
		deep = map[string]any{"a": deep}
	}
	wide := map[string]any{}
	for i := range 1000 {
		wide[fmt.Sprint(i)] = map[string]any{"externalIPs": []any{"192.0.2.1"}}
	}
	c := Cluster{ProxyMode: v1alpha1.ProxyNFTables}
	c.Others = []*unstructured.Unstructured{
		{Object: map[string]any{"kind": "Deep", "spec": deep}},
		{Object: map[string]any{"kind": "Wide", "spec": wide}},
		{Object: map[string]any{"kind": "Odd", "spec": map[string]any{"externalIPs": []any{1, nil, "", map[string]any{}}}}},
	}
	if got := told(lookAt(t, "1.43", c)); len(got) != mostEmbeddings {
		t.Errorf("told %d, want the first %d of the wide one: %v", len(got), mostEmbeddings, got)
	}
}

func TestAGatewayIsJudgedByWhatItsImplementationDoes(t *testing.T) {
	t.Parallel()
	gw := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "c", Addresses: []gatewayv1.GatewaySpecAddress{{Value: "192.0.2.9"}},
		},
	}
	class := func(controller string) []*gatewayv1.GatewayClass {
		return []*gatewayv1.GatewayClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)},
		}}
	}
	made := func(ips ...string) []*corev1.Service {
		return []*corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "infra", Name: "edge-generated", Labels: map[string]string{"gateway.networking.k8s.io/gateway-name": "edge"},
			},
			Spec: corev1.ServiceSpec{ExternalIPs: ips, Ports: []corev1.ServicePort{{Port: 80}}},
		}}
	}
	tests := map[string]struct {
		classes  []*gatewayv1.GatewayClass
		services []*corev1.Service
		want     Effect
	}{
		"one that writes the field":                    {class("writes"), nil, EffectStops},
		"one that keeps it":                            {class("keeps"), nil, ""},
		"one that nobody knows":                        {class("stranger"), nil, EffectGatewayUnknown},
		"a class that was not given":                   {nil, nil, EffectGatewayUnknown},
		"a stranger whose Service carries the field":   {class("stranger"), made("192.0.2.9"), EffectStops},
		"a stranger whose Service does not":            {class("stranger"), made(), ""},
		"a writer whose version does not write it yet": {class("writes"), made(), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster{ProxyMode: v1alpha1.ProxyNFTables, Gateways: []*gatewayv1.Gateway{gw, nil}, GatewayClasses: tc.classes, Services: tc.services}
			var got Effect
			for _, q := range lookAt(t, "1.43", c).Consequences {
				if q.Kind == "Gateway" {
					got = q.Effect
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func container(name, image string, args ...string) []Workload {
	return []Workload{{Kind: "DaemonSet", Namespace: "kube-system", Name: name, Containers: []Container{{Name: name, Image: image, Args: args}}}}
}

func TestWhatServesServicesIsReadOffTheCluster(t *testing.T) {
	t.Parallel()
	felix := object("{kind: FelixConfiguration, metadata: {name: default}, spec: {bpfEnabled: true}}")
	tests := map[string]struct {
		cluster Cluster
		want    string
	}{
		"nothing":                         {Cluster{}, " Default"},
		"the mode alone":                  {Cluster{ProxyMode: v1alpha1.ProxyIPTables}, "kube-proxy Default"},
		"kube-proxy by its image":         {Cluster{Surroundings: Surroundings{Workloads: container("p", "registry.k8s.io/kube-proxy:v1.36.3")}}, "kube-proxy Default"},
		"kube-proxy by its command":       {Cluster{Surroundings: Surroundings{Workloads: container("p", "node", "/usr/local/bin/kube-proxy")}}, "kube-proxy Default"},
		"a gate among arguments":          {Cluster{Surroundings: Surroundings{Workloads: container("p", "kube-proxy", "--feature-gates=A=true,AllowServiceExternalIPs=false")}}, "kube-proxy Off"},
		"a gate as the next argument":     {Cluster{Surroundings: Surroundings{Workloads: container("p", "kube-proxy", "--feature-gates", "AllowServiceExternalIPs=true")}}, "kube-proxy On"},
		"a gate of the API server only":   {Cluster{Surroundings: Surroundings{Workloads: container("a", "kube-apiserver", "--feature-gates=AllowServiceExternalIPs=true")}}, " Default"},
		"kube-router as the proxy":        {Cluster{Surroundings: Surroundings{Workloads: container("r", "docker.io/cloudnativelabs/kube-router:v2")}}, "kube-router NotApplicable"},
		"kube-router beside kube-proxy":   {Cluster{ProxyMode: v1alpha1.ProxyIPVS, Surroundings: Surroundings{Workloads: container("r", "kube-router", "--run-service-proxy=false")}}, "kube-proxy Default"},
		"Calico's eBPF":                   {Cluster{Surroundings: Surroundings{Others: []*unstructured.Unstructured{felix}}}, "Calico's eBPF dataplane NotApplicable"},
		"a configuration that is no YAML": {Cluster{Surroundings: Surroundings{ConfigMaps: []*corev1.ConfigMap{proxyConfig("AllowServiceExternalIPs: [")}}}, "kube-proxy Default"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := datapathOf(tc.cluster)
			if got := d.Proxy + " " + string(d.Gate); got != tc.want {
				t.Errorf("got %q (%+v), want %q", got, d, tc.want)
			}
		})
	}
}

func TestSettingsThatAReleaseRefusesAreTold(t *testing.T) {
	t.Parallel()
	gates := func(word string) Cluster {
		return Cluster{Surroundings: Surroundings{ConfigMaps: []*corev1.ConfigMap{proxyConfig("AllowServiceExternalIPs: " + word)}}}
	}
	plugin := Cluster{ProxyMode: v1alpha1.ProxyIPVS, Surroundings: Surroundings{
		Workloads: container("kube-apiserver", "kube-apiserver", "--enable-admission-plugins=NodeRestriction,DenyServiceExternalIPs"),
	}}
	tests := map[string]struct {
		target  string
		cluster Cluster
		want    []string
	}{
		"1.40 takes the gate on":                      {"1.40", gates("true"), []string{}},
		"1.43 refuses the gate on":                    {"1.43", gates("true"), []string{"GateRefused ConfigMap kube-system/kube-proxy data[config.conf] featureGates"}},
		"1.43 takes the gate off":                     {"1.43", gates("false"), []string{}},
		"1.46 refuses even the gate off":              {"1.46", gates("false"), []string{"GateRefused ConfigMap kube-system/kube-proxy data[config.conf] featureGates"}},
		"1.43 still has the plugin, and not ipvs":     {"1.43", plugin, []string{"IPVSGoes Cluster datapath "}},
		"1.36 has both":                               {"1.36", plugin, []string{}},
		"1.46 does not start with the plugin":         {"1.46", plugin, []string{"PluginGone DaemonSet kube-system/kube-apiserver container \"kube-apiserver\"", "IPVSGoes Cluster datapath "}},
		"a cluster that says nothing is told of once": {"1.40", Cluster{}, []string{"DatapathUnknown Cluster datapath "}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := told(lookAt(t, tc.target, tc.cluster)); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryEffectIsExplainedOnce(t *testing.T) {
	t.Parallel()
	seen := map[Effect]bool{}
	for _, d := range Effects() {
		if seen[d.Effect] || !strings.HasSuffix(d.Meaning, ".") || !strings.HasSuffix(d.WayOut, ".") || d.Level == "" {
			t.Errorf("%s stands twice, or is not explained", d.Effect)
		}
		seen[d.Effect] = true
	}
	if strange := Effect("Strange").Doc(); !strange.Depends || strange.Level != LevelError {
		t.Errorf("an effect that is not explained counts as %+v, and must count as the worst", strange)
	}
}
