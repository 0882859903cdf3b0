package addresspool

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"offramp.dev/api/v1alpha1"
)

const edge = "192.0.2.9"

// share is what an entry point holds of the static Service's address.
func share(entryPoint string, listeners ...Listener) Claim {
	holder := Holder{Namespace: "ingress", Name: "edge"}
	for _, l := range listeners {
		holder.Ports = append(holder.Ports, l.Port)
	}
	slices.Sort(holder.Ports)
	holder.Ports = slices.Compact(holder.Ports)
	return Claim{ip(edge), New, entryPoint, []Holder{holder}, listeners}
}

func web(hosts ...string) Listener  { return Listener{"TCP/80", "HTTP", hosts} }
func pass(hosts ...string) Listener { return Listener{"TCP/443", "TLS", hosts} }
func tcp(port string) Listener      { return Listener{"TCP/" + port, "TCP", nil} }

func TestASharedAddressAdmitsUsesThatDoNotMeet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		row, claim Claim
		// want is a part of each conflict's message, in order; none: admitted.
		want []string
	}{
		"other hostnames on the same port":             {share("b", web("b.example")), share("a", web("a.example")), nil},
		"other ports":                                  {share("b", tcp("25")), share("a", tcp("26")), nil},
		"the same hostname on another port":            {share("b", web("a.example")), share("a", pass("a.example")), nil},
		"a TCP port beside hostnames on another":       {share("b", tcp("25")), share("a", web("a.example")), nil},
		"wildcards of different domains":               {share("b", web("*.b.example")), share("a", web("*.a.example")), nil},
		"a name above a wildcard":                      {share("b", web("*.a.example")), share("a", web("a.example")), nil},
		"a name that only ends like a wildcard's":      {share("b", web("*.a.example")), share("a", web("x.ba.example")), nil},
		"the same entry point, whatever it served":     {share("a", web("a.example")), share("a", web("a.example"), tcp("25")), nil},
		"the same hostname on the same port":           {share("b", web("a.example")), share("a", web("a.example")), []string{"hostname a.example at port TCP/80"}},
		"the same hostname in another case":            {share("b", web("A.example")), share("a", web("a.example")), []string{"at port TCP/80"}},
		"a name below another's wildcard":              {share("b", web("*.example")), share("a", web("a.example")), []string{"hostname *.example at port TCP/80"}},
		"a wildcard above another's name":              {share("b", web("x.a.example")), share("a", web("*.example")), []string{"hostname x.a.example at port TCP/80"}},
		"a wildcard above another's wildcard":          {share("b", web("*.a.example")), share("a", web("*.example")), []string{"hostname *.a.example"}},
		"the same TCP port":                            {share("b", tcp("25")), share("a", tcp("25")), []string{"port TCP/25 on shared"}},
		"hostnames on another's TCP port":              {share("b", tcp("443")), share("a", pass("a.example")), []string{"port TCP/443 on shared"}},
		"a TCP port where another has hostnames":       {share("b", pass("b.example")), share("a", tcp("443")), []string{"port TCP/443 (TLS) on shared"}},
		"HTTP where another passes TLS through":        {share("b", pass("b.example")), share("a", Listener{"TCP/443", "HTTP", []string{"a.example"}}), []string{"port TCP/443 (TLS)"}},
		"every port that meets is told":                {share("b", web("a.example"), tcp("25")), share("a", web("a.example"), tcp("25")), []string{"hostname a.example", "port TCP/25"}},
		"a row that is held alone":                     {Claim{ip(edge), New, "b", nil, nil}, share("a", web("a.example")), []string{"claimed by entry point b; release"}},
		"a shared row against a claim of all of it":    {share("b", web("b.example")), Claim{ip(edge), New, "a", nil, nil}, []string{"claimed by entry point b; release"}},
		"a shared row against an old address":          {share("b", web("b.example")), Claim{ip(edge), Old, "a", nil, nil}, []string{"claimed by entry point b; release"}},
		"a message names five hostnames and counts on": {share("b", web("1.x", "2.x", "3.x", "4.x", "5.x", "6.x", "7.x")), share("a", web("*.x")), []string{"5.x, 2 more at port"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Admit([]Claim{tt.row}, nil, tt.claim)
			if len(got) != len(tt.want) {
				t.Fatalf("%d conflicts %v, want %d", len(got), got, len(tt.want))
			}
			for i, c := range got {
				if c.Object != "AddressClaim "+edge || !strings.Contains(c.Message, tt.want[i]) || !strings.Contains(c.Message, "entry point b") ||
					!strings.Contains(c.Message, ";") {
					t.Errorf("conflict %+v does not say %q, whose it is and a way out", c, tt.want[i])
				}
			}
		})
	}
}

