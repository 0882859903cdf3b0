package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is one shape that real clusters hold, and where the suite shows the right answer for it. The cases are those that
// users report: C from issues of projects, S from manifests and charts that are published.
type row struct {
	id, shape string
	// rings that show it: "inventory" by golden pairs that begin with the id; others by "file Test".
	golden bool
	tests  []string
	// note argues where the outcome differs from what one would expect, or why a part is not shown.
	note string
}

// allRows are the ids of the collection, written down apart from the table so that a forgotten row fails.
func allRows() []string {
	var out []string
	for i := 1; i <= 40; i++ {
		if !slices.Contains([]int{16, 22, 29, 35}, i) {
			out = append(out, fmt.Sprintf("C%02d", i))
		}
	}
	for _, i := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 17, 18, 19, 20, 22, 23, 24, 25} {
		out = append(out, fmt.Sprintf("S%02d", i))
	}
	return out
}

func reported() []row {
	return []row{
		{id: "C01", shape: "two node addresses, ipvs", golden: true, note: "without a name the recommendation is Adopt, and ipvs blocks it"},
		{id: "C02", shape: "a node address in ipvs mode", golden: true},
		{id: "C03", shape: "every node's address, control plane included", golden: true},
		{id: "C04", shape: "the virtual address of the API server", golden: true, note: "X35 shows it from kubeadm's settings, X42 from kube-vip"},
		{id: "C05", shape: "a pool of worker addresses", golden: true},
		{id: "C06", shape: "a pool that nobody announces", golden: true},
		{id: "C07", shape: "written by a Gateway implementation", golden: true, tests: []string{"../gateway/read_test.go TestReadIsNeverHealthyWhenAnyObjectIsMissing"}},
		{
			id: "C08", shape: "a class that MetalLB does not serve", golden: true,
			tests: []string{"../gateway/read_test.go TestReadSaysProgrammedWhenEverythingIsServedOnThePinnedAddresses"},
		},
		{id: "C09", shape: "externalTrafficPolicy Local without node ports", golden: true, tests: []string{"../migration/patches_test.go TestReleasePatchText"}},
		{id: "C10", shape: "the proxy settings of merged Gateways write the field", golden: true},
		{
			id: "C11", shape: "two controllers fight over one Service", golden: true, tests: []string{"../migration/mutations_test.go fight over the field"},
			note: "the manifest shows the owner; that a fight ends is a matter of time, and the walk shows it",
		},
		{id: "C12", shape: "three Services on one address", golden: true, note: "named, each moves to an address of its own, so none waits for the others"},
		{id: "C13", shape: "one address, Local, different selectors", golden: true},
		{id: "C14", shape: "53 over TCP and UDP in two Services", golden: true},
		{id: "C15", shape: "mixed protocols and external-dns", golden: true},
		{id: "C17", shape: "mail on a node address", golden: true},
		{id: "C18", shape: "two node addresses behind one name", golden: true},
		{
			id: "C19", shape: "an address of the wrong family", golden: true,
			note: "the value itself is CleanUp; beside live values the entry point is Blocked, because no plan is made before it is gone",
		},
		{id: "C20", shape: "dual stack on a single-stack cluster", golden: true},
		{
			id: "C21", shape: "UDP and stale conntrack entries", golden: true,
			tests: []string{"../agent/node_netns_test.go TestNodeShowsAttemptsThatNobodyAnswersAndDoesNotCountThem"},
		},
		{id: "C23", shape: "port 22 on a node address", golden: true},
		{id: "C24", shape: "an application dials its own external address", golden: true},
		{id: "C25", shape: "Calico or kube-router announces because of the field", golden: true},
		{id: "C26", shape: "an address that kube-router does not serve", golden: true},
		{id: "C27", shape: "Cilium without kube-proxy", golden: true},
		{id: "C28", shape: "OpenShift assigned it", golden: true},
		{id: "C30", shape: "patched by hand", golden: true},
		{id: "C31", shape: "a chart or operator puts it back", golden: true, tests: []string{"../migration/mutations_test.go fight over the field"}},
		{id: "C32", shape: "a load balancer address that never bound", golden: true},
		{id: "C33", shape: "k3s ServiceLB beside MetalLB", golden: true, note: "X38 finds it by its Pods"},
		{id: "C34", shape: "brokers advertise their addresses", golden: true, note: "S11 shows it from the variables"},
		{
			id: "C36", shape: "two announcers of one address", golden: true,
			note: "two holders that settings name are told; who answers ARP on the wire is asked by nothing in the suite",
		},
		{
			id: "C37", shape: "the address lies on an interface and is announced too", golden: true,
			note: "keepalived and kube-vip are recognized; an alias on an interface that no object names is not seen",
		},
		{id: "C38", shape: "every node is excluded from announcing", golden: true},
		{
			id: "C39", shape: "clients that keep an old answer", tests: []string{"../migration/walk_test.go TestWalk"},
			note: "no manifest shows it: the walk waits for the old TTL and then for silence, never for a time alone",
		},
		{id: "C40", shape: "Cilium Node IPAM serves every load balancer", golden: true},
		{id: "S01", shape: "a load balancer on another address", golden: true},
		{id: "S02", shape: "a load balancer on the same address", golden: true},
		{id: "S03", shape: "every field at once", golden: true},
		{id: "S04", shape: "PreferDualStack with one address and no endpoints", golden: true},
		{id: "S05", shape: "TCP and UDP with a written traffic policy", golden: true},
		{id: "S06", shape: "values, HelmRelease, chart, Service", golden: true},
		{id: "S07", shape: "a name server", golden: true},
		{id: "S08", shape: "loadBalancerIP and another externalIP", golden: true},
		{id: "S09", shape: "an empty list", golden: true},
		{id: "S11", shape: "one Service for each broker, addresses in variables", golden: true},
		{id: "S13", shape: "a media server", golden: true},
		{id: "S14", shape: "ExternalName with the field", golden: true},
		{id: "S15", shape: "DHCP beside other ports", golden: true},
		{
			id: "S17", shape: "a NAT host forwards to a node port", golden: true, tests: []string{"../migration/patches_test.go TestAdoptPatchAsksForNodePortsOnlyWhereTheServiceHadSome"},
			note: "redundant on one address, so only the field goes and the node port stays as it is",
		},
		{id: "S18", shape: "deleted and created again", golden: true, tests: []string{"../migration/planning_test.go a recreation"}},
		{id: "S19", shape: "pinned to one node", golden: true},
		{id: "S20", shape: "a host's address and Local", golden: true},
		{id: "S22", shape: "two node addresses without a name", golden: true},
		{id: "S23", shape: "the field in an operator's object", golden: true},
		{id: "S24", shape: "a Service's spec inside an operator's object", golden: true},
		{id: "S25", shape: "the sample of the documentation", golden: true},
	}
}

