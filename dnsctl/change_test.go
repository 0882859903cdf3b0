package dnsctl

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func target(zone, name string, edit ...func(*Target)) Target {
	t := Target{
		Zone: zone, Name: name, Owner: ours().Owner, Mark: ours(),
		Current: Answer{Records: RecordSet{A: set(3600, "192.0.2.10")}},
		Wanted:  RecordSet{A: set(30, "198.51.100.20", "192.0.2.10")},
	}
	for _, e := range edit {
		e(&t)
	}
	return t
}

func TestTheDifferenceIsSortedAndNamesTheExactBefore(t *testing.T) {
	t.Parallel()
	in := []Target{target("b", "z.b.test"), target("b", "a.b.test"), target("a", "x.a.test"), target("a", "same.a.test", func(t *Target) {
		t.Current = Answer{Records: t.Wanted, Mark: ours()}
	})}
	got, err := Changes(in)
	if err != nil {
		t.Fatal(err)
	}
	groups := ByZone(got)
	var names [][]string
	for _, g := range groups {
		var line []string
		for _, c := range g {
			line = append(line, c.Zone+"/"+c.Name)
		}
		names = append(names, line)
	}
	if want := [][]string{{"a/x.a.test"}, {"b/a.b.test", "b/z.b.test"}}; !reflect.DeepEqual(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	want := Change{
		Zone: "a", Name: "x.a.test", Before: Answer{Records: RecordSet{A: set(3600, "192.0.2.10")}},
		After: Answer{Records: RecordSet{A: set(30, "192.0.2.10", "198.51.100.20")}, Mark: ours()},
	}
	if !reflect.DeepEqual(groups[0][0], want) {
		t.Errorf("got %+v, want %+v", groups[0][0], want)
	}
	if !reflect.DeepEqual(in[0], target("b", "z.b.test")) {
		t.Errorf("the input was changed: %+v", in[0])
	}
}

func longerLease(t *Target) { t.Mark.Until = t.Mark.Until.Add(time.Hour) }

func TestWhenANameNeedsAChange(t *testing.T) {
	t.Parallel()
	met := func(t *Target) { t.Current = Answer{Records: t.Wanted, Mark: t.Mark} }
	tests := map[string]struct {
		edit []func(*Target)
		want int
	}{
		"as wanted needs none":                           {[]func(*Target){met}, 0},
		"another TTL needs one":                          {[]func(*Target){met, func(t *Target) { t.Wanted.A.TTL = 31 }}, 1},
		"another address needs one":                      {[]func(*Target){met, func(t *Target) { t.Wanted.A = set(30, "192.0.2.10") }}, 1},
		"another sequence needs one":                     {[]func(*Target){met, func(t *Target) { t.Mark.Sequence++ }}, 1},
		"a missing mark needs one":                       {[]func(*Target){met, func(t *Target) { t.Current.Mark = Mark{} }}, 1},
		"a mark that should be gone needs one":           {[]func(*Target){met, func(t *Target) { t.Mark = Mark{} }}, 1},
		"no mark where none should be needs none":        {[]func(*Target){func(t *Target) { t.Mark = Mark{} }, met}, 0},
		"a lease alone needs none":                       {[]func(*Target){met, longerLease}, 0},
		"an external-dns text is the inventory's matter": {[]func(*Target){func(t *Target) { t.Current.External = "heritage=external-dns" }}, 1},
	}
	for name, tt := range tests {
		got, err := Changes([]Target{target("a", "x.a.test", tt.edit...)})
		if err != nil || len(got) != tt.want {
			t.Errorf("%s: got %d changes (%v), want %d", name, len(got), err, tt.want)
		}
	}
}

func TestWhatIsHeldByOthersOrWouldLoseTheNameIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit     func(*Target)
		conflict bool
		says     string
	}{
		"a foreign mark":           {func(t *Target) { t.Current.Foreign = "v=spf1" }, true, "v=spf1"},
		"a live mark of another":   {func(t *Target) { t.Current.Mark = Mark{Owner: "other-1", Until: anchor.Add(time.Hour)} }, true, "other-1"},
		"a lapsed mark of another": {func(t *Target) { t.Current.Mark = Mark{Owner: "dead-1", Until: anchor.Add(-time.Hour)} }, true, "dead-1"},
		"an alias found":           {func(t *Target) { t.Current.Records = RecordSet{Alias: "web.a.test"} }, false, "web.a.test"},
		"an alias wanted":          {func(t *Target) { t.Wanted = RecordSet{Alias: "web.a.test"} }, false, "never written"},
		"no address left":          {func(t *Target) { t.Wanted = RecordSet{} }, false, "no address"},
		"a mark that is malformed": {func(t *Target) { t.Mark.Owner = "A B" }, false, "A B"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Changes([]Target{target("a", "ok.a.test"), target("a", "bad.a.test", tt.edit)})
			if err == nil || got != nil {
				t.Fatalf("got %v, %v; want nothing and an error", got, err)
			}
			var held *ConflictError
			if errors.As(err, &held) != tt.conflict || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want conflict %v and %q", err, tt.conflict, tt.says)
			}
			if tt.conflict && !strings.Contains(err.Error(), "_offramp.bad.a.test") {
				t.Errorf("%v does not name the record to remove", err)
			}
		})
	}
}

