package guard_test

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/config"
	"offramp.dev/guard"
)

func claim(holders ...string) v1alpha1.AddressClaim {
	out := v1alpha1.AddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for _, h := range holders {
		ns, svc, _ := strings.Cut(h, "/")
		out.Spec.Holders = append(out.Spec.Holders, v1alpha1.ClaimHolder{Namespace: ns, Name: svc})
	}
	return out
}

func TestHolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims []v1alpha1.AddressClaim
		want   map[string]string
	}{
		"an empty ledger claims nothing":                 {want: map[string]string{}},
		"holders are sorted":                             {[]v1alpha1.AddressClaim{claim("z/z", "b/c")}, map[string]string{"a": "b/c z/z"}},
		"a holder is named once":                         {[]v1alpha1.AddressClaim{claim("b/c", "b/c")}, map[string]string{"a": "b/c"}},
		"a claim without holders still claims":           {[]v1alpha1.AddressClaim{claim()}, map[string]string{"a": ""}},
		"a whole namespace may hold":                     {[]v1alpha1.AddressClaim{claim("edge/*")}, map[string]string{"a": "edge/*"}},
		"two rows of one address are joined, never lost": {[]v1alpha1.AddressClaim{claim("x/y"), claim("b/c")}, map[string]string{"a": "b/c x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := guard.Holders(c.claims); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheManifestsUseTheNamesThatTheControllerUses(t *testing.T) {
	t.Parallel()
	for file, names := range map[string][]string{
		"guard/claimed-addresses.yaml": {"name: " + guard.PolicyClaimed, "name: " + guard.ConfigMapName},
		"guard/adopted-services.yaml":  {"name: " + guard.PolicyAdopted, "'" + v1alpha1.ClassAdopted + "'"},
		"guard/owned-services.yaml":    {"'" + v1alpha1.LabelEntryPoint + "'"},
		"guard/parameters.yaml":        {"name: " + guard.ConfigMapName},
	} {
		text, err := config.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s does not say %q", file, name)
			}
		}
	}
}
