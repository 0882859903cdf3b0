package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

func entryScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gatewayv1.Install} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func served(service string, ready ...bool) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, r := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &r}})
	}
	return s
}

func gatewayAt(namespace, label string) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
	if label != "" {
		g.Labels = map[string]string{v1alpha1.LabelEntryPoint: label}
	}
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "l", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	g.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.50"}}
	return g
}

func TestTheInventoryInTheControllerSeesEndpointsGatewaysAndTheDatapath(t *testing.T) {
	t.Parallel()
	proxy := func(config string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}, Data: map[string]string{"config.conf": config}}
	}
	for name, c := range map[string]struct {
		objects []client.Object
		fails   string
		address string
		want    string
		never   string
	}{
		"an endpoint is ready":                       {objects: []client.Object{served("web", true)}, never: inventory.ReasonNoEndpoints},
		"no endpoint is ready":                       {objects: []client.Object{served("web", false)}, want: inventory.ReasonNoEndpoints},
		"nobody wrote a slice yet":                   {never: inventory.ReasonNoEndpoints},
		"slices may not be read":                     {objects: []client.Object{served("web", false)}, fails: "EndpointSliceList", never: inventory.ReasonNoEndpoints},
		"a Gateway of others serves the address":     {objects: []client.Object{gatewayAt("infra", "")}, want: "Gateway infra/g"},
		"our own Gateway serves it":                  {objects: []client.Object{gatewayAt("gateways", "x")}, never: "Gateway"},
		"a tenant's Gateway that claims to be ours":  {objects: []client.Object{gatewayAt("shop", "x")}, want: "Gateway shop/g"},
		"Gateways may not be read":                   {objects: []client.Object{gatewayAt("infra", "")}, fails: "GatewayList", never: "Gateway"},
		"a node address under ipvs":                  {objects: []client.Object{proxy("mode: ipvs")}, address: "192.0.2.11", want: "ipvs"},
		"a node address under nftables":              {objects: []client.Object{proxy("mode: nftables")}, address: "192.0.2.11", never: "ipvs"},
		"settings that may not be read judge nobody": {objects: []client.Object{proxy("mode: ipvs")}, fails: "ConfigMap", address: "192.0.2.11", never: "ipvs mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := verdictOf(t, c.objects, c.fails, c.address)
			if c.want != "" && !strings.Contains(text, c.want) || c.never != "" && strings.Contains(text, c.never) {
				t.Errorf("want %q, never %q, got:\n%s", c.want, c.never, text)
			}
		})
	}
}

// verdictOf is what the inventory says of Service shop/web in a world of these objects, of which one kind may not be read.
func verdictOf(t *testing.T, objects []client.Object, fails, address string) string {
	t.Helper()
	if address == "" {
		address = "192.0.2.50"
	}
	refuse := func(kind string) error {
		if kind == fails {
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no right"))
		}
		return nil
	}
	cl := fake.NewClientBuilder().WithScheme(entryScheme(t)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			gvk, err := c.GroupVersionKindFor(list)
			if err = errors.Join(err, refuse(gvk.Kind)); err != nil {
				return err
			}
			return c.List(ctx, list, o...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			gvk, err := c.GroupVersionKindFor(o)
			if err = errors.Join(err, refuse(gvk.Kind)); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	all := func(gvk schema.GroupVersionKind) bool { return entryScheme(t).Recognizes(gvk) }
	l := NewLooker(Ports{Cached: cl, Live: cl, Serves: all})
	w := worldOf("e")
	w.Policy = policyOfShop()
	w.cluster = l.lookAtCluster(t.Context(), noon)
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.11"}}
	w.nodes = []corev1.Node{node}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{v1alpha1.AnnotationPolicy: "standard"}},
		Spec: corev1.ServiceSpec{
			ExternalIPs: []string{address}, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
		},
	}
	e := l.entry(t.Context(), w, []*corev1.Service{svc}, nil)
	if !slices.Equal(e.Services, []string{"shop/web"}) {
		t.Fatalf("%+v", e)
	}
	var out strings.Builder
	for _, f := range e.Findings {
		out.WriteString(f.Reason + " " + string(f.Severity) + ": " + f.Message + "\n")
	}
	return out.String()
}

func policyOfShop() *v1alpha1.MigrationPolicy {
	return &v1alpha1.MigrationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "standard"},
		Spec:       v1alpha1.MigrationPolicySpec{Namespaces: []string{"shop"}, Gateway: &v1alpha1.GatewaySettings{ClassName: "edge", Namespace: "gateways"}},
	}
}

func TestWhatCannotBeReadOfTheClusterIsUnseenAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	cl := fake.NewClientBuilder().WithScheme(entryScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no right")
		},
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			if key.Namespace != "kube-system" {
				t.Errorf("asks for ConfigMap %s: the right is for kube-system", key)
			}
			return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
		},
	}).Build()
	got := NewLooker(Ports{Live: cl}).lookAtCluster(t.Context(), noon)
	var kinds []string
	for _, u := range got.unseen {
		kinds = append(kinds, u.Kind)
	}
	if !slices.Equal(kinds, []string{"API server address", "ServiceCIDR"}) {
		t.Errorf("unseen: %v", kinds)
	}
	if got.serviceCIDRs != nil || got.apiServers != nil {
		t.Error("what was not seen is nil, never empty")
	}
}

func TestAnInformerThatNeverSyncsHoldsNoPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cl := fake.NewClientBuilder().WithScheme(entryScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		}).Build()
		l := NewLooker(Ports{Cached: cl, Serves: func(schema.GroupVersionKind) bool { return true }})
		web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		if list, err := l.endpointSlices(t.Context(), []*corev1.Service{web}); list != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("EndpointSlices %v (%v)", list, err)
		}
		if list, err := l.gateways(t.Context(), nil); list != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Gateways %v (%v)", list, err)
		}
	})
}
