package sim

import (
	"net/netip"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/porttest"
)

func TestZonesKeepThePromisesOfAPort(t *testing.T) {
	t.Parallel()
	porttest.Run(t, "in-process zones", func(_ *testing.T, apex string, initial map[string]dnsctl.RecordSet) (dnsctl.Port, dnsctl.Zone) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		z := NewZones(func() time.Time { return now })
		of := dnsctl.Zone{Object: "example-test", Apex: apex, Primary: "192.0.2.53:53"}
		z.Add(of, initial)
		return z, of
	})
}

func TestASecondaryHandsOnEveryVersionInOrderAfterItsLag(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	z := NewZones(func() time.Time { return now })
	of := dnsctl.Zone{Apex: "example.test", Primary: "p:53", Servers: []string{"s:53"}}
	set := func(a string) dnsctl.RecordSet { return recordSet(300, a) }
	z.Add(of, map[string]dnsctl.RecordSet{"www.example.test": set("192.0.2.1")})
	z.Lag(time.Minute)
	for _, a := range []string{"192.0.2.2", "192.0.2.3"} {
		z.Edit("www.example.test", func(dnsctl.RecordSet) dnsctl.RecordSet { return set(a) })
		now = now.Add(30 * time.Second)
	}
	want := []string{"192.0.2.2", "192.0.2.2", "192.0.2.3"}
	for i, w := range want {
		if i > 0 {
			now = now.Add(20 * time.Second)
		}
		got, err := z.Query(t.Context(), of, "s:53", "www.example.test")
		if err != nil || !got.Records.Equal(set(w)) {
			t.Errorf("after %v: %v %v, want %s", now, got.Records, err, w)
		}
	}
}

func recordSet(ttl uint32, addrs ...string) dnsctl.RecordSet {
	var out dnsctl.RecordSet
	for _, a := range addrs {
		out.A.TTL = ttl
		out.A.Addresses = append(out.A.Addresses, netip.MustParseAddr(a))
	}
	return out
}
