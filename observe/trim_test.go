package observe

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// fat is a Service as clusters have them: applied by a tool that keeps a record, with three field managers and the
// annotations of half a dozen controllers.
func fat(i int) *corev1.Service {
	name := fmt.Sprintf("web-%05d", i)
	labels := map[string]string{}
	for _, key := range []string{"name", "instance", "version", "component", "part-of", "managed-by"} {
		labels["app.kubernetes.io/"+key] = name
	}
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%03d", i%100), Name: name, UID: "6f2b7a52-3a1f-4c0e-9d57-0a4f1d6d4a11", ResourceVersion: "123456789",
			Labels: labels, Annotations: map[string]string{v1alpha1.AnnotationHostnames: name + ".example.com"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, Selector: map[string]string{"app": name},
			ExternalIPs: []string{fmt.Sprintf("192.0.%d.%d", i/250%250, i%250+1)}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}},
		},
	}
	for k := range 8 {
		s.Annotations[fmt.Sprintf("controller-%d.example.com/settings", k)] = strings.Repeat("x", 40*(k+1))
	}
	record, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": s.Annotations}, "spec": s.Spec})
	s.Annotations[lastApplied] = string(record)
	owned := func(what string) *metav1.FieldsV1 {
		return metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + strings.Repeat(`"f:some.example.com/annotation":{},`, 12) + `".":{}}},"f:spec":{` + what + `}}`)
	}
	s.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "argocd-controller", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: owned(`"f:externalIPs":{},"f:ports":{}`)},
		{Manager: "kubectl-client-side-apply", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: owned(`"f:selector":{}`)},
		{Manager: "some-controller", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: owned(`"f:type":{}`)},
	}
	return s
}

// heapOf is what one Service takes in an informer's store, decoded as from a watch.
func heapOf(tb testing.TB, n int, transform func(any) (any, error)) float64 {
	tb.Helper()
	texts := make([][]byte, n)
	for i := range texts {
		texts[i], _ = json.Marshal(fat(i))
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	before := liveHeap()
	for _, text := range texts {
		s := &corev1.Service{}
		if err := json.Unmarshal(text, s); err != nil {
			tb.Fatal(err)
		}
		o, err := transform(s)
		if err != nil {
			tb.Fatal(err)
		}
		if err := store.Add(o); err != nil {
			tb.Fatal(err)
		}
	}
	grown := float64(liveHeap()-before) / float64(n)
	runtime.KeepAlive(texts)
	runtime.KeepAlive(store)
	return grown
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func whole(o any) (any, error) { return o, nil }

// Not parallel: it measures the heap of the process.
func TestAServiceInTheCacheTakesLessThanFourKibibytes(t *testing.T) {
	trimmed, untouched := heapOf(t, 3000, Trim), heapOf(t, 3000, whole)
	t.Logf("%.0f bytes a Service, %.0f untrimmed: %.1f times less", trimmed, untouched, untouched/trimmed)
	if trimmed > 4096 {
		t.Errorf("%.0f bytes a Service", trimmed)
	}
	if untouched < 2*trimmed {
		t.Errorf("%.0f bytes untrimmed: the Services of this test are not what the trim is for", untouched)
	}
}

// BenchmarkServiceInTheCache measures the informer's store with and without the trim in one run.
func BenchmarkServiceInTheCache(b *testing.B) {
	const n = 20000
	for b.Loop() {
		trimmed, untouched := heapOf(b, n, Trim), heapOf(b, n, whole)
		b.ReportMetric(trimmed, "B/Service")
		b.ReportMetric(untouched, "B/untrimmed-Service")
		b.ReportMetric(untouched/trimmed, "times-less")
	}
}

func trimmed[T any](t *testing.T, o T) T {
	t.Helper()
	got, err := Trim(o)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := got.(T)
	if !ok {
		t.Fatalf("%T became %T", o, got)
	}
	return out
}

func TestTheInventorySaysTheSameOfTrimmedServices(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*corev1.Service){
		"owned by Argo CD's field manager": func(*corev1.Service) {},
		"applied from a file":              func(s *corev1.Service) { s.ManagedFields = nil },
		"owned by nobody":                  func(s *corev1.Service) { s.ManagedFields = nil; delete(s.Annotations, lastApplied) },
		"a Helm release with a long name": func(s *corev1.Service) {
			s.ManagedFields, s.Annotations["meta.helm.sh/release-name"] = nil, strings.Repeat("r", 40)
		},
		"tracked by a long id": func(s *corev1.Service) {
			s.ManagedFields, s.Annotations["argocd.argoproj.io/tracking-id"] = nil, strings.Repeat("t", 900)
		},
		"many names": func(s *corev1.Service) {
			s.Annotations["external-dns.alpha.kubernetes.io/hostname"] = strings.Repeat("a.example.com,", 100) + "z.example.com"
		},
		"owned by a controller": func(s *corev1.Service) {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "Kafka", Name: "k", APIVersion: "kafka.strimzi.io/v1"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fat(1)
			edit(a)
			want := inventory.Take(inventory.Cluster{Services: []*corev1.Service{a.DeepCopy()}})
			got := inventory.Take(inventory.Cluster{Services: []*corev1.Service{trimmed(t, a)}})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("trimmed: %+v\nwhole: %+v", got, want)
			}
		})
	}
}

