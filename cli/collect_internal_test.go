package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"offramp.dev/api/v1alpha1"
)

// fromFile collects one input and returns what was said about it.
func fromFile(t *testing.T, in string) (*collection, string) {
	t.Helper()
	var messages bytes.Buffer
	c, err := (&app{IOStreams: IOStreams{In: strings.NewReader(in), Err: &messages}}).collectFiles(t.Context(), []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	return c, messages.String()
}

func TestEveryObjectOfAFileKnowsItsPlace(t *testing.T) {
	t.Parallel()
	c, _ := fromFile(t, strings.Join([]string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: x}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {externalIPs: 7}\n",
		"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: x}\nspec: {deep: [{externalIPs: [192.0.2.1]}]}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: x}\n",
	}, "---\n"))
	want := map[string]string{
		"Service x/a": "stdin: document 1, line 1", "Node n1": "stdin: document 2, line 4", "Service default/bad": "stdin: document 3, line 8",
		"Thing x/t": "stdin: document 4, line 13",
	}
	for key, place := range want {
		if at, found := c.origin(key); !found || at.String() != place {
			t.Errorf("%s is at %q (%t), want %q", key, at, found, place)
		}
	}
	if at, found := c.origin("Service x/other"); found {
		t.Errorf("a Service that was not given is at %q", at)
	}
}

func TestFilesFillTheSurroundings(t *testing.T) {
	t.Parallel()
	c, messages := fromFile(t, strings.Join([]string{
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: x}\nspec: {template: {spec: {containers: [{name: c, args: [--a]}]}}}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: d-5d-x, namespace: x, ownerReferences: [{kind: ReplicaSet, name: d-5d, controller: true}]}\n",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n",
		"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: policy}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-proxy, namespace: kube-system}\ndata: {config.conf: 'mode: ipvs'}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {port: 80}\n",
		"apiVersion: v1\nkind: Endpoints\nmetadata: {name: kubernetes, namespace: default}\nsubsets: [{addresses: [{ip: 192.0.2.9}]}]\n",
		"apiVersion: crd.projectcalico.org/v1\nkind: BGPConfiguration\nmetadata: {name: default}\n",
		"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: empty}\nspec: {externalIPs: []}\n",
		"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: off}\nspec: {externalIPs: false}\n",
		"apiVersion: helm.example.com/v1\nkind: Release\nmetadata: {name: r}\nspec: {values: {service: {externalIPs: [192.0.2.1]}}}\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\nspec: {properties: {externalIPs: {type: array}}}\n",
		"apiVersion: serving.example.com/v1\nkind: Service\nmetadata: {name: s}\nspec: {\"externalIP\\u0073\": [192.0.2.1]}\n",
	}, "---\n"))
	if messages != "" || c.failed {
		t.Errorf("messages %q", messages)
	}
	if len(c.Workloads) != 1 || len(c.Ingresses) != 1 || len(c.NetworkPolicies) != 1 || len(c.ConfigMaps) != 1 || len(c.APIServers) != 1 || c.ProxyMode != v1alpha1.ProxyIPVS {
		t.Errorf("got %d workloads, %d Ingresses, %d policies, %d ConfigMaps, API servers %v, mode %q", len(c.Workloads), len(c.Ingresses), len(c.NetworkPolicies), len(c.ConfigMaps), c.APIServers, c.ProxyMode)
	}
	if got, want := others(c), []string{"BGPConfiguration default", "Release r", "Service s"}; !slices.Equal(got, want) {
		t.Errorf("others %q, want %q", got, want)
	}
}

func TestBadInputHasItsPlaceAndHidesNothing(t *testing.T) {
	t.Parallel()
	good := "apiVersion: v1\nkind: Service\nmetadata: {name: good}\nspec: {externalIPs: [192.0.2.1]}\n"
	export := func(uid string) string {
		var out strings.Builder
		for i := range 200 {
			fmt.Fprintf(&out, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s%d","uid":"%s-%d"}}`+"\n", i, uid, i)
		}
		return out.String()
	}
	tests := map[string]struct {
		in, message string
		services    int
	}{
		"two clusters in one stream are told once": {export("a") + export("b"), "error: stdin: document 201, line 201: Service default/s0 has UID b-0 here and a-0 at stdin: document 1, line 1", 400},
		"a key twice in JSON": {
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"externalIPs":["192.0.2.1"],"externalIPs":["192.0.2.2"]}}`,
			`error: stdin: document 1, line 1: Service default/s: duplicate field "spec.externalIPs"; the last one was read`, 1,
		},
		"a key twice in YAML":        {strings.Replace(good, "spec:", "spec: {}\nspec:", 1), `line 5: key "spec" already set in map; the last one was read`, 1},
		"an annotation of 10 MB":     {`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","annotations":{"a":"` + strings.Repeat("x", 10<<20) + `"}}}`, "", 1},
		"an annotation of 10 MB too": {strings.Replace(good, "good}", "good, annotations: {a: "+strings.Repeat("x", 10<<20)+"}}", 1), "", 1},
		"JSON that is broken inside": {`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"externalIPs"}}` + "\n---\n" + good, "error: stdin: document 1, line 1: Service", 1},
		"metadata that is no object": {`{"apiVersion":"example.com/v1","kind":"T","metadata":7,"externalIPs":["192.0.2.1"]}` + "\n---\n" + good, "metadata: is not an object", 1},
		"half a file":                {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}},{"apiVersion":"v1","ki`, "error: stdin: document 1, line 1: not JSON: unexpected EOF", 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, messages := fromFile(t, tc.in)
			if !strings.Contains(messages, tc.message) || c.failed != (tc.message != "") || strings.Count(messages, "\n") > 1 {
				t.Errorf("failed %t, messages %.500q; want one line with %q", c.failed, messages, tc.message)
			}
			if len(c.Services) != tc.services {
				t.Errorf("%d Services, want %d", len(c.Services), tc.services)
			}
		})
	}
}

func TestAnInputThatCannotBeReadFails(t *testing.T) {
	t.Parallel()
	c, err := (&app{IOStreams: IOStreams{Err: io.Discard}}).collectFiles(t.Context(), []string{filepath.Join(t.TempDir(), "absent")})
	if err != nil || !c.failed {
		t.Errorf("failed %t, %v; want failed", c.failed, err)
	}
}

func FuzzCollect(f *testing.F) {
	for _, seed := range []string{
		"", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","managedFields":[]},"spec":{"externalIPs":[7]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`, "apiVersion: x/v1\nkind: T\nmetadata: {name: 7}\nexternalIPs: [a]\n",
		`{"apiVersion":"metallb.io/v1beta1","kind":"IPAddressPool","metadata":{"name":"p"},"spec":{"addresses":["x"]}}`,
		`{"apiVersion":"helm.cattle.io/v1","kind":"HelmChartConfig","metadata":null}`, "\x1f\x8b\x08", "\xff\xfe{\x00}\x00",
		`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"kubernetes","namespace":"default"},"subsets":[{}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c, _ := fromFile(t, in)
		for _, o := range c.Others {
			if o.GetName() == "" || o.GetKind() == "" {
				t.Errorf("%v has no name or kind", o.Object)
			}
		}
	})
}