func TestEveryReportedShapeIsShownSomewhere(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, r := range reported() {
		ids = append(ids, r.id)
		goldens, err := filepath.Glob("testdata/cases/" + r.id + "-*.in.yaml")
		if err != nil || r.golden != (len(goldens) > 0) || !r.golden && len(r.tests) == 0 {
			t.Errorf("%s (%s): %d golden pairs, tests %v", r.id, r.shape, len(goldens), r.tests)
		}
		for _, test := range r.tests {
			path, text, _ := strings.Cut(test, " ")
			if raw, err := os.ReadFile(path); err != nil || !strings.Contains(string(raw), text) {
				t.Errorf("%s: %s does not hold %q", r.id, path, text)
			}
		}
	}
	if want := allRows(); !slices.Equal(ids, want) {
		t.Errorf("rows %v\nwant %v", ids, want)
	}
}

func TestEveryGoldenPairHasARowOrIsOurOwn(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^([CSX]\d\d)-[a-z0-9-]+\.(in|out)\.yaml$`)
	entries, err := os.ReadDir("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil || m[1][0] != 'X' && !slices.Contains(allRows(), m[1]) {
			t.Errorf("%s is named like no row", e.Name())
		}
		twin := strings.Replace(e.Name(), ".out.", ".in.", 1)
		if _, err := os.Stat("testdata/cases/" + twin); err != nil {
			t.Errorf("%s has no input", e.Name())
		}
	}
}
