package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli"
)

func entryPoint(change func(*v1alpha1.EntryPoint)) *v1alpha1.EntryPoint {
	e := &v1alpha1.EntryPoint{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-web-1"},
		Spec: v1alpha1.EntryPointSpec{
			Policy: "p", Members: []v1alpha1.ServiceReference{{Namespace: "shop", Name: "web"}},
			Goal: v1alpha1.GoalReport, Direction: v1alpha1.DirectionForward, Attempt: 1,
		},
		Status: v1alpha1.EntryPointStatus{PlanHash: "abc", Strategy: v1alpha1.StrategyGateway, SharePercent: 50},
	}
	if change != nil {
		change(e)
	}
	return e
}

// cluster wires an in-memory API with these objects.
func cluster(t *testing.T, objects ...client.Object) (cli.Wiring, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.EntryPoint{}, &v1alpha1.Observation{}).Build()
	connect := func(cli.ConnectOptions) (*cli.Connection, error) { return &cli.Connection{Client: c}, nil }
	return cli.Wiring{Connect: connect}, c
}

func TestSteeringWritesTheSpecAndNothingElse(t *testing.T) {
	t.Parallel()
	back := func(e *v1alpha1.EntryPoint) { e.Spec.Direction = v1alpha1.DirectionBack }
	tests := map[string]struct {
		before func(*v1alpha1.EntryPoint)
		args   []string
		code   int
		after  func(*v1alpha1.EntryPoint)
	}{
		"advance to Stage needs no approval":      {nil, []string{"advance", "shop-web-1", "--to", "Stage"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Goal = v1alpha1.GoalStage }},
		"an entry point is found by its member":   {nil, []string{"pause", "shop/web"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Paused = true }},
		"past Stage without approval is refused":  {nil, []string{"advance", "shop-web-1", "--to", "CutOver"}, 1, nil},
		"another plan's hash is refused":          {nil, []string{"advance", "shop-web-1", "--to", "CutOver", "--approve", "xyz"}, 1, nil},
		"the right hash is written with the goal": {nil, []string{"advance", "shop-web-1", "--to", "CutOver", "--approve", "abc"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Goal, e.Spec.ApprovedPlan = v1alpha1.GoalCutOver, "abc" }},
		"the current plan can be approved":        {nil, []string{"advance", "shop-web-1", "--to", "Release", "--approve-current"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Goal, e.Spec.ApprovedPlan = v1alpha1.GoalRelease, "abc" }},
		"no plan, no approval":                    {func(e *v1alpha1.EntryPoint) { e.Status.PlanHash = "" }, []string{"advance", "shop-web-1", "--to", "CutOver", "--approve-current"}, 1, nil},
		"a lower goal is refused":                 {func(e *v1alpha1.EntryPoint) { e.Spec.Goal = v1alpha1.GoalStage }, []string{"advance", "shop-web-1", "--to", "Report"}, 1, nil},
		"a lower goal with --lower":               {func(e *v1alpha1.EntryPoint) { e.Spec.Goal = v1alpha1.GoalStage }, []string{"advance", "shop-web-1", "--to", "Report", "--lower"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Goal = v1alpha1.GoalReport }},
		"a word that is no goal":                  {nil, []string{"advance", "shop-web-1", "--to", "Moon"}, 1, nil},
		"a walk back is not advanced":             {back, []string{"advance", "shop-web-1", "--to", "Stage"}, 1, nil},
		"resume":                                  {func(e *v1alpha1.EntryPoint) { e.Spec.Paused = true }, []string{"resume", "shop-web-1"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Paused = false }},
		"resume what is not paused":               {nil, []string{"resume", "shop-web-1"}, 0, nil},
		"rollback":                                {nil, []string{"rollback", "shop-web-1"}, 0, back},
		"rollback lifts a pause":                  {func(e *v1alpha1.EntryPoint) { e.Spec.Paused = true }, []string{"rollback", "shop-web-1"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Paused = false; back(e) }},
		"retry counts up and goes forward":        {back, []string{"retry", "shop-web-1"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Attempt, e.Spec.Direction = 2, v1alpha1.DirectionForward }},
		"retry never falls behind the record":     {func(e *v1alpha1.EntryPoint) { e.Status.Attempt = 4 }, []string{"retry", "shop-web-1"}, 0, func(e *v1alpha1.EntryPoint) { e.Spec.Attempt = 5 }},
		"dry run writes nothing":                  {nil, []string{"rollback", "shop-web-1", "--dry-run"}, 0, nil},
		"an unknown name":                         {nil, []string{"pause", "nobody"}, 1, nil},
		"an unknown member":                       {nil, []string{"pause", "shop/nobody"}, 1, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := entryPoint(tc.before)
			w, c := cluster(t, e)
			want := e.DeepCopy()
			if tc.after != nil {
				tc.after(want)
			}
			code, out, messages := call(t, "", w, tc.args...)
			if code != tc.code {
				t.Fatalf("exit code %d, want %d: %s%s", code, tc.code, out, messages)
			}
			var got v1alpha1.EntryPoint
			if err := c.Get(context.Background(), client.ObjectKeyFromObject(e), &got); err != nil {
				t.Fatal(err)
			}
			if !equalSpec(got, *want) || got.Status.PlanHash != want.Status.PlanHash {
				t.Errorf("spec is %+v, want %+v", got.Spec, want.Spec)
			}
		})
	}
}

