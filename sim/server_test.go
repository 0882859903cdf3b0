package sim

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/guard"
	"offramp.dev/sim/apitest"
)

func TestTheEmulatedServerBehavesAsARealOne(t *testing.T) {
	t.Parallel()
	s, err := NewServer(begin)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, s.As(UserController, nil), "apitest")
}

func TestTheEmulatedGuardDeniesClaimedAddressesToEverybodyButTheirHolders(t *testing.T) {
	t.Parallel()
	s, err := NewServer(begin)
	if err != nil {
		t.Fatal(err)
	}
	params := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: guard.ConfigMapName}}
	params.Data = map[string]string{"203.0.113.10": "shop/web", "203.0.113.11": "shop/*", "203.0.113.12": ""}
	if err := s.As(UserController, nil).Create(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		namespace, name, address string
		allowed                  bool
	}{
		"the holder may": {"shop", "web", "203.0.113.10", true},
		"another Service of the namespace may not":     {"shop", "api", "203.0.113.10", false},
		"the same name elsewhere may not":              {"bank", "web", "203.0.113.10", false},
		"any Service of a namespace that holds it may": {"shop", "api", "203.0.113.11", true},
		"an address that nobody holds is closed":       {"shop", "web", "203.0.113.12", false},
		"an address that is not claimed is open":       {"bank", "web", "203.0.113.13", true},
	}
	for name, x := range cases {
		for _, user := range []User{UserTenant, UserController} {
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: x.name},
				Spec:       corev1.ServiceSpec{ExternalIPs: []string{x.address}, Ports: []corev1.ServicePort{{Port: 80}}},
			}
			err := s.As(user, nil).Create(t.Context(), svc, client.DryRunAll)
			if x.allowed != (err == nil) {
				t.Errorf("%s, asked by %s: %v", name, user, err)
			}
			if err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), guard.PolicyClaimed)) {
				t.Errorf("%s, asked by %s: %v names not the policy", name, user, err)
			}
		}
	}
}