func TestTheTextForHumansIsExact(t *testing.T) {
	t.Parallel()
	c := Change{
		Zone: "a", Name: "x.a.test",
		Before: Answer{Records: RecordSet{A: set(3600, "192.0.2.10")}},
		After:  Answer{Records: RecordSet{A: set(30, "192.0.2.10", "198.51.100.20")}, Mark: ours()},
	}
	want := `; x.a.test: A 192.0.2.10 (TTL 3600) -> A 192.0.2.10 198.51.100.20 (TTL 30)
server 192.0.2.53 5353
zone a.test.
prereq yxrrset x.a.test. IN A 192.0.2.10
prereq nxrrset x.a.test. IN AAAA
prereq nxrrset x.a.test. IN CNAME
prereq nxrrset _offramp.x.a.test. IN TXT
update delete x.a.test. IN A
update add x.a.test. 30 IN A 192.0.2.10
update add x.a.test. 30 IN A 198.51.100.20
update delete _offramp.x.a.test. IN TXT
update add _offramp.x.a.test. 30 IN TXT "` + oursText + `"
send
`
	got, err := c.Nsupdate(Zone{Apex: "a.test", Primary: "192.0.2.53:5353"})
	if err != nil || got != want {
		t.Errorf("got (%v):\n%s\nwant:\n%s", err, got, want)
	}
	back := Change{Zone: "a", Name: "x.a.test", Before: c.After, After: Answer{Records: RecordSet{AAAA: set(9, "2001:db8::1")}}}
	got, err = back.Nsupdate(Zone{Apex: "a.test", Primary: "[2001:db8::53]:53"})
	for _, line := range []string{
		"server 2001:db8::53 53\n", "prereq yxrrset _offramp.x.a.test. IN TXT \"" + oursText + "\"\n",
		"update delete x.a.test. IN A\n", "update add x.a.test. 9 IN AAAA 2001:db8::1\n", "update delete _offramp.x.a.test. IN TXT\nsend\n",
	} {
		if err != nil || !strings.Contains(got, line) {
			t.Errorf("%s (%v)\ndoes not hold %q", got, err, line)
		}
	}
	for name, edit := range map[string]func(*Change){
		"a name that breaks out of its line": func(c *Change) { c.Name = "x\nsend" },
		"an alias":                           func(c *Change) { c.After.Records.Alias = "web.a.test" },
	} {
		bad := c
		edit(&bad)
		if text, err := bad.Nsupdate(Zone{Apex: "a.test"}); err == nil {
			t.Errorf("%s was printed:\n%s", name, text)
		}
	}
	broken := c
	broken.After.Mark.Owner = "x\nsend"
	if text, err := broken.Nsupdate(Zone{Apex: "a.test"}); err == nil {
		t.Errorf("a mark that breaks out of its line was printed:\n%s", text)
	}
}

func TestAnUpdateErrorNamesAllAndKeepsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("i/o timeout")
	err := error(&UpdateError{Class: ClassRetry, Server: "192.0.2.53:53", Name: "x.a.test", Detail: "no usable reply", Err: cause})
	for _, part := range []string{"192.0.2.53:53", "x.a.test", "Retry", "no usable reply", "i/o timeout"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestRecordSetsPrintThemselves(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]RecordSet{
		"no record": {},
		"A 192.0.2.1 192.0.2.2 (TTL 30), AAAA 2001:db8::1 (TTL 60)": {A: set(30, "192.0.2.2", "192.0.2.1"), AAAA: set(60, "2001:db8::1")},
		"CNAME web.example.test":                                    {Alias: "web.example.test"},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := MarkTTL(RecordSet{A: set(3600, "192.0.2.1")}); got != 60 {
		t.Errorf("a mark beside a TTL of an hour has %d s, want 60", got)
	}
}
