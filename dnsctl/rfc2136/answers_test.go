package rfc2136_test

import (
	"net/netip"
	"strings"
	"testing"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

func TestAnAliasIsSeenAndNeverWrittenBeside(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, bindtest.Options{Records: []string{"www 3600 IN CNAME web.elsewhere.test."}})
	c, zone := client(keyOf(s.Key)), zoneAt(s.Address)
	got, err := c.Query(t.Context(), zone, s.Address, www)
	if err != nil || got.Records.Alias != "web.elsewhere.test" || len(got.Records.A.Addresses) != 0 {
		t.Fatalf("got %+v (%v), want the alias web.elsewhere.test", got, err)
	}
	blind := []dnsctl.Change{{Zone: "test", Name: www, After: there()}}
	if class := classOf(t, c.Update(t.Context(), zone, blind)); class != dnsctl.ClassChanged {
		t.Fatalf("class %s, want %s", class, dnsctl.ClassChanged)
	}
}

func TestANameBelowAZoneCutIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, bindtest.Options{Records: []string{"sub 3600 IN NS ns.elsewhere.test."}})
	got, err := client(keyOf(s.Key)).Query(t.Context(), zoneAt(s.Address), s.Address, "www.sub.example.test")
	if err == nil {
		t.Fatalf("got %+v, want an error", got)
	}
	contains(t, err.Error(), "not authoritative")
}

func TestMarksThatAreNotOursAreForeign(t *testing.T) {
	t.Parallel()
	owned := `"heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/web"`
	tests := map[string]struct {
		records  []string
		foreign  string
		external string
	}{
		"another text at our place":        {records: []string{`_offramp.www 60 IN TXT "v=spf1 -all"`}, foreign: "v=spf1 -all"},
		"our heritage in another version":  {records: []string{`_offramp.www 60 IN TXT "heritage=offramp,v=2"`}, foreign: "heritage=offramp,v=2"},
		"two texts at our place":           {records: []string{`_offramp.www 60 IN TXT "a"`, `_offramp.www 60 IN TXT "b"`}, foreign: "a | b"},
		"an alias at our place":            {records: []string{`_offramp.www 60 IN CNAME ns1`}, foreign: "alias of ns1.example.test"},
		"an empty text at our place":       {records: []string{`_offramp.www 60 IN TXT ""`}, foreign: "an empty text"},
		"a wildcard's text at our place":   {records: []string{`*.www 60 IN TXT "any"`}, foreign: "any"},
		"a wildcard's text kept away":      {records: []string{`*.www 60 IN TXT "any"`, `_offramp.www 60 IN HINFO "a" "b"`}},
		"external-dns at the name":         {records: []string{`www 60 IN TXT ` + owned, `www 60 IN TXT "v=spf1 -all"`}, external: owned},
		"external-dns at its A name":       {records: []string{`a-www 60 IN TXT ` + owned}, external: owned},
		"external-dns at its AAAA name":    {records: []string{`aaaa-www 60 IN TXT ` + owned}, external: owned},
		"any other text at the name":       {records: []string{`www 60 IN TXT "v=spf1 -all"`}},
		"a text in several strings joined": {records: []string{`www 60 IN TXT ` + strings.Replace(owned, ",", `," "`, 1)}, external: owned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bindtest.Start(t, bindtest.Options{Records: append(usual().Records, tt.records...)})
			got, err := client(keyOf(s.Key)).Query(t.Context(), zoneAt(s.Address), s.Address, www)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Trim(tt.external, `"`); got.Foreign != tt.foreign || got.External != want {
				t.Errorf("foreign %q, external %q; want %q, %q", got.Foreign, got.External, tt.foreign, want)
			}
		})
	}
}

func TestManyAddressesAreReadWholeOverTCP(t *testing.T) {
	t.Parallel()
	var records []string
	want := dnsctl.RRset{TTL: 60}
	for i := range 90 {
		a := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		want.Addresses = append(want.Addresses, a)
		records = append(records, "www 60 IN A "+a.String())
	}
	s := bindtest.Start(t, bindtest.Options{Records: records})
	for name, only := range map[string]bool{"after a cut UDP reply": false, "over TCP from the start": true} {
		c := client(keyOf(s.Key), func(o *rfc2136.Options) { o.TCPOnly = only })
		got, err := c.Query(t.Context(), zoneAt(s.Address), s.Address, www)
		if err != nil || !got.Records.Equal(dnsctl.RecordSet{A: want}) {
			t.Errorf("%s: got %d addresses (%v), want 90", name, len(got.Records.A.Addresses), err)
		}
	}
}

func TestEveryAlgorithmAndSpellingOfAKeyWorks(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"hmac-sha256", "hmac-sha384", "HMAC-SHA512."} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			o := usual()
			o.Key = bindtest.Key{Name: "Move.Key", Algorithm: algorithm, Secret: bindtest.DefaultKey().Secret}
			if algorithm == "HMAC-SHA512." {
				o.Key.Algorithm = "hmac-sha512"
			}
			s := bindtest.Start(t, o)
			key := rfc2136.Key{Name: "MOVE.key.", Algorithm: algorithm, Secret: o.Key.Secret}
			if err := client(key).Update(t.Context(), zoneAt(s.Address), move()); err != nil {
				t.Fatal(err)
			}
			wants(t, s, there())
		})
	}
}

func TestTheTextForHumansDoesWhatTheUpdateDoes(t *testing.T) {
	t.Parallel()
	s := bindtest.Start(t, usual())
	for _, c := range []dnsctl.Change{move()[0], {Zone: "test", Name: www, Before: there(), After: home()}} {
		text, err := c.Nsupdate(zoneAt(s.Address))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Nsupdate(t, text); err != nil {
			t.Fatalf("nsupdate: %v\n%s\n%s", err, out, text)
		}
		wants(t, s, c.After)
		if out, err := s.Nsupdate(t, text); err == nil {
			t.Fatalf("the same text applied twice should fail at its prerequisites, said %q", out)
		}
	}
}
