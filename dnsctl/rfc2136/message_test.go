package rfc2136

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

func zoneUnderTest() dnsctl.Zone {
	return dnsctl.Zone{Object: "test", Apex: "example.test", Primary: "127.0.0.1:1"}
}

func a(ttl uint32, addrs ...string) dnsctl.RRset {
	out := dnsctl.RRset{TTL: ttl}
	for _, s := range addrs {
		out.Addresses = append(out.Addresses, netip.MustParseAddr(s))
	}
	return out
}

func usualChange() dnsctl.Change {
	mark := dnsctl.Mark{Owner: "shop-1", Sequence: 2, Until: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	return dnsctl.Change{
		Zone: "test", Name: "www.example.test",
		Before: dnsctl.Answer{Records: dnsctl.RecordSet{A: a(3600, "192.0.2.10"), AAAA: a(300, "2001:db8::10")}},
		After:  dnsctl.Answer{Records: dnsctl.RecordSet{A: a(30, "198.51.100.20"), AAAA: a(30, "2001:db8::10")}, Mark: mark},
	}
}

// TestTheMessageIsWhatItSays pins every record of an update: the prerequisites carry TTL 0, the inserts theirs.
func TestTheMessageIsWhatItSays(t *testing.T) {
	t.Parallel()
	m, err := message(zoneUnderTest(), []dnsctl.Change{usualChange()})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "prerequisites", m.Answer,
		"www.example.test.	0	IN	A	192.0.2.10",
		"www.example.test.	0	IN	AAAA	2001:db8::10",
		"www.example.test.	0	NONE	CNAME",
		"_offramp.www.example.test.	0	NONE	TXT",
	)
	check(t, "updates", m.Ns,
		"www.example.test.	0	CLASS255	A",
		"www.example.test.	30	IN	A	198.51.100.20",
		"www.example.test.	0	CLASS255	AAAA",
		"www.example.test.	30	IN	AAAA	2001:db8::10",
		"_offramp.www.example.test.	0	CLASS255	TXT",
		`_offramp.www.example.test.	30	IN	TXT	"heritage=offramp,v=1,owner=shop-1,seq=2,until=2030-01-01T00:00:00Z"`,
	)
	if m.Opcode != dns.OpcodeUpdate || m.Question[0].Name != "example.test." || m.RecursionDesired {
		t.Errorf("header %v, zone %v", m.MsgHdr, m.Question)
	}
}

func check(t *testing.T, what string, got []dns.RR, want ...string) {
	t.Helper()
	var lines []string
	for _, rr := range got {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(rr.String(), ";")))
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Short words for the table below.
type (
	zone   = dnsctl.Zone
	change = dnsctl.Change
)

func TestWhatMustNeverBeSentIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*zone, *change)
		says string
	}{
		"a manual zone":                 {func(z *zone, _ *change) { z.Manual = true }, "Manual"},
		"a change of another zone":      {func(_ *zone, c *change) { c.Zone = "other" }, "other"},
		"a name outside":                {func(_ *zone, c *change) { c.Name = "www.badexample.test" }, "not in zone"},
		"a bad name":                    {func(_ *zone, c *change) { c.Name = `w"w.example.test` }, "not allowed"},
		"an alias found":                {func(_ *zone, c *change) { c.Before.Records.Alias = "x.test" }, "alias"},
		"an alias wanted":               {func(_ *zone, c *change) { c.After.Records.Alias = "x.test" }, "alias"},
		"a foreign mark":                {func(_ *zone, c *change) { c.Before.Foreign = "v=spf1" }, "not ours"},
		"IPv6 in A":                     {func(_ *zone, c *change) { c.After.Records.A = a(1, "2001:db8::1") }, "no A record"},
		"IPv4 in AAAA":                  {func(_ *zone, c *change) { c.After.Records.AAAA = a(1, "192.0.2.1") }, "no AAAA record"},
		"a mapped address":              {func(_ *zone, c *change) { c.After.Records.AAAA = a(1, "::ffff:192.0.2.1") }, "no AAAA record"},
		"a zoned address":               {func(_ *zone, c *change) { c.Before.Records.AAAA = a(1, "fe80::1%eth0") }, "no AAAA record"},
		"the zero address":              {func(_ *zone, c *change) { c.After.Records.A.Addresses = []netip.Addr{{}} }, "no A record"},
		"an old mark that is no mark":   {func(_ *zone, c *change) { c.Before.Mark.Owner = "A B" }, "mark owner"},
		"a new mark that is no mark":    {func(_ *zone, c *change) { c.After.Mark.Sequence = -1 }, "negative"},
		"more than one message can say": {func(_ *zone, c *change) { c.After.Records.A.Addresses = many(5000) }, "one message"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z, c := zoneUnderTest(), usualChange()
			tt.edit(&z, &c)
			err := New(Options{Keys: anyKey}).Update(t.Context(), z, []dnsctl.Change{c})
			var failed *dnsctl.UpdateError
			if !errors.As(err, &failed) || failed.Class != dnsctl.ClassBug || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want class %s and %q", err, dnsctl.ClassBug, tt.says)
			}
		})
	}
	twice := []dnsctl.Change{usualChange(), usualChange()}
	err := New(Options{Keys: anyKey}).Update(t.Context(), zoneUnderTest(), twice)
	if err == nil || !strings.Contains(err.Error(), "two changes") {
		t.Errorf("two changes of one name: got %v", err)
	}
}

