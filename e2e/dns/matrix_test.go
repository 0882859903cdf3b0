//go:build dns

package dns

import (
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/porttest"
)

// moving is a name from one address to another.
func moving(name string, ttl uint32) dnsctl.Name {
	return dnsctl.Name{
		Name: name, Zone: "test", Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: Addresses("192.0.2.10"), TTL: ttl}},
		Old: Addresses("192.0.2.10"), New: Addresses("198.51.100.20"), LowTTL: 3,
	}
}

func begin() time.Time { return time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC) }

func (p *primary) walk(port dnsctl.Port, zone dnsctl.Zone, percents ...int32) *Walk {
	return NewWalk(port, []dnsctl.Zone{zone}, []dnsctl.Name{moving(www, 3600)}, percents).Virtual(begin())
}

// wants asks the primary for www.
func (p *primary) wants(t *testing.T, want dnsctl.RecordSet, owner string) {
	t.Helper()
	got, err := p.client().Query(t.Context(), p.zone(), p.address, www)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Records.Equal(want) || got.Mark.Owner != owner {
		t.Fatalf("%s answers %s with the mark of %q; want %s, %q", www, got.Records, got.Mark.Owner, want, owner)
	}
}

func a(ttl uint32, addresses ...string) dnsctl.RecordSet {
	return dnsctl.RecordSet{A: dnsctl.RRset{Addresses: Addresses(addresses...), TTL: ttl}}
}

func TestEveryServerKeepsThePortsPromises(t *testing.T) {
	for kind, start := range kinds() {
		porttest.Run(t, kind, func(t *testing.T, zone string, initial map[string]dnsctl.RecordSet) (dnsctl.Port, dnsctl.Zone) {
			t.Helper()
			if zone != apex {
				t.Fatalf("zone %s, want %s", zone, apex)
			}
			s := start(t, options{records: zoneLines(initial)})
			return s.client(), s.zone()
		})
	}
}

func TestAWalkGoesForwardAndBack(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		w := s.walk(s.client(), s.zone(), 25, 50, 100)
		if _, err := w.Until(t.Context(), 2000, Settled); err != nil {
			t.Fatal(err)
		}
		s.wants(t, a(3, "198.51.100.20"), Record)
		w.Back = true
		if _, err := w.Until(t.Context(), 2000, Undone); err != nil {
			t.Fatal(err)
		}
		s.wants(t, a(3600, "192.0.2.10"), "")
		if len(w.failures) > 0 {
			t.Errorf("updates failed: %v", w.failures)
		}
	})
}
