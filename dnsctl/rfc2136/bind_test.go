package rfc2136_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/porttest"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

func TestBINDKeepsThePortsPromises(t *testing.T) {
	t.Parallel()
	porttest.Run(t, "BIND", func(t *testing.T, zone string, initial map[string]dnsctl.RecordSet) (dnsctl.Port, dnsctl.Zone) {
		t.Helper()
		s := bindtest.Start(t, bindtest.Options{Zone: zone, Records: lines(initial)})
		return client(keyOf(s.Key)), zoneAt(s.Address)
	})
}

// lines writes record sets as lines of a zone file.
func lines(initial map[string]dnsctl.RecordSet) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(initial)) {
		for kind, set := range map[string]dnsctl.RRset{"A": initial[name].A, "AAAA": initial[name].AAAA} {
			for _, a := range set.Addresses {
				out = append(out, fmt.Sprintf("%s. %d IN %s %s", name, set.TTL, kind, a))
			}
		}
	}
	slices.Sort(out)
	return out
}

func keyOf(k bindtest.Key) rfc2136.Key {
	return rfc2136.Key{Name: k.Name, Algorithm: k.Algorithm, Secret: k.Secret}
}

func client(key rfc2136.Key, edit ...func(*rfc2136.Options)) *rfc2136.Client {
	o := rfc2136.Options{Keys: func(string) (rfc2136.Key, error) { return key, nil }, Now: time.Now, QueryTimeout: 5 * time.Second}
	for _, e := range edit {
		e(&o)
	}
	return rfc2136.New(o)
}

func zoneAt(address string) dnsctl.Zone {
	return dnsctl.Zone{Object: "test", Apex: "example.test", Primary: address}
}

// classOf is the class of an update's error; the error must be one.
func classOf(t *testing.T, err error) dnsctl.Class {
	t.Helper()
	var failed *dnsctl.UpdateError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want an UpdateError", err)
	}
	if failed.Server == "" || failed.Name == "" || failed.Detail == "" {
		t.Fatalf("the error names not all of server, name and detail: %#v", failed)
	}
	return failed.Class
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}
