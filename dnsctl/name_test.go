package dnsctl

import (
	"reflect"
	"strings"
	"testing"
)

func TestNamesAreJudgedByTheRFCs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	longest := strings.Repeat(long+".", 3) + strings.Repeat("b", 61)
	tests := map[string]string{ // name: part of the error, empty where it is good
		"example.com":                  "",
		"a":                            "",
		"0.example.com":                "",
		"a-b.example.com":              "",
		"a--b.example.com":             "",
		"xn--bcher-kva.example":        "",
		"*.example.com":                "",
		long + ".example.com":          "",
		longest:                        "",
		longest + "b":                  "254 octets",
		long + "a.example.com":         "at most 63",
		"":                             "0 octets",
		".":                            "empty",
		"example.com.":                 "empty",
		".example.com":                 "empty",
		"a..example.com":               "empty",
		"Example.com":                  "lower case",
		"bücher.example":               "A-label",
		"xn--.example":                 "hyphen",
		"ab--cd.example":               "A-labels",
		"-a.example.com":               "hyphen",
		"a-.example.com":               "hyphen",
		"_dmarc.example.com":           "not allowed",
		"a b.example.com":              "not allowed",
		"a\x00b.example.com":           "not allowed",
		"a\\.b.example.com":            "not allowed",
		"*":                            "first label",
		"a.*.example.com":              "first label",
		"*a.example.com":               "first label",
		"192.0.2.1":                    "is an address",
		"2001:db8::1":                  "is an address",
		"a\nupdate delete example.com": "not allowed",
	}
	for name, want := range tests {
		err := ValidateName(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want an error with %q", name, err, want)
		}
	}
}

func FuzzValidateName(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com", "xn--a.b", "a..b", "-", "ü", "010.0.0.5", "[a b]", strings.Repeat("a.", 127)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if ValidateName(name) != nil {
			return
		}
		if len(name) > 253 || name != fold(name) || strings.ContainsAny(name, " \t\r\n\"\\;@_()") {
			t.Fatalf("%q was taken for a name", name)
		}
		for i, l := range strings.Split(name, ".") {
			if l == "" || len(l) > 63 || strings.Contains(l, "*") && i > 0 {
				t.Fatalf("%q was taken for a name", name)
			}
		}
		if !Under(name, name) || !Under(name, MarkName(name)) {
			t.Fatalf("%q is not under itself", name)
		}
	})
}

func TestDomainsAreComparedAtLabelBorders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		suffixes []string
		name     string
		want     bool
	}{
		"the domain itself":                   {[]string{"example.com"}, "example.com", true},
		"a name under it":                     {[]string{"example.com"}, "a.b.example.com", true},
		"a wildcard under it":                 {[]string{"example.com"}, "*.example.com", true},
		"the spelling means nothing":          {[]string{"Example.COM."}, "a.example.com", true},
		"any of several":                      {[]string{"example.org", "example.com"}, "a.example.com", true},
		"another name with the same end":      {[]string{"example.com"}, "badexample.com", false},
		"the domain above":                    {[]string{"a.example.com"}, "example.com", false},
		"a wildcard beside":                   {[]string{"a.example.com"}, "*.example.com", false},
		"an empty suffix permits nothing":     {[]string{""}, "example.com", false},
		"the root permits nothing":            {[]string{"."}, "example.com", false},
		"no suffix permits nothing":           {nil, "example.com", false},
		"a suffix with a leading dot is none": {[]string{".example.com"}, "a.example.com", false},
	}
	for name, tt := range tests {
		if got := Permits(tt.suffixes, tt.name); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestTheZoneOfANameIsTheLongestAboveIt(t *testing.T) {
	t.Parallel()
	zones := []Zone{{Object: "com", Apex: "example.com"}, {Object: "sub", Apex: "sub.example.com."}, {Object: "org", Apex: "example.org"}}
	for name, want := range map[string]string{
		"example.com": "com", "www.example.com": "com", "sub.example.com": "sub", "a.b.sub.example.com": "sub",
		"notsub.example.com": "com", "badexample.com": "", "com": "",
	} {
		if got, ok := ZoneFor(name, zones); got.Object != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", name, got.Object, want)
		}
	}
}