func anyKey(string) (Key, error) {
	return Key{Name: "k", Algorithm: "hmac-sha256", Secret: "YWJj"}, nil
}

func many(n int) []netip.Addr {
	out := make([]netip.Addr, 0, n)
	addr := netip.MustParseAddr("10.0.0.0")
	for range n {
		out = append(out, addr)
		addr = addr.Next()
	}
	return out
}

// TestTheVerdictReadsTSIGErrors covers what no server at hand says.
func TestTheVerdictReadsTSIGErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tsig  *dns.TSIG
		rcode int
		class dnsctl.Class
		says  string
	}{
		"BADTRUNC is about the key":               {&dns.TSIG{Error: 22}, dns.RcodeNotAuth, dnsctl.ClassAuth, "22"},
		"BADTIME without a time is still a clock": {&dns.TSIG{Error: dns.RcodeBadTime}, dns.RcodeNotAuth, dnsctl.ClassClock, "BADTIME"},
		"BADTIME with the server's time says it": {
			&dns.TSIG{Error: dns.RcodeBadTime, OtherLen: 6, OtherData: "000065920080"}, dns.RcodeNotAuth, dnsctl.ClassClock, "2024-01-01T00:00:00Z",
		},
		"an rcode that nobody knows is tried again": {&dns.TSIG{}, 3999, dnsctl.ClassRetry, "3999"},
		"a signed FORMERR is our bug":               {&dns.TSIG{}, dns.RcodeFormatError, dnsctl.ClassBug, "FORMERR"},
		"a signed NOTIMP is our bug":                {&dns.TSIG{}, dns.RcodeNotImplemented, dnsctl.ClassBug, "NOTIMP"},
	}
	for name, tt := range tests {
		reply := new(dns.Msg)
		reply.Response, reply.Opcode, reply.Rcode = true, dns.OpcodeUpdate, tt.rcode
		tt.tsig.Hdr = dns.RR_Header{Rrtype: dns.TypeTSIG}
		reply.Extra = []dns.RR{tt.tsig}
		v := judge(reply.Id, reply, nil)
		if v.class != tt.class || v.done || !strings.Contains(v.detail, tt.says) {
			t.Errorf("%s: got %+v, want class %s and %q", name, v, tt.class, tt.says)
		}
	}
}

// TestAFailedAttemptLeavesNoSignatureBehind: a message that was signed and not sent must not be signed beside that.
func TestAFailedAttemptLeavesNoSignatureBehind(t *testing.T) {
	t.Parallel()
	m, err := message(zoneUnderTest(), []dnsctl.Change{usualChange()})
	if err != nil {
		t.Fatal(err)
	}
	key, err := Key{Name: "k", Algorithm: "hmac-sha256", Secret: "YWJj"}.normal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{}).send(t.Context(), "127.0.0.1:1", m, key); err == nil {
		t.Fatal("a send to a closed port should fail")
	}
	if len(m.Extra) != 0 {
		t.Errorf("the message now carries %v", m.Extra)
	}
}
