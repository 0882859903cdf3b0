package addresspool

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func span(first, last string) Range { return Range{ip(first), ip(last)} }

func TestAdmit(t *testing.T) {
	t.Parallel()
	mine := Claim{ip("192.0.2.50"), New, "a-web-1", []Holder{{"a", "web", []string{"TCP/80"}}}, nil}
	as := func(r Role) Claim { c := mine; c.Role = r; return c }
	row := func(a, ep string) []Claim { return []Claim{{Address: ip(a), Role: Old, EntryPoint: ep}} }
	use := func(object string, ports ...string) []Use { return []Use{{ip("192.0.2.50"), object, ports}} }
	tests := []struct {
		name   string
		ledger []Claim
		uses   []Use
		claim  Claim
		want   []string
	}{
		{"an address that nobody has is admitted", nil, nil, mine, nil},
		{"our own row does not conflict", row("192.0.2.50", "a-web-1"), nil, mine, nil},
		{"another entry point's row conflicts", row("192.0.2.50", "b-db-2"), nil, mine, []string{"AddressClaim 192.0.2.50"}},
		{
			"a row that is written IPv4-mapped conflicts as well", row("::ffff:192.0.2.50", "b-db-2"), nil, mine,
			[]string{"AddressClaim 192.0.2.50"},
		},
		{"a row of another address does not conflict", row("192.0.2.51", "b-db-2"), nil, mine, nil},
		{"our own Service does not conflict", nil, use("Service a/web", "TCP/80"), mine, nil},
		{"our own Gateway does not conflict", nil, use("Gateway a/web"), mine, nil},
		{"a stranger's Service on the same port conflicts", nil, use("Service b/db", "TCP/80", "TCP/81"), mine, []string{"Service b/db"}},
		{"a stranger's Service on another port does not conflict", nil, use("Service b/db", "UDP/80"), mine, nil},
		{"a use without ports conflicts", nil, use("Gateway b/edge"), mine, []string{"Gateway b/edge"}},
		{"a node conflicts with a new address", nil, use("Node n1"), mine, []string{"Node n1"}},
		{"a node does not conflict with an old address", nil, use("Node n1"), as(Old), nil},
		{"a node does not conflict with an adopted address", nil, use("Node n1"), as(Adopted), nil},
		{
			"a claim without ports conflicts with any use", nil, use("Service b/db", "TCP/81"),
			Claim{Address: ip("192.0.2.50"), Role: New, EntryPoint: "x"},
			[]string{"Service b/db"},
		},
		{
			"conflicts are sorted and told once", nil, append(append(use("Service c/x", "TCP/80"), use("Service b/x", "TCP/80")...),
				use("Service c/x", "TCP/80")...),
			mine,
			[]string{"Service b/x", "Service c/x"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range Admit(tt.ledger, tt.uses, tt.claim) {
				got = append(got, c.Object)
				if c.Address != ip("192.0.2.50") || !strings.Contains(c.Message, "192.0.2.50") || !strings.Contains(c.Message, ";") {
					t.Errorf("%+v does not name the address and a way out", c)
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("conflicts %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	l2 := []string{"L2Advertisement metallb-system/l2"}
	one := Pool{Name: "one", Ranges: []Range{span("192.0.2.50", "192.0.2.51"), span("2001:db8::", "2001:db8::ffff:ffff")}, Announcers: l2}
	two := Pool{Name: "two", Ranges: []Range{span("198.51.100.0", "198.51.100.255")}, Announcers: l2}
	dot0 := Pool{Name: "dot0", Ranges: []Range{span("198.51.100.0", "198.51.100.0")}, Announcers: l2}
	quiet := Pool{Name: "quiet", Ranges: one.Ranges}
	murky := Pool{Name: "murky", Ranges: one.Ranges, Announcers: l2, Unreadable: "namespaceSelectors"}
	pools := []Pool{one, two, dot0, quiet, murky}
	row := func(a string, r Role, ep string) Claim { return Claim{Address: ip(a), Role: r, EntryPoint: ep} }
	tests := []struct {
		name   string
		names  []string
		ledger []Claim
		uses   []Use
		is6    bool
		want   string
		pool   string
		err    string
	}{
		{name: "the first address of the first pool", names: []string{"one", "two"}, want: "192.0.2.50", pool: "one"},
		{name: "the order of the names decides, not that of the pools", names: []string{"two", "one"}, want: "198.51.100.1", pool: "two"},
		{name: "an address that ends in .0 is taken where it is the whole range", names: []string{"dot0"}, want: "198.51.100.0", pool: "dot0"},
		{
			name: "an address in the ledger is not free", names: []string{"one"}, ledger: []Claim{row("192.0.2.50", Old, "other")},
			want: "192.0.2.51", pool: "one",
		},
		{
			name: "an address in use on any port is not free", names: []string{"one"},
			uses: []Use{{ip("192.0.2.50"), "Service b/x", []string{"UDP/9"}}}, want: "192.0.2.51", pool: "one",
		},
		{
			name: "a full pool hands over to the next", names: []string{"one", "two"}, want: "198.51.100.1", pool: "two",
			ledger: []Claim{row("192.0.2.50", New, "other"), row("192.0.2.51", New, "other")},
		},
		{
			name: "the address already claimed stays, though an earlier one is free", names: []string{"one"}, want: "192.0.2.51", pool: "one",
			ledger: []Claim{row("192.0.2.51", New, "me")},
		},
		{
			name: "an old address of ours is not a new one", names: []string{"one"}, ledger: []Claim{row("192.0.2.50", Old, "me")},
			want: "192.0.2.51", pool: "one",
		},
		{name: "IPv6 from the same pool", names: []string{"one"}, is6: true, want: "2001:db8::", pool: "one"},
		{
			name: "a claim of one family does not answer for the other", names: []string{"one"}, is6: true,
			ledger: []Claim{row("192.0.2.51", New, "me")}, want: "2001:db8::", pool: "one",
		},
		{name: "no pool of that family", names: []string{"two"}, is6: true, err: "no IPv6 address for me: pool two has no IPv6 range"},
		{name: "a pool that nobody announces", names: []string{"quiet"}, err: "pool quiet is announced by no"},
		{name: "a pool that cannot be judged", names: []string{"murky"}, err: "pool murky cannot be judged: namespaceSelectors"},
		{name: "a pool that does not exist", names: []string{"none"}, err: "pool none does not exist"},
		{name: "no pool named", err: "the policy names no pool (spec.pools)"},
		{
			name: "a claimed address that left every pool", names: []string{"two"}, ledger: []Claim{row("192.0.2.51", New, "me")},
			err: "192.0.2.51 is claimed for me but lies in none of the pools two",
		},
		{
			name: "every pool's reason is told", names: []string{
				"one",
				"quiet",
			}, err: "pool one has no free IPv4 address; pool quiet is announced by no",
			ledger: []Claim{row("192.0.2.50", New, "other"), row("192.0.2.51", New, "other")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, pool, err := Pick(pools, tt.names, tt.ledger, tt.uses, "me", tt.is6)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.String() != tt.want || pool.Name != tt.pool {
				t.Errorf("Pick = %v from %q, %v; want %s from %s", got, pool.Name, err, tt.want, tt.pool)
			}
		})
	}
}

func TestPickEndsAtTheLastAddressThereIs(t *testing.T) {
	t.Parallel()
	pool := Pool{Name: "p", Announcers: []string{"x"}, Ranges: []Range{span("255.255.255.254", "255.255.255.255")}}
	uses := []Use{{Address: ip("255.255.255.254")}, {Address: ip("255.255.255.255")}}
	if got, _, err := Pick([]Pool{pool}, []string{"p"}, nil, uses, "me", false); err == nil {
		t.Errorf("Pick = %v, want an error", got)
	}
}

func TestPoolsAllowNamespaces(t *testing.T) {
	t.Parallel()
	fenced := Pool{Namespaces: []string{"a"}}
	if !(Pool{}).Allows("b") || !fenced.Allows("a") || fenced.Allows("b") || (Pool{Unreadable: "x"}).Allows("a") {
		t.Error("a pool without namespaces allows all, one with namespaces only those, an unreadable one none")
	}
}

func TestTouching(t *testing.T) {
	t.Parallel()
	pool := Pool{Name: "p", Ranges: []Range{span("192.0.2.10", "192.0.2.20"), span("2001:db8::1", "2001:db8::1")}}
	reserved := []Reserved{
		{span("2001:db8::", "2001:db8::ff"), "ServiceCIDR six", "Service addresses"},
		{span("192.0.2.20", "192.0.2.20"), "Node n1", "node address"},
		{span("192.0.2.21", "192.0.2.255"), "Node n2", "pod addresses"},
		{span("::c000:20a", "::c000:20a"), "Node n3", "node address"},
	}
	got := Touching(pool, reserved)
	if len(got) != 2 || got[0].Object != "Node n1" || got[1].Object != "ServiceCIDR six" {
		t.Fatalf("Touching = %+v", got)
	}
	want := "range 192.0.2.10-192.0.2.20 of pool p touches 192.0.2.20 (node address of Node n1); take it out of the pool"
	if got[0].Message != want {
		t.Errorf("message %q, want %q", got[0].Message, want)
	}
}

func TestRangesOfTwoFamiliesNeverMeet(t *testing.T) {
	t.Parallel()
	crooked := Range{ip("192.0.2.1"), ip("2001:db8::1")}
	if crooked.Contains(ip("192.0.2.1")) || crooked.Overlaps(span("192.0.2.1", "192.0.2.1")) || (Range{}).Contains(netip.Addr{}) {
		t.Error("a range of two families, or of none, holds nothing")
	}
}