func TestValidateNamesTheFaultOfAShift(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*Name)
		says []string
	}{
		"a good name":                 {func(*Name) {}, nil},
		"a bad name":                  {func(n *Name) { n.Name = "Shop.example.test" }, []string{"lower case"}},
		"a name too long for a mark":  {func(n *Name) { n.Name = strings.Repeat("a.", 122) + "b" }, []string{"too long", "244"}},
		"an alias":                    {func(n *Name) { n.Snapshot = RecordSet{Alias: "web.test"} }, []string{"alias", "web.test"}},
		"no low TTL":                  {func(n *Name) { n.LowTTL = 0 }, []string{"low TTL"}},
		"no old member in the record": {func(n *Name) { n.Old = addrs("192.0.2.66") }, []string{"none of the old addresses", "192.0.2.10"}},
		"old and new alike":           {func(n *Name) { n.New = append(n.New, n.Old[0]) }, []string{"both old and new", "192.0.2.10"}},
		"new is there already":        {func(n *Name) { n.New = addrs("192.0.2.9") }, []string{"already answers", "192.0.2.9"}},
		"a mapped address":            {func(n *Name) { n.New = append(n.New, addrs("::ffff:192.0.2.1")...) }, []string{"::ffff:192.0.2.1"}},
		"an address with a zone":      {func(n *Name) { n.New = append(n.New, addrs("fe80::1%eth0")...) }, []string{"fe80::1%eth0"}},
		"no new address at all":       {func(n *Name) { n.New = nil }, []string{"family A", "shop.example.test"}},
		"no new AAAA for an old one": {func(n *Name) {
			n.Snapshot.AAAA, n.Old = set(60, "2001:db8::10"), append(n.Old, addrs("2001:db8::10")...)
		}, []string{"family AAAA", "shop.example.test"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := with(shop(), tt.edit).Validate()
			if (err == nil) != (tt.says == nil) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

func TestSharesMustRiseToAHundredAndAvoidWhatDNSCannotGive(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		percents []int32
		says     string
	}{
		"the usual ones":      {[]int32{10, 25, 50, 100}, ""},
		"all at once":         {[]int32{100}, ""},
		"a single percent":    {[]int32{1, 100}, ""},
		"none":                {nil, "must be 100"},
		"not up to the end":   {[]int32{10, 50}, "must be 100"},
		"zero":                {[]int32{0, 100}, "not above"},
		"falling":             {[]int32{50, 25, 100}, "not above"},
		"twice the same":      {[]int32{50, 50, 100}, "not above"},
		"three quarters":      {[]int32{50, 75, 100}, "1 to 50 or 100"},
		"more than a hundred": {[]int32{50, 101}, "at most 100"},
		"below zero":          {[]int32{-1, 100}, "not above"},
		"after the end":       {[]int32{100, 100}, "not above"},
	}
	for name, tt := range tests {
		err := ValidateShares(tt.percents)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", name, err, tt.says)
		}
	}
}

func TestExternalNamesStayInsideTheZone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 61)
	for name, want := range map[string][]string{
		"www.example.com":       {"www.example.com", "a-www.example.com", "aaaa-www.example.com", "cname-www.example.com"},
		"example.com":           {"example.com"},
		long + ".example.com":   {long + ".example.com", "a-" + long + ".example.com"},
		"*.example.com":         {"*.example.com", "a-*.example.com", "aaaa-*.example.com", "cname-*.example.com"},
		"sub.other.example.com": {"sub.other.example.com", "a-sub.other.example.com", "aaaa-sub.other.example.com", "cname-sub.other.example.com"},
	} {
		if got := ExternalNames(Zone{Apex: "example.com"}, name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestExternalNamesCarryThePrefixAndSuffixThatExternalDNSWasGiven(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prefix, suffix string
		want           []string
	}{
		"a prefix":           {"edns-", "", []string{"www.example.com", "edns-www.example.com", "edns-a-www.example.com", "edns-aaaa-www.example.com", "edns-cname-www.example.com"}},
		"a prefix of labels": {"TXT.", "", []string{"www.example.com", "txt.www.example.com", "txt.a-www.example.com", "txt.aaaa-www.example.com", "txt.cname-www.example.com"}},
		"a suffix":           {"", "-txt", []string{"www.example.com", "www-txt.example.com", "a-www-txt.example.com", "aaaa-www-txt.example.com", "cname-www-txt.example.com"}},
		"a place for the type": {"%{record_type}-edns.", "", []string{
			"www.example.com", "-edns.www.example.com", "a-edns.www.example.com", "aaaa-edns.www.example.com", "cname-edns.www.example.com",
		}},
	} {
		got := ExternalNames(Zone{Apex: "example.com", ExternalPrefix: tt.prefix, ExternalSuffix: tt.suffix}, "www.example.com")
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestATextThatMayBeEncryptedIsTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"q3Hh8fkX3l5Yc9eDdN0aJq2m5uX0JmQ4oYJ8nVZr0s0mHqk2k0t1y1u3v5w7x9z1"`: true,
		"heritage=external-dns,external-dns/owner=prod":                      false,
		"v=spf1 -all": false,
		"c2hvcnQ=":    false, // shorter than a nonce and a tag
		"":            false,
	} {
		if got := MaybeEncrypted(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func FuzzZoneFor(f *testing.F) {
	f.Add("www.example.com", "example.com", "com")
	f.Add("badexample.com", "example.com", "")
	f.Add("*.a.b.", "B.", "A.b")
	f.Fuzz(func(t *testing.T, name, one, other string) {
		zones := []Zone{{Object: "one", Apex: one}, {Object: "other", Apex: other}}
		got, found := ZoneFor(name, zones)
		if found != (Under(one, name) || Under(other, name)) || found && !Under(got.Apex, name) {
			t.Fatalf("%q of %q and %q: %+v, %v", name, one, other, got, found)
		}
		if found && Under(one, name) && Under(other, name) && len(fold(got.Apex)) < max(len(fold(one)), len(fold(other))) {
			t.Fatalf("%q: %q is not the longest of %q and %q", name, got.Apex, one, other)
		}
		for _, n := range ExternalNames(zones[0], name) {
			if n != fold(name) && !Under(one, n) {
				t.Fatalf("%q is not under %q", n, one)
			}
		}
	})
}
