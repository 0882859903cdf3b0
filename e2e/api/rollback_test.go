//go:build api

package api

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// TestTheBuiltInPluginClosesTheWayBack asks a real API server with the plugin, and one without, before and after release.
func TestTheBuiltInPluginClosesTheWayBack(t *testing.T) {
	requireNamespace(t)
	for name, plugin := range map[string]string{"with the plugin": "DenyServiceExternalIPs", "without": ""} {
		t.Run(name, func(t *testing.T) {
			c := plainServer(t, plugin)
			for _, present := range []bool{true, false} {
				got := lookBack(t, c, present)
				denied := strings.Contains(got.Denied, "Use of external IPs is denied by admission control")
				if got.Unanswered != "" || got.Refused != "" || denied != (plugin != "") || got.Denied != "" && !denied {
					t.Errorf("field present %t: %+v", present, got)
				}
			}
		})
	}
}

// plainServer is an API server without any policy of ours.
func plainServer(t *testing.T, plugin string) client.Client {
	t.Helper()
	env := &envtest.Environment{BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS"), ControlPlaneStopTimeout: 20 * time.Second}
	args := env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	if plugin != "" {
		args.Append("enable-admission-plugins", plugin)
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	cfg.WarningHandler = rest.NoWarnings{}
	c, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lookBack looks at a Service that lost the field by our hand. Where it is to be present the snapshot alone says so: with the
// plugin on nobody can create such a Service, and the dry run asks for the field and nothing else.
func lookBack(t *testing.T, c client.Client, present bool) migration.Return {
	t.Helper()
	name := map[bool]string{true: "carries", false: "released"}[present]
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{v1alpha1.AnnotationReleased: "e-1/1"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := c.Create(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	was := svc.DeepCopy()
	was.Spec.ExternalIPs, was.Spec.ExternalTrafficPolicy = []string{"203.0.113.77"}, corev1.ServiceExternalTrafficPolicyLocal
	f := migration.Facts{
		Now: time.Now(), Fields: []migration.Field{{Service: "default/" + name, Present: present, Mark: 1}},
		Record: migration.Record{Name: "e-1", Exists: true, Snapshot: migration.TakeSnapshot([]*corev1.Service{was}, nil, time.Now())},
	}
	w := &observe.World{EntryPoint: &v1alpha1.EntryPoint{}, Services: map[string]*corev1.Service{"default/" + name: svc}}
	got := observe.NewReturns(observe.Ports{Guard: c}).Look(t.Context(), w, f)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	var after corev1.Service
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(svc), &after); err != nil || after.ResourceVersion != svc.ResourceVersion {
		t.Errorf("the dry run changed the Service: %v", err)
	}
	return got[0]
}