func TestTheStaticServiceItselfIsNoConflictButAStrangerIs(t *testing.T) {
	t.Parallel()
	claim := share("a", web("a.example"))
	uses := []Use{{ip(edge), "Service ingress/edge", []string{"TCP/80", "TCP/443"}}, {ip(edge), "Service evil/web", []string{"TCP/80"}}}
	got := Admit([]Claim{share("b", web("b.example"))}, uses, claim)
	if len(got) != 1 || got[0].Object != "Service evil/web" {
		t.Errorf("conflicts %v, want the stranger alone", got)
	}
}

func TestAShareIsHeldOnlyAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	mine := share("a", web("a.example"))
	alone := mine
	alone.Listeners = nil
	for name, tt := range map[string]struct {
		ledger []Claim
		claim  Claim
		want   bool
	}{
		"the share as it is":                        {[]Claim{share("b", tcp("25")), mine}, mine, true},
		"somebody else's share":                     {[]Claim{share("b", web("a.example"))}, mine, false},
		"a share with other hostnames":              {[]Claim{share("a", web("b.example"))}, mine, false},
		"a share with another protocol":             {[]Claim{share("a", Listener{"TCP/80", "TLS", []string{"a.example"}})}, mine, false},
		"a share with fewer ports":                  {[]Claim{mine}, share("a", web("a.example"), tcp("25")), false},
		"a row of one's own that is not shared yet": {[]Claim{alone}, mine, false},
		"a row of one's own, whatever is in it":     {[]Claim{alone}, Claim{ip(edge), New, "a", nil, nil}, true},
		"another address":                           {[]Claim{mine}, Claim{ip("192.0.2.8"), New, "a", nil, nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Held(tt.ledger, tt.claim); got != tt.want {
				t.Errorf("Held = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestASharedAddressIsNoAddressOfAPool(t *testing.T) {
	t.Parallel()
	pool := Pool{Name: "p", Announcers: []string{"x"}, Ranges: []Range{span(edge, "192.0.2.10")}}
	got, _, err := Pick([]Pool{pool}, []string{"p"}, []Claim{share("a", web("a.example"))}, nil, "a", false)
	if err != nil || got != ip("192.0.2.10") {
		t.Errorf("Pick = %v, %v; want the free 192.0.2.10, since the shared one is the static Service's", got, err)
	}
}

func TestNeighborsAreThoseOnTheSamePort(t *testing.T) {
	t.Parallel()
	ledger := []Claim{
		share("c", web("c.example")), share("a", web("a.example"), tcp("25")), share("b", web("b.example"), pass("b.example")), share("d", tcp("26")),
		{Address: ip("192.0.2.8"), Role: Old, EntryPoint: "e", Holders: []Holder{{"x", "y", []string{"TCP/80"}}}},
	}
	want := []string{"EntryPoint b on TCP/80 of 192.0.2.9", "EntryPoint c on TCP/80 of 192.0.2.9"}
	if got := Neighbors(ledger, "a"); !reflect.DeepEqual(got, want) {
		t.Errorf("Neighbors = %v, want %v", got, want)
	}
	if got := Neighbors(ledger, "d"); got != nil {
		t.Errorf("Neighbors = %v of one that is alone on its port", got)
	}
}

func TestARowIsJoinedShareByShare(t *testing.T) {
	t.Parallel()
	a, b := share("a", web("a.example")), share("b", web("b.example"), tcp("25"))
	row := NewRow(a)
	if !reflect.DeepEqual(EntryPoints(&row), []string{"a"}) || row.EntryPoint != "a" || row.Reason != "plan of EntryPoint a" {
		t.Fatalf("row %+v is not a's", row)
	}
	first := row.DeepCopy()
	both := Join(&row, b)
	if !reflect.DeepEqual(&row, first) {
		t.Error("the row that was joined has changed")
	}
	want := []v1alpha1.ClaimHolder{{Namespace: "ingress", Name: "edge", Ports: []string{"TCP/25", "TCP/80"}}}
	if both.EntryPoint != "a" || !reflect.DeepEqual(both.Holders, want) || !strings.Contains(both.Reason, "2 entry points: a, b") {
		t.Errorf("row of both %+v", both)
	}
	if again := Join(&both, b); !reflect.DeepEqual(again, both) {
		t.Errorf("joined twice %+v, want %+v", again, both)
	}
	if got := Rows([]v1alpha1.AddressClaim{{Spec: both}}); !reflect.DeepEqual(got, []Claim{a, b}) {
		t.Errorf("read back %+v, want both shares", got)
	}
}

func TestARowIsLeftShareByShare(t *testing.T) {
	t.Parallel()
	b := share("b", web("b.example"), tcp("25"))
	row := NewRow(share("a", web("a.example")))
	both := Join(&row, b)
	rest, last := Leave(&both, "a")
	if last || HeldBy(&rest, "a") || !reflect.DeepEqual(rest, NewRow(b)) {
		t.Errorf("after a left: %+v, last %v; want b's alone", rest, last)
	}
	if same, last := Leave(&rest, "a"); last || !reflect.DeepEqual(same, rest) {
		t.Errorf("left twice: %+v, last %v", same, last)
	}
	if _, last := Leave(&rest, "b"); !last {
		t.Error("the last one left and the row stays")
	}
	if !reflect.DeepEqual(EntryPoints(&both), []string{"a", "b"}) {
		t.Error("the row that was left has changed")
	}
}

func TestARowThatOneHoldsAloneIsLeftByItAlone(t *testing.T) {
	t.Parallel()
	row := NewRow(Claim{ip(edge), Old, "a", []Holder{{"x", "y", []string{"TCP/80"}}}, nil})
	if row.Shares != nil {
		t.Errorf("an old address has shares: %+v", row)
	}
	if _, last := Leave(&row, "b"); last || HeldBy(&row, "b") {
		t.Error("b leaves what it does not hold")
	}
	if _, last := Leave(&row, "a"); !last {
		t.Error("a does not leave what it holds")
	}
}

func TestAnEntryPointChangesItsShareInPlace(t *testing.T) {
	t.Parallel()
	row := NewRow(share("a", web("a.example")))
	row = Join(&row, share("b", web("b.example")))
	row = Join(&row, share("a", pass("a.example")))
	want := []Claim{share("a", pass("a.example")), share("b", web("b.example"))}
	if got := Rows([]v1alpha1.AddressClaim{{Spec: row}}); !reflect.DeepEqual(got, want) {
		t.Errorf("rows %+v, want %+v", got, want)
	}
}

func TestTheReasonOfARowThatManyShareFitsItsField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 250)
	row := NewRow(share(long+"0", web("h0.example")))
	for i := range 9 {
		n := string(rune('1' + i))
		row = Join(&row, share(long+n, web("h"+n+".example")))
	}
	if len(row.Reason) > 1024 || !strings.HasPrefix(row.Reason, "shared by 10 entry points") {
		t.Errorf("reason of %d bytes: %s", len(row.Reason), row.Reason)
	}
}