func equalSpec(a, b v1alpha1.EntryPoint) bool {
	x, y := a.Spec, b.Spec
	return x.Goal == y.Goal && x.Direction == y.Direction && x.Attempt == y.Attempt && x.ApprovedPlan == y.ApprovedPlan && x.Paused == y.Paused
}

func TestWhyEndsInTwoUntilTheWalkIsWhereItMayBe(t *testing.T) {
	t.Parallel()
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: "It is so."}
	}
	tests := map[string]struct {
		conditions []metav1.Condition
		code       int
		says       string
	}{
		"never looked at":  {nil, 2, "is the controller running?"},
		"arrived":          {[]metav1.Condition{condition("Ready", "True"), condition("Staged", "True")}, 0, "advance shop-web-1 --to Stage"},
		"on its way":       {[]metav1.Condition{condition("Ready", "False"), condition("Drained", "Unknown")}, 2, "goes on by itself"},
		"waiting for you":  {[]metav1.Condition{condition("Ready", "False"), condition("Stalled", "True")}, 2, "a human: It is so."},
		"a gate is listed": {[]metav1.Condition{condition("Ready", "True"), condition("Recorded", "True")}, 0, "Recorded"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := cluster(t, entryPoint(func(e *v1alpha1.EntryPoint) { e.Status.Conditions = tc.conditions }))
			code, out, messages := call(t, "", w, "why", "shop-web-1")
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s%s", code, tc.code, tc.says, out, messages)
			}
		})
	}
}

func TestGetShowsShareAndPrintsNames(t *testing.T) {
	t.Parallel()
	w, _ := cluster(t, entryPoint(nil))
	if _, out, _ := call(t, "", w, "get"); !strings.Contains(out, "[#####.....] 50%") {
		t.Errorf("no share bar in:\n%s", out)
	}
	if _, out, _ := call(t, "", w, "get", "-o", "name"); out != "entrypoint.offramp.dev/shop-web-1\n" {
		t.Errorf("got %q", out)
	}
	if _, out, _ := call(t, "", w, "get", "-n", "other", "-o", "json"); !strings.Contains(out, `"items": []`) {
		t.Errorf("want an empty list, got %s", out)
	}
}

func TestGetAndWhyShowWhatIsAskedForAndWhatIsSeen(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		share    *v1alpha1.ShareStatus
		get, why string
	}{
		"slots, and a measurement": {
			&v1alpha1.ShareStatus{NominalPercent: 25, ExpectedErrorPoints: 2, MeasuredPercent: new(int32(27)), MeasuredAt: at},
			"25%+-2 27%,1m40s ago", "25% +-2 points asked for; 27% of the open connections seen 1m40s ago",
		},
		"no error, and nothing to measure": {
			&v1alpha1.ShareStatus{NominalPercent: 50, Unknown: "no connection\x1b is open", MeasuredAt: at},
			"50% unknown", "50% asked for; what is seen is unknown: no connection",
		},
		"nothing is seen of it": {
			&v1alpha1.ShareStatus{NominalPercent: 50, MeasuredPercent: new(int32(0)), MeasuredAt: at},
			"50% 0%,1m40s ago", "50% asked for; 0% of the open connections seen 1m40s ago",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := cluster(t, entryPoint(func(e *v1alpha1.EntryPoint) { e.Status.Share = tc.share }))
			w.Now = func() time.Time { return at.Add(100 * time.Second) }
			if _, out, _ := call(t, "", w, "get", "shop-web-1"); !strings.Contains(strings.Join(strings.Fields(out), " "), tc.get) {
				t.Errorf("no %q in:\n%s", tc.get, out)
			}
			if _, out, _ := call(t, "", w, "why", "shop-web-1"); !strings.Contains(out, tc.why) || strings.Contains(out, "\x1b") {
				t.Errorf("no %q in:\n%s", tc.why, out)
			}
		})
	}
	w, _ := cluster(t, entryPoint(nil))
	if _, out, _ := call(t, "", w, "why", "shop-web-1"); strings.Contains(out, "asked for") {
		t.Errorf("nothing was asked for:\n%s", out)
	}
}

func TestInventoryOfAClusterTellsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.50"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	w, _ := cluster(t, service)
	code, out, messages := call(t, "", w, "inventory")
	if code != cli.ExitFindings || !strings.Contains(out, "shop/web") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if !strings.Contains(messages, "EndpointSlice") || strings.Contains(messages, "Node,") {
		t.Errorf("want EndpointSlice, which this API does not know, and not Node: %s", messages)
	}
}
