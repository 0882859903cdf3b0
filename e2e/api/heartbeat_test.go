//go:build api

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

// idle watches an address that nobody uses: the report is written once, and believed for as long as the Lease is renewed.
// It ends the agent, so nothing comes after it.
func (r *ring) idle(t *testing.T) {
	claim := &v1alpha1.AddressClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "203.0.113.250"},
		Spec: v1alpha1.AddressClaimSpec{
			Address: "203.0.113.250", Role: v1alpha1.ClaimOld, EntryPoint: "nobody",
			Holders: []v1alpha1.ClaimHolder{{Namespace: "shop", Name: "nothing", Ports: []string{"TCP/80"}}},
		},
	}
	if err := r.admin.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "a report that is older than it may be believed counts", func() error {
		o, l, err := r.reported(t.Context())
		switch age := time.Since(o.Status.ReportedAt.Time); {
		case err != nil:
			return err
		case age < (reportStale+2)*time.Second:
			return fmt.Errorf("the report is %s old", age)
		case *l.Spec.HolderIdentity != o.Status.Report:
			return fmt.Errorf("the Lease names report %q, the report is %q", *l.Spec.HolderIdentity, o.Status.Report)
		}
		return observed("1")
	})
	r.world.silence()
	eventually(t, time.Minute, "an agent that is gone is missed", func() error { return observed("0") })
}

// reported are the agent's report and its Lease.
func (r *ring) reported(ctx context.Context) (o v1alpha1.Observation, l coordinationv1.Lease, err error) {
	err = errors.Join(
		r.admin.Get(ctx, client.ObjectKey{Name: "n1"}, &o),
		r.admin.Get(ctx, client.ObjectKey{Namespace: agentNamespace, Name: "n1"}, &l),
	)
	return o, l, err
}

// observed insists on a value of the metric that says whether every node reports without a fault.
func observed(want string) error {
	resp, err := http.Get("http://" + metricsAddress + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	const name = "offramp_addresses_observed "
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok && strings.TrimSpace(value) != want {
			return fmt.Errorf("%s", line)
		} else if ok {
			return nil
		}
	}
	return fmt.Errorf("no metric %s", name)
}
