package rfc2136_test

import (
	"net/netip"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

const www = "www.example.test"

func rrset(ttl uint32, addrs ...string) dnsctl.RRset {
	out := dnsctl.RRset{TTL: ttl}
	for _, a := range addrs {
		out.Addresses = append(out.Addresses, netip.MustParseAddr(a))
	}
	return out
}

func home() dnsctl.Answer {
	return dnsctl.Answer{Records: dnsctl.RecordSet{A: rrset(3600, "192.0.2.10")}}
}

func there() dnsctl.Answer {
	return dnsctl.Answer{
		Records: dnsctl.RecordSet{A: rrset(30, "192.0.2.10", "198.51.100.20")},
		Mark:    dnsctl.Mark{Owner: "shop-web-1", Sequence: 4, Until: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
}

func move() []dnsctl.Change {
	return []dnsctl.Change{{Zone: "test", Name: www, Before: home(), After: there()}}
}

func usual() bindtest.Options {
	return bindtest.Options{Records: []string{"www 3600 IN A 192.0.2.10"}}
}

func TestEveryRefusalOfBINDHasItsClassAndChangesNothing(t *testing.T) {
	t.Parallel()
	stranger := bindtest.Key{Name: "stranger", Algorithm: "hmac-sha512", Secret: "c3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXI="}
	good := bindtest.DefaultKey()
	tests := map[string]struct {
		server bindtest.Options
		key    rfc2136.Key
		edit   func(*rfc2136.Options)
		zone   func(*dnsctl.Zone)
		class  dnsctl.Class
		says   []string
	}{
		"a key with another secret is an auth failure": {
			key:   rfc2136.Key{Name: good.Name, Algorithm: good.Algorithm, Secret: stranger.Secret},
			class: dnsctl.ClassAuth, says: []string{"BADSIG"},
		},
		"a key that the server does not know is an auth failure": {
			key:   rfc2136.Key{Name: "nobody", Algorithm: good.Algorithm, Secret: good.Secret},
			class: dnsctl.ClassAuth, says: []string{"BADKEY"},
		},
		"a known key without rights is an auth failure": {
			server: bindtest.Options{Strangers: []bindtest.Key{stranger}},
			key:    keyOf(stranger), class: dnsctl.ClassAuth, says: []string{"REFUSED", "key may not change"},
		},
		"another algorithm than the server's is an auth failure": {
			key:   rfc2136.Key{Name: good.Name, Algorithm: "hmac-sha384", Secret: good.Secret},
			class: dnsctl.ClassAuth,
		},
		"a clock that is late is a clock failure": {
			key: keyOf(good), edit: clockOff(-400 * time.Second), class: dnsctl.ClassClock, says: []string{"BADTIME", "server's is at"},
		},
		"a clock that is early is a clock failure": {
			key: keyOf(good), edit: clockOff(400 * time.Second), class: dnsctl.ClassClock, says: []string{"BADTIME"},
		},
		"a zone that the server does not serve is a zone failure": {
			key: keyOf(good), zone: func(z *dnsctl.Zone) { z.Apex = "test" }, class: dnsctl.ClassZone, says: []string{"NOTAUTH"},
		},
		"a name taken for a zone is a zone failure": {
			key: keyOf(good), zone: func(z *dnsctl.Zone) { z.Apex = www }, class: dnsctl.ClassZone, says: []string{"NOTAUTH"},
		},
		"an update policy that spares the name is an auth failure": {
			server: bindtest.Options{Policy: "update-policy { grant offramp-test name other.example.test. ANY; };"},
			key:    keyOf(good), class: dnsctl.ClassAuth, says: []string{"REFUSED"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Records = usual().Records
			s := bindtest.Start(t, tt.server)
			zone := zoneAt(s.Address)
			if tt.zone != nil {
				tt.zone(&zone)
			}
			edits := []func(*rfc2136.Options){func(*rfc2136.Options) {}}
			if tt.edit != nil {
				edits[0] = tt.edit
			}
			err := client(tt.key, edits...).Update(t.Context(), zone, move())
			if got := classOf(t, err); got != tt.class {
				t.Errorf("class %s, want %s: %v", got, tt.class, err)
			}
			contains(t, err.Error(), append(tt.says, www, s.Address)...)
			wants(t, s, home())
		})
	}
}

func clockOff(by time.Duration) func(*rfc2136.Options) {
	return func(o *rfc2136.Options) { o.Now = func() time.Time { return time.Now().Add(by) } }
}

// wants asks a server for www and compares.
func wants(t *testing.T, s *bindtest.Server, want dnsctl.Answer) {
	t.Helper()
	got, err := client(keyOf(s.Key)).Query(t.Context(), zoneAt(s.Address), s.Address, www)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Records.Equal(want.Records) || !got.Mark.Equal(want.Mark) {
		t.Fatalf("%s answers %s, mark %+v; want %s, mark %+v", www, got.Records, got.Mark, want.Records, want.Mark)
	}
}

func TestAFrozenZoneRefusesAndTakesItAfterTheThaw(t *testing.T) {
	t.Parallel()
	o := usual()
	o.Control = true
	s := bindtest.Start(t, o)
	c := client(keyOf(s.Key))
	s.Rndc(t, "freeze", s.Zone)
	err := c.Update(t.Context(), zoneAt(s.Address), move())
	if got := classOf(t, err); got != dnsctl.ClassAuth {
		t.Fatalf("class %s, want %s: %v", got, dnsctl.ClassAuth, err)
	}
	contains(t, err.Error(), "frozen")
	wants(t, s, home())
	s.Rndc(t, "thaw", s.Zone)
	if err := c.Update(t.Context(), zoneAt(s.Address), move()); err != nil {
		t.Fatal(err)
	}
	wants(t, s, there())
}

func TestARacingNsupdateMakesTheWriteFail(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, usual())
	c := client(keyOf(s.Key))
	script := "zone example.test.\nupdate add www.example.test. 3600 IN A 203.0.113.66\nsend\n"
	if out, err := s.Nsupdate(t, script); err != nil {
		t.Fatalf("nsupdate: %v\n%s", err, out)
	}
	err := c.Update(t.Context(), zoneAt(s.Address), move())
	if got := classOf(t, err); got != dnsctl.ClassChanged {
		t.Fatalf("class %s, want %s: %v", got, dnsctl.ClassChanged, err)
	}
	contains(t, err.Error(), "203.0.113.66", www)
	wants(t, s, dnsctl.Answer{Records: dnsctl.RecordSet{A: rrset(3600, "192.0.2.10", "203.0.113.66")}})
}

func TestAWildcardThatAnswersForTheNameIsNamedInTheError(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, bindtest.Options{Records: []string{"* 3600 IN A 192.0.2.10"}})
	err := client(keyOf(s.Key)).Update(t.Context(), zoneAt(s.Address), move())
	if got := classOf(t, err); got != dnsctl.ClassChanged {
		t.Fatalf("class %s, want %s: %v", got, dnsctl.ClassChanged, err)
	}
	contains(t, err.Error(), "wildcard")
}

func TestAWildcardItselfMovesAndComesBack(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, bindtest.Options{Records: []string{"*.apps 3600 IN A 192.0.2.10"}})
	c, zone := client(keyOf(s.Key)), zoneAt(s.Address)
	out := dnsctl.Change{Zone: "test", Name: "*.apps.example.test", Before: home(), After: there()}
	if err := c.Update(t.Context(), zone, []dnsctl.Change{out}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Query(t.Context(), zone, s.Address, "shop.apps.example.test")
	if err != nil || !got.Records.Equal(there().Records) {
		t.Fatalf("a name under the wildcard answers %s (%v), want %s", got.Records, err, there().Records)
	}
	back := dnsctl.Change{Zone: "test", Name: out.Name, Before: there(), After: home()}
	if err := c.Update(t.Context(), zone, []dnsctl.Change{back}); err != nil {
		t.Fatal(err)
	}
}

func TestASecondaryRefusesUpdatesAndIsSeenLagging(t *testing.T) {
	t.Parallel()
	primary := bindtest.Start(t, usual())
	secondary := bindtest.Start(t, bindtest.Options{Primary: primary.Address})
	waitFor(t, secondary, home())
	c := client(keyOf(primary.Key))
	err := c.Update(t.Context(), zoneAt(secondary.Address), move())
	if got := classOf(t, err); got != dnsctl.ClassAuth {
		t.Fatalf("class %s, want %s: %v", got, dnsctl.ClassAuth, err)
	}
	contains(t, err.Error(), "no primary")
	if err := c.Update(t.Context(), zoneAt(primary.Address), move()); err != nil {
		t.Fatal(err)
	}
	wants(t, secondary, home())
}

// waitFor waits until a secondary has the zone.
func waitFor(t *testing.T, s *bindtest.Server, want dnsctl.Answer) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var got dnsctl.Answer
		got, err = client(keyOf(s.Key)).Query(t.Context(), zoneAt(s.Address), s.Address, www)
		if err == nil && got.Records.Equal(want.Records) {
			return
		}
	}
	t.Fatalf("the secondary never answered %s: %v", want.Records, err)
}