func TestKeysOfAnnotationsStay(t *testing.T) {
	t.Parallel()
	before := fat(1)
	after := trimmed(t, before.DeepCopy())
	for key, value := range before.Annotations {
		got, ok := after.Annotations[key]
		if !ok || len(value) <= longText && got != value {
			t.Errorf("%s: %q", key, got)
		}
	}
	if len(after.ManagedFields) != 1 || after.ManagedFields[0].Manager != "argocd-controller" {
		t.Errorf("managed fields %v", after.ManagedFields)
	}
}

func TestANodeKeepsItsAddressesRangesAndBoot(t *testing.T) {
	t.Parallel()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.1.0.0/24"}}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	n.Status.NodeInfo.BootID = "b1"
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"image"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	got := trimmed(t, n)
	if len(got.Status.Images) > 0 || len(got.Status.Conditions) != 1 {
		t.Errorf("kept %+v", got.Status)
	}
	if got.Labels["a"] != "b" || got.Spec.PodCIDRs[0] == "" || got.Status.Addresses[0].Address == "" || got.Status.NodeInfo.BootID != "b1" {
		t.Errorf("lost something of %+v", got)
	}
}

func TestOfManagedEndpointsOneStandsForAllAndAReadyOneIfThereIsOne(t *testing.T) {
	t.Parallel()
	slice := func(managedBy string, ready ...bool) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: managedBy, "app": "web",
		}}}
		for i, r := range ready {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}, Conditions: discoveryv1.EndpointConditions{Ready: &r}, NodeName: new("n"),
			})
		}
		return s
	}
	for name, c := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		want  string
		ready bool
	}{
		"the ready one of many":         {slice(sliceController, false, true, true), "10.0.0.2", true},
		"none is ready":                 {slice(sliceController, false, false), "10.0.0.1", false},
		"no endpoints":                  {slice(sliceController), "", false},
		"a tenant's own slice is whole": {slice("me", false, true), "10.0.0.1 10.0.0.2", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := trimmed(t, c.slice)
			var addresses []string
			ready := false
			for _, e := range got.Endpoints {
				addresses, ready = append(addresses, e.Addresses...), ready || isReady(e)
				if e.NodeName != nil {
					t.Error("the node's name stays")
				}
			}
			if strings.Join(addresses, " ") != c.want || ready != c.ready || got.Labels[discoveryv1.LabelServiceName] != "web" {
				t.Errorf("%v, ready %v, labels %v", addresses, ready, got.Labels)
			}
		})
	}
}
