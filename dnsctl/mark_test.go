package dnsctl

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func ours() Mark {
	return Mark{Owner: "shop-web-1a2b3c4d-1", Sequence: 7, Until: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
}

const oursText = "heritage=offramp,v=1,owner=shop-web-1a2b3c4d-1,seq=7,until=2026-03-02T12:00:00Z"

func TestAMarkIsWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	text, err := EncodeMark(ours())
	if err != nil || text != oursText {
		t.Fatalf("got %q (%v), want %q", text, err, oursText)
	}
	got, err := ParseMark(text)
	if err != nil || got != ours() {
		t.Fatalf("got %+v (%v), want %+v", got, err, ours())
	}
	odd := ours()
	odd.Until = odd.Until.Add(999 * time.Millisecond).In(time.FixedZone("", 3600))
	if again, _ := EncodeMark(odd); again != text || !odd.Equal(got) {
		t.Errorf("fractions and time zones change the text: %q", again)
	}
}

func TestATextThatIsNotExactlyOursIsNotOurs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                   "",
		"another heritage":          strings.Replace(oursText, "offramp", "external-dns", 1),
		"another version":           strings.Replace(oursText, "v=1", "v=2", 1),
		"a field more":              oursText + ",x=1",
		"a field less":              "heritage=offramp,v=1,owner=a,seq=7",
		"fields in another order":   "heritage=offramp,v=1,seq=7,owner=a,until=2026-03-02T12:00:00Z",
		"a blank":                   strings.Replace(oursText, ",seq", ", seq", 1),
		"quotes":                    `"` + oursText + `"`,
		"no owner":                  strings.Replace(oursText, "shop-web-1a2b3c4d-1", "", 1),
		"an owner in upper case":    strings.Replace(oursText, "shop", "Shop", 1),
		"a negative sequence":       strings.Replace(oursText, "seq=7", "seq=-7", 1),
		"a sequence with a plus":    strings.Replace(oursText, "seq=7", "seq=+7", 1),
		"a sequence with a zero":    strings.Replace(oursText, "seq=7", "seq=07", 1),
		"a sequence past all bound": strings.Replace(oursText, "seq=7", "seq=99999999999999999999", 1),
		"a date":                    strings.Replace(oursText, "T12:00:00Z", "", 1),
		"another time zone":         strings.Replace(oursText, "Z", "+00:00", 1),
		"fractions of a second":     strings.Replace(oursText, "00Z", "00.5Z", 1),
		"a month that is none":      strings.Replace(oursText, "-03-", "-13-", 1),
		"a line feed at the end":    oursText + "\n",
	} {
		if got, err := ParseMark(text); !errors.Is(err, ErrNotOurMark) || got != (Mark{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestAMarkThatCannotBeReadBackIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]Mark{
		"no owner":              {Sequence: 1, Until: anchor},
		"an owner with a comma": {Owner: "a,seq=9", Until: anchor},
		"an owner with a quote": {Owner: `a"`, Until: anchor},
		"an owner too long":     {Owner: strings.Repeat("a", 254), Until: anchor},
		"a negative sequence":   {Owner: "a", Sequence: -1, Until: anchor},
		"no end of the lease":   {Owner: "a"},
		"a year past RFC 3339":  {Owner: "a", Until: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if text, err := EncodeMark(m); err == nil {
			t.Errorf("%s: wrote %q", name, text)
		}
	}
}

func FuzzMark(f *testing.F) {
	for _, s := range []string{oursText, "heritage=offramp,v=1,owner=,seq=,until=", "heritage=external-dns,external-dns/owner=x", ",,,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMark(text)
		if err != nil {
			if !m.IsZero() {
				t.Fatalf("%q: an error and a mark: %+v", text, m)
			}
			return
		}
		again, err := EncodeMark(m)
		if err != nil || again != text {
			t.Fatalf("%q was taken for ours and comes back as %q (%v)", text, again, err)
		}
		if m.IsZero() || strings.Join(CharacterStrings(text), "") != text {
			t.Fatalf("%q: zero mark or lost octets", text)
		}
	})
}

func TestTheMarkLiesUnderTheName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"www.example.com": "_offramp.www.example.com", "WWW.Example.com.": "_offramp.www.example.com", "*.example.com": "_offramp.*.example.com",
	} {
		if got := MarkName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestLongTextsAreCutIntoCharacterStrings(t *testing.T) {
	t.Parallel()
	m := ours()
	m.Owner = strings.Repeat("a", 253)
	text, err := EncodeMark(m)
	if err != nil {
		t.Fatal(err)
	}
	parts := CharacterStrings(text)
	if len(parts) != 2 || len(parts[0]) != 255 || strings.Join(parts, "") != text {
		t.Errorf("got %d strings, the first of %d octets", len(parts), len(parts[0]))
	}
	if got := CharacterStrings(""); len(got) != 1 || got[0] != "" {
		t.Errorf("an empty text is %q, want one empty string", got)
	}
}

func TestTheTextsOfExternalDNSAreRecognised(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want External
		ok   bool
	}{
		"as written": {
			"heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/web",
			External{"prod", "service/shop/web"},
			true,
		},
		"in quotes":         {`"heritage=external-dns,external-dns/owner=prod"`, External{Owner: "prod"}, true},
		"in another order":  {"external-dns/owner=prod, heritage=external-dns", External{Owner: "prod"}, true},
		"without an owner":  {"heritage=external-dns", External{}, true},
		"with more keys":    {"heritage=external-dns,external-dns/owner=a,external-dns/weight=5", External{Owner: "a"}, true},
		"an owner with a =": {"heritage=external-dns,external-dns/owner=a=b", External{Owner: "a=b"}, true},
		"ours":              {oursText, External{}, false},
		"an owner alone":    {"external-dns/owner=prod", External{}, false},
		"a longer heritage": {"heritage=external-dns2", External{}, false},
		"anything else":     {"v=spf1 include:_spf.example.com -all", External{}, false},
		"nothing":           {"", External{}, false},
	}
	for name, tt := range tests {
		if got, ok := ParseExternal(tt.text); got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %+v, %v; want %+v, %v", name, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseExternal(f *testing.F) {
	f.Add("heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/web")
	f.Add(`"heritage=external-dns`)
	f.Add("=,=,=")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ParseExternal(text)
		if ok && !strings.Contains(text, "external-dns") || !ok && got != (External{}) {
			t.Fatalf("%q: %+v, %v", text, got, ok)
		}
		if _, err := ParseMark(text); err == nil && ok {
			t.Fatalf("%q is taken for two marks", text)
		}
	})
}
