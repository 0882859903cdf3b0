package inventory

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

func TestHostname(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("a", 63)
	long := strings.Join([]string{label, label, label, strings.Repeat("a", 61)}, ".")
	tests := []struct {
		name, text, want string
	}{
		{"a name", "www.example.com", "www.example.com"},
		{"upper case and a trailing dot", "WWW.Example.com.", "www.example.com"},
		{"a wildcard in front", "*.example.com", "*.example.com"},
		{"253 characters", long, long},
		{"254 characters", "a" + long, ""},
		{"a label of 64 characters", "a" + label + ".com", ""},
		{"a wildcard inside", "www.*.com", ""},
		{"a single label", "localhost", ""},
		{"an empty label", "www..com", ""},
		{"a hyphen at the edge", "-www.example.com", ""},
		{"an underscore", "_dmarc.example.com", ""},
		{"an address", "192.0.2.50", ""},
		{"a space", "www example.com", ""},
		{"another alphabet", "wwẅ.example.com", ""},
		{"a zone file's line", "www.example.com. IN A 192.0.2.1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := hostname(tt.text); got != tt.want || ok != (tt.want != "") {
				t.Errorf("hostname(%q) = %q, %v", tt.text, got, ok)
			}
		})
	}
}

func TestCandidatesComeFromAllAnnotationsOnce(t *testing.T) {
	t.Parallel()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1alpha1.AnnotationHostnames:                 "b.example.com, a.example.com,,",
		"external-dns.alpha.kubernetes.io/hostname":  "A.example.com.",
		"external-dns.kubernetes.io/hostname":        "c.example.com,bad name",
		"external-dns.alpha.kubernetes.io/something": "d.example.com",
	}}}
	names, bad := candidates(svc)
	if !slices.Equal(names, []string{"a.example.com", "b.example.com", "c.example.com"}) || !slices.Equal(bad, []string{"bad name"}) {
		t.Errorf("names %v, bad %v", names, bad)
	}
}

func TestGrantsEndAtLabelBorders(t *testing.T) {
	t.Parallel()
	w := &world{zones: []*v1alpha1.DNSZone{nil, {ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: v1alpha1.DNSZoneSpec{
		Zone: "example.com", Domains: []v1alpha1.DomainGrant{{Namespace: "shop", Suffixes: []string{"Shop.example.com.", ""}}},
	}}}}
	policy := &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Zones: []string{"z"}}}
	tests := []struct {
		name, host, namespace string
		policy                *v1alpha1.MigrationPolicy
		want                  bool
	}{
		{"a name under the domain", "www.shop.example.com", "shop", policy, true},
		{"the domain itself", "shop.example.com", "shop", policy, true},
		{"a name that only ends alike", "evilshop.example.com", "shop", policy, false},
		{"another namespace", "www.shop.example.com", "evil", policy, false},
		{"a name of the zone outside the domain", "www.example.com", "shop", policy, false},
		{"a policy without the zone", "www.shop.example.com", "shop", &v1alpha1.MigrationPolicy{}, false},
		{"no policy yet", "www.shop.example.com", "shop", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := w.granted(tt.host, tt.namespace, tt.policy); got != tt.want {
				t.Errorf("granted = %v, want %v", got, tt.want)
			}
		})
	}
	if !(&world{}).granted("anything.example.com", "x", policy) {
		t.Error("where zones were not looked at, candidates stand")
	}
}

func TestTooManyNamesBlock(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range MaxNames + 1 {
		list = append(list, strings.Repeat("a", i%60+1)+strings.Repeat("b", i/60)+".example.com")
	}
	e := only(t, Cluster{Services: []*corev1.Service{web("web", strings.Join(list, ","), "192.0.2.50")}})
	if count(e, ReasonTooManyNames) != 1 || len(e.Names) != MaxNames || e.Verdict != Blocked {
		t.Errorf("verdict %s, %d names, findings %+v", e.Verdict, len(e.Names), e.Findings)
	}
	e = only(t, Cluster{Services: []*corev1.Service{web("web", strings.Join(list[1:], ","), "192.0.2.50")}})
	if count(e, ReasonTooManyNames) != 0 {
		t.Errorf("%d names are not too many: %+v", MaxNames, e.Findings)
	}
}

func TestAnEntryPointShowsABoundedNumberOfFindings(t *testing.T) {
	t.Parallel()
	e := only(t, Cluster{Services: crowd(1000, "www.example.com")})
	last := e.Findings[len(e.Findings)-1]
	if len(e.Findings) != MaxFindings || !strings.Contains(last.Message, "more findings") || e.Verdict != Blocked {
		t.Errorf("%d findings, the last is %+v", len(e.Findings), last)
	}
}
