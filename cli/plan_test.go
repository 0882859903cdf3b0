package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
)

// gatewayObject and routeObject are target objects in the canonical form of a plan.
const (
	gatewayObject = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"gw"},` +
		`"spec":{"listeners":[{"name":"https","port":443,"tls":{"certificateRefs":[{"name":"shop-tls"}]}}]}}`
	routeObject = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"gw"},` +
		`"spec":{"rules":[{"backendRefs":[{"name":"web","namespace":"shop","port":80}]}]}}`
)

func moving() *migration.Plan {
	old, next := netip.MustParseAddr("192.0.2.50"), netip.MustParseAddr("198.51.100.7")
	return &migration.Plan{
		EntryPoint: "shop-web-1", Strategy: v1alpha1.StrategyGateway, Why: "Every port is HTTP.",
		Objects: []json.RawMessage{json.RawMessage(gatewayObject), json.RawMessage(routeObject)},
		Names: []dnsctl.Name{{
			Name: "shop.example.com", Zone: "example", Old: []netip.Addr{old}, New: []netip.Addr{next}, LowTTL: 30,
			Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{old}, TTL: 3600}},
		}},
		Settings: migration.Settings{
			Percents: []int32{50, 100}, StepSoak: 300, Soak: 600, LowTTL: 30, DrainWindow: 3600, Rounds: 3, ProbeInterval: 10,
		},
	}
}

// recordedWalk is a cluster in which the plan of one entry point is recorded.
func recordedWalk(t *testing.T, plan *migration.Plan, change func(*v1alpha1.EntryPoint)) (cli.Wiring, v1alpha1.Document) {
	t.Helper()
	document, err := migration.EncodeDocument(plan)
	if err != nil {
		t.Fatal(err)
	}
	e := entryPoint(func(e *v1alpha1.EntryPoint) {
		e.Status.Record, e.Status.PlanHash, e.Status.Strategy = "shop-web-1-1", document.SHA256, plan.Strategy
	})
	if change != nil {
		change(e)
	}
	w, _ := cluster(t, []client.Object{
		e,
		&v1alpha1.MigrationRecord{
			ObjectMeta: metav1.ObjectMeta{Name: "shop-web-1-1"},
			Spec:       v1alpha1.MigrationRecordSpec{EntryPoint: e.Name, Plans: []v1alpha1.AttemptPlan{{Attempt: 1, Plan: document}}},
		},
		&v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Spec: v1alpha1.DNSZoneSpec{
			Zone: "example.com", Primary: "ns1.example.com:53", Servers: []string{"ns2.example.com:53"},
		}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ExternalIPs: []string{"192.0.2.50"}, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
		}},
	}...)
	return w, document
}

func TestARecordedPlanTellsEverythingThatWillBeDone(t *testing.T) {
	t.Parallel()
	w, document := recordedWalk(t, moving(), func(e *v1alpha1.EntryPoint) {
		e.Status.Findings = []v1alpha1.Finding{
			{Reason: "OwnedByGitOps", Severity: v1alpha1.SeverityInform, Object: "Service shop/web metadata", Message: "Flux applies it.", Fix: "Edit there."},
			{Reason: "PoolNotAnnounced", Severity: v1alpha1.SeverityAsk, Object: "IPAddressPool p", Message: "Nobody would announce it.", Fix: "Create one."},
		}
	})
	code, out, messages := call(t, "", w, "plan", "shop-web-1")
	if code != cli.ExitFindings {
		t.Errorf("exit code %d: %s", code, messages)
	}
	for name, want := range map[string]string{
		"the objects":           "HTTPRoute   gw          r",
		"the zone's servers":    "Name shop.example.com in DNSZone example, written at ns1.example.com:53, seen at ns2.example.com:53 too",
		"the records now":       "now            A 192.0.2.50 (TTL 3600)",
		"the records at half":   "50 %           A 192.0.2.50 198.51.100.7 (TTL 30)",
		"the records at last":   "original TTL   A 198.51.100.7 (TTL 3600)",
		"the edit of the owner": `{"spec":{"externalIPs":null,"externalTrafficPolicy":null}}`,
		"where the edit goes":   "to be made where the manifest is kept",
		"the order":             "Drained",
		"the sum of the waits":  "together at least",
		"the certificate":       "certificate: Secret gw/shop-tls for listener https",
		"the grant":             "Service shop/web, with a ReferenceGrant in namespace shop for HTTPRoute of namespace gw",
		"the advertisement":     "load balancer admin",
		"the owner":             "owner of the manifest",
		"the approval":          "approve plan " + document.SHA256,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: %q is missing in\n%s", name, want, out)
		}
	}
}

