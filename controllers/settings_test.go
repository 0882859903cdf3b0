package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// primary is a name server with a clock; silent says what it answers to a query.
type primary struct {
	skew       time.Duration
	err        error
	silent     error
	asked      int
	updateFail error
}

func (p *primary) Query(context.Context, dnsctl.Zone, string, string) (dnsctl.Answer, error) {
	return dnsctl.Answer{}, p.silent
}

func (p *primary) Update(context.Context, dnsctl.Zone, []dnsctl.Change) error { return p.updateFail }

func (p *primary) Skew(context.Context, dnsctl.Zone) (time.Duration, error) {
	p.asked++
	return p.skew, p.err
}

func zoneWithKey(t *testing.T, name string, server *primary) (*Zones, *v1alpha1.DNSZone) {
	t.Helper()
	cl := fakeClient(t, nil)
	store(t, cl, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "offramp-system", Name: "key"},
		Data:       map[string][]byte{"name": []byte("n"), "algorithm": []byte("hmac-sha256"), "secret": []byte("c2VjcmV0")},
	})
	z := &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSZoneSpec{
		Zone: "example.test", Primary: "192.0.2.53:53", KeySecret: "key", Mode: v1alpha1.ZoneModeRRset,
	}}
	return &Zones{&Ports{Client: cl, Ports: observe.Ports{Cached: cl, Live: cl, Namespace: "offramp-system", DNS: server, Now: time.Now}}}, z
}

// gathered is the sum of what a scrape reads of a zone.
func gathered(t *testing.T, c prometheus.Collector, zone string) float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "zone" && l.GetValue() == zone {
					sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func TestTheClockOfThePrimaryIsComparedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server primary
		want   string
		seen   int
	}{
		"clocks that agree are no problem":                    {primary{skew: 2 * time.Second}, "", 1},
		"a clock that is a minute off is none yet":            {primary{skew: -time.Minute}, "", 1},
		"a clock that is ahead is named":                      {primary{skew: 2 * time.Minute}, "about 2m0s ahead of", 1},
		"a clock that is behind is named":                     {primary{skew: -3 * time.Minute}, "about 3m0s behind", 1},
		"a clock too far off for a signature is named":        {primary{skew: time.Hour, err: errors.New("BADTIME")}, "about 1h0m0s ahead of", 1},
		"a server without a clock is no problem":              {primary{err: dnsctl.ErrNoClock}, "", 0},
		"a key that is not taken is a problem of the key":     {primary{err: errors.New("BADKEY")}, "spec.keySecret: 192.0.2.53:53 does not take the key", 0},
		"a primary that does not answer is told of only once": {primary{silent: errors.New("timeout"), err: errors.New("timeout")}, "spec.primary", 0},
	} {
		zone := strings.ReplaceAll(name, " ", "-")
		r, z := zoneWithKey(t, zone, &c.server)
		got := r.problems(t.Context(), z)
		if text := strings.Join(got, "; "); len(got) > 1 || (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if clockSkew.DeleteLabelValues(zone) != (c.seen == 1) {
			t.Errorf("%s: the skew is in the metrics, or is not, against what was seen", name)
		}
	}
}

func TestAClockThatCanNoLongerBeSeenLeavesTheMetrics(t *testing.T) {
	t.Parallel()
	server := &primary{skew: 5 * time.Second}
	r, z := zoneWithKey(t, "lost-clock", server)
	r.problems(t.Context(), z)
	if got := gathered(t, clockSkew, "lost-clock"); got != 5 {
		t.Errorf("skew %v, want 5", got)
	}
	server.silent = errors.New("timeout")
	r.problems(t.Context(), z)
	if clockSkew.DeleteLabelValues("lost-clock") {
		t.Error("the skew of a primary that does not answer is still shown")
	}
}

func TestAZoneThatIsWrittenByHandIsNotAskedForItsClock(t *testing.T) {
	t.Parallel()
	server := &primary{skew: time.Hour}
	r, z := zoneWithKey(t, "manual", server)
	z.Spec.Mode, z.Spec.KeySecret = v1alpha1.ZoneModeManual, ""
	if got := r.problems(t.Context(), z); len(got) > 0 || server.asked > 0 {
		t.Errorf("%v, asked %d times", got, server.asked)
	}
}

func TestEveryFailedUpdateIsCountedByClass(t *testing.T) {
	t.Parallel()
	server := &primary{updateFail: &dnsctl.UpdateError{Class: dnsctl.ClassAuth}}
	zones, z := zoneWithKey(t, "counted", server)
	r := NewEntryPoints(zones.Ports)
	w := &observe.World{Zones: map[string]*v1alpha1.DNSZone{"counted": z}}
	act := migration.ChangeNames{Changes: []dnsctl.Change{{Zone: "counted", Name: "www.example.test"}}}
	for _, fails := range []error{server.updateFail, server.updateFail, nil} {
		server.updateFail = fails
		if err := r.changeNames(t.Context(), w, act); !errors.Is(err, fails) {
			t.Errorf("%v, want %v", err, fails)
		}
	}
	if got := gathered(t, updateFailures, "counted"); got != 2 {
		t.Errorf("%v failures counted, want 2", got)
	}
	forgetZone("counted")
	if updateFailures.DeleteLabelValues("counted", string(dnsctl.ClassAuth)) {
		t.Error("a zone that is gone is still counted")
	}
}
