package addresspool

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, want string
		strict           bool
	}{
		{"a plain IPv4 address is strict", "192.0.2.50", "192.0.2.50", true},
		{"leading zeros are decimal, never octal, and not strict", "010.0.0.5", "10.0.0.5", false},
		{"many leading zeros are read too", "192.000.0002.050", "192.0.2.50", false},
		{"a zero octet stays", "10.00.0.5", "10.0.0.5", false},
		{"an IPv4-mapped address is the IPv4 address and not strict", "::ffff:192.0.2.1", "192.0.2.1", false},
		{"an IPv4-mapped address with leading zeros is read", "::ffff:192.0.02.1", "192.0.2.1", false},
		{"upper case IPv6 is strict since the API server takes it", "2001:DB8::1", "2001:db8::1", true},
		{"uncompressed IPv6 is strict since the API server takes it", "2001:db8:0:0:0:0:0:1", "2001:db8::1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, strict, err := Canonical(tt.text)
			if err != nil || got.String() != tt.want || strict != tt.strict {
				t.Errorf("Canonical(%q) = %v, %v, %v; want %v, %v", tt.text, got, strict, err, tt.want, tt.strict)
			}
		})
	}
}

func TestCanonicalRefusesWithAWayOut(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                        "empty",
		"[a b]":                   "without brackets",
		"[2001:db8::1]":           "without brackets",
		"fe80::1%eth0":            "zone",
		"192.0.2.1/32":            "single addresses",
		" 192.0.2.1":              "white space",
		"192.0.2.1:80":            "write an IPv4 or IPv6 address",
		"web.example.com":         "write an IPv4 or IPv6 address",
		"192.0.2":                 "write an IPv4 or IPv6 address",
		"192.0..1":                "write an IPv4 or IPv6 address",
		"0x7f.0.0.1":              "write an IPv4 or IPv6 address",
		"3221225985":              "write an IPv4 or IPv6 address",
		strings.Repeat("1", 9000): "(9000 bytes)",
	}
	for text, want := range tests {
		_, strict, err := Canonical(text)
		if err == nil || strict || !strings.Contains(err.Error(), want) {
			t.Errorf("Canonical(%.20q): error %v, want it to contain %q", text, err, want)
		} else if len(err.Error()) > 300 {
			t.Errorf("Canonical(%.20q): error of %d bytes", text, len(err.Error()))
		}
	}
}

var claimNames = map[string]string{
	"203.0.113.10":     "203.0.113.10",
	"2001:db8::1":      "2001-db8--1",
	"::1":              "0--1",
	"::":               "0--0",
	"2001:db8::":       "2001-db8--0",
	"1:2:3:4:5:6:7:8":  "1-2-3-4-5-6-7-8",
	"::ffff:192.0.2.1": "192.0.2.1",
}

func TestClaimNamesAreLegalAndComeBack(t *testing.T) {
	t.Parallel()
	for text, want := range claimNames {
		addr := netip.MustParseAddr(text)
		if got := ClaimName(addr); got != want {
			t.Errorf("ClaimName(%s) = %q, want %q", text, got, want)
		}
		if back, err := ParseClaimName(want); err != nil || back != addr.Unmap() {
			t.Errorf("ParseClaimName(%q) = %v, %v, want %v", want, back, err, addr.Unmap())
		}
	}
}

func TestAnAddressWithoutANameHasNone(t *testing.T) {
	t.Parallel()
	for _, a := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%eth0")} {
		if got := ClaimName(a); got != "" {
			t.Errorf("ClaimName(%v) = %q, want none", a, got)
		}
	}
}

func TestParseClaimNameRefusesSecondSpellings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "203.0.113.010", "--1", "2001-db8--", "2001-db8-0-0-0-0-0-1", "0--ffff-192.0.2.1", "2001-DB8--1", "1", "web",
		"2001:db8::1", "fe80--1%eth0", "0-0--1", "192-0-2-1",
	} {
		if got, err := ParseClaimName(name); err == nil {
			t.Errorf("ParseClaimName(%q) = %v, want an error", name, got)
		}
	}
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func FuzzClaimName(f *testing.F) {
	for text := range claimNames {
		f.Add(netip.MustParseAddr(text).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		name := ClaimName(addr)
		if !objectName.MatchString(name) {
			t.Fatalf("ClaimName(%v) = %q is no object name", addr, name)
		}
		if back, err := ParseClaimName(name); err != nil || back != addr.Unmap() {
			t.Fatalf("%v -> %q -> %v, %v", addr, name, back, err)
		}
	})
}

func FuzzParseClaimName(f *testing.F) {
	for _, name := range claimNames {
		f.Add(name)
	}
	f.Add("203.0.113.010")
	f.Fuzz(func(t *testing.T, name string) {
		if addr, err := ParseClaimName(name); err == nil && ClaimName(addr) != name {
			t.Fatalf("%q is taken for %v, whose name is %q", name, addr, ClaimName(addr))
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, text := range []string{"192.0.2.1", "010.0.0.5", "::ffff:192.0.2.1", "2001:DB8::1", "[a b]", "fe80::1%eth0", "1.2.3.4/32"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, strict, err := Canonical(text)
		if err != nil {
			return
		}
		if addr.Zone() != "" || addr.Is4In6() {
			t.Fatalf("Canonical(%q) = %v keeps a zone or a mapped form", text, addr)
		}
		again, canonical, err := Canonical(addr.String())
		if err != nil || again != addr || !canonical {
			t.Fatalf("Canonical(%q) = %v (strict %v) is not its own canonical form: %v, %v, %v", text, addr, strict, again, canonical, err)
		}
	})
}