func TestYAMLOfAPlanIsTheRecordedBytes(t *testing.T) {
	t.Parallel()
	w, document := recordedWalk(t, moving(), nil)
	_, out, messages := call(t, "", w, "plan", "shop/web", "-o", "yaml")
	parts := strings.Split(out, "---\n")
	if len(parts) != 4 || !strings.Contains(parts[0], "# plan "+document.SHA256) {
		t.Fatalf("%d parts, no hash: %s%s", len(parts), out, messages)
	}
	for i, want := range []string{gatewayObject, routeObject} {
		if got, err := yaml.YAMLToJSON([]byte(parts[i+1])); err != nil || string(got) != want {
			t.Errorf("document %d is %s (%v), want %s", i, got, err, want)
		}
	}
	if !strings.HasPrefix(parts[3], "# at gate Released: kubectl patch service web -n shop --type=merge -p '") {
		t.Errorf("the edit of the Service: %s", parts[3])
	}
}

func TestTheDocumentInTheReportHasTheHashThatIsApproved(t *testing.T) {
	t.Parallel()
	w, _ := recordedWalk(t, moving(), nil)
	_, out, _ := call(t, "", w, "plan", "shop-web-1", "-o", "json")
	var got struct {
		PlanHash string
		Document struct{ JSON, SHA256 string }
		DNS      []struct{ Steps []struct{ Sets []string } }
		Order    []struct{ Gate string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || strings.Contains(out, ": null") && !strings.Contains(out, `"externalIPs": null`) {
		t.Fatalf("%v in\n%s", err, out)
	}
	sum := sha256.Sum256([]byte(got.Document.JSON))
	if hash := hex.EncodeToString(sum[:]); hash != got.PlanHash || hash != got.Document.SHA256 {
		t.Errorf("the text has the hash %s, the report says %s", hash, got.PlanHash)
	}
	if len(got.DNS) != 1 || len(got.DNS[0].Steps) != 5 || len(got.Order) < 10 {
		t.Errorf("%d names, %d gates", len(got.DNS), len(got.Order))
	}
}

func TestAPlanThatIsNotRecordedPrintsNoObjects(t *testing.T) {
	t.Parallel()
	w, _ := cluster(t, entryPoint(nil))
	code, out, messages := call(t, "", w, "plan", "shop-web-1", "-o", "yaml")
	if code != cli.ExitOK || strings.Contains(out, "\nkind:") || !strings.Contains(out, "# plan abc is not recorded yet") {
		t.Errorf("exit code %d: %s%s", code, out, messages)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") && line != "---\n" {
			t.Errorf("%q would be applied", line)
		}
	}
}

func TestAnotherHashInTheStatusIsToldAndAForgedPlanIsRefused(t *testing.T) {
	t.Parallel()
	w, document := recordedWalk(t, moving(), func(e *v1alpha1.EntryPoint) { e.Status.PlanHash = "other" })
	if _, out, _ := call(t, "", w, "plan", "shop-web-1"); !strings.Contains(out, "the status names plan other") || !strings.Contains(out, document.SHA256) {
		t.Errorf("got\n%s", out)
	}
	forged, _ := recordedWalk(t, moving(), nil)
	conn, err := forged.Connect(cli.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var record v1alpha1.MigrationRecord
	if err := conn.Client.Get(t.Context(), client.ObjectKey{Name: "shop-web-1-1"}, &record); err != nil {
		t.Fatal(err)
	}
	record.Spec.Plans[0].Plan.JSON = strings.Replace(record.Spec.Plans[0].Plan.JSON, "198.51.100.7", "198.51.100.8", 1)
	if err := conn.Client.Update(t.Context(), &record); err != nil {
		t.Fatal(err)
	}
	if code, _, messages := call(t, "", forged, "plan", "shop-web-1", "-o", "yaml"); code != cli.ExitError || !strings.Contains(messages, "document is corrupt") {
		t.Errorf("exit code %d: %s", code, messages)
	}
}

func TestAPlanFromFilesIsAPreview(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "inventory", "shapes.in.yaml")
	_, out, _ := call(t, "", cli.Wiring{}, "plan", "infra/dns", "-f", path, "-o", "yaml")
	parts := strings.Split(out, "---\n")
	if !strings.Contains(parts[0], "# a preview of what the same code would make") || len(parts) < 2 {
		t.Fatalf("got\n%s", out)
	}
	var object struct{ Kind string }
	if err := yaml.Unmarshal([]byte(parts[1]), &object); err != nil || object.Kind != "Service" {
		t.Errorf("%v, kind %q in\n%s", err, object.Kind, parts[1])
	}
}

func TestAPlanToAdoptShowsThePatchThatAdopts(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "inventory", "shapes.in.yaml")
	_, out, _ := call(t, "", cli.Wiring{}, "plan", "office/printer", "-f", path)
	if !strings.Contains(out, `{"op":"add","path":"/spec/loadBalancerClass","value":"offramp.dev/adopted"}`) || strings.Contains(out, "resourceVersion") {
		t.Errorf("got\n%s", out)
	}
}
