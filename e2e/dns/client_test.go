//go:build dns

package dns

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
	"offramp.dev/migration"
)

func thousand() ([]dnsctl.Change, []string) {
	var changes []dnsctl.Change
	var records []string
	for i := range 1000 {
		name := fmt.Sprintf("n%03d", i)
		records = append(records, name+" 3600 IN A 192.0.2.10")
		changes = append(changes, dnsctl.Change{
			Zone: "test", Name: name + "." + apex, Before: dnsctl.Answer{Records: a(3600, "192.0.2.10")},
			After: dnsctl.Answer{Records: a(30, "192.0.2.10"), Mark: dnsctl.Mark{Owner: Record, Sequence: 1, Until: begin()}},
		})
	}
	return changes, records
}

func TestAThousandNamesNeedNoMoreMessagesThanNsupdate(t *testing.T) {
	t.Parallel()
	changes, records := thousand()
	onEach(t, options{records: records}, func(t *testing.T, s *primary) {
		r := newRelay(t, s.address)
		zone := s.zone()
		zone.Primary = r.address
		port := s.client(func(o *rfc2136.Options) { o.UpdateTimeout, o.TCPOnly = time.Minute, true })
		if err := port.Update(t.Context(), zone, changes); err != nil {
			t.Fatal(err)
		}
		ours := r.count()
		// nsupdate sends a message wherever its input says so. Told to put all into one, it cannot; so it gets the same job
		// back, in messages as full as ours.
		per := (len(changes) + ours - 1) / ours
		var script strings.Builder
		for i, c := range changes {
			text, err := dnsctl.Change{Zone: c.Zone, Name: c.Name, Before: c.After, After: c.Before}.Nsupdate(dnsctl.Zone{Apex: apex})
			if err != nil {
				t.Fatal(err)
			}
			text = strings.TrimSuffix(text, "send\n")
			if i%per != 0 {
				text = strings.Replace(text, "zone "+apex+".\n", "", 1)
			}
			script.WriteString(text)
			if i%per == per-1 || i == len(changes)-1 {
				script.WriteString("send\n")
			}
		}
		nsupdateThrough(t, s, r.address, script.String())
		theirs := r.count() - ours
		t.Logf("%s: %d messages for 1,000 names, nsupdate %d", s.kind, ours, theirs)
		if ours > theirs || ours > 10 {
			t.Errorf("%d messages, nsupdate %d", ours, theirs)
		}
		got, err := s.client().Query(t.Context(), s.zone(), s.address, changes[999].Name)
		if err != nil || !got.Records.Equal(changes[999].Before.Records) || !got.Mark.IsZero() {
			t.Errorf("%s answers %+v (%v) after nsupdate put it back", changes[999].Name, got, err)
		}
	})
}

func nsupdateThrough(t *testing.T, s *primary, address, script string) {
	t.Helper()
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(t.Context(), tool(t, "nsupdate", "bind9-dnsutils"), "-v", "-t", "60", "-y", s.key.Algorithm+":"+s.key.Name+":"+s.key.Secret)
	cmd.Stdin = strings.NewReader("server " + host + " " + port + "\n" + script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nsupdate: %v\n%.2000s", err, out)
	}
}

func TestWhileKeysAreChangedTheOldOneSignsWhereTheServerHasNotTheNew(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		before := rfc2136.Key{Name: s.key.Name, Algorithm: s.key.Algorithm, Secret: s.key.Secret}
		keys := func(k rfc2136.Key) func(*rfc2136.Options) {
			return func(o *rfc2136.Options) { o.Keys = func(string) (rfc2136.Key, error) { return k, nil } }
		}
		next := rfc2136.Key{Name: "next", Algorithm: "hmac-sha512", Secret: stranger().Secret}
		change := []dnsctl.Change{{Zone: "test", Name: www, Before: dnsctl.Answer{Records: a(3600, "192.0.2.10")}, After: dnsctl.Answer{Records: a(3, "198.51.100.20")}}}
		failed(t, s.client(keys(next)).Update(t.Context(), s.zone(), change), dnsctl.ClassAuth)
		next.Previous = &before
		if err := s.client(keys(next)).Update(t.Context(), s.zone(), change); err != nil {
			t.Fatal(err)
		}
		s.wants(t, a(3, "198.51.100.20"), "")
	})
}

func TestTheClockOfAPrimaryIsKnownBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		for _, by := range []time.Duration{0, 100 * time.Second, -100 * time.Second, 400 * time.Second} {
			port := s.client(func(o *rfc2136.Options) { o.Now = func() time.Time { return time.Now().Add(by) } })
			got, err := port.Skew(t.Context(), s.zone())
			if s.kind == "PowerDNS" { // it repeats our time, and refuses without a signature what is too far off
				if err == nil || errors.Is(err, dnsctl.ErrNoClock) != (by < 300*time.Second) {
					t.Errorf("with our clock off by %s PowerDNS's is %s ahead (%v), want no clock", by, got, err)
				}
				continue
			}
			if err != nil || (got+by).Abs() > 3*time.Second {
				t.Errorf("with our clock off by %s the server's is ahead by %s (%v)", by, got, err)
			}
		}
	})
}

// pair is a BIND primary and its secondary.
func pair(t *testing.T, notify bool) (first *primary, second *bindtest.Server, zone dnsctl.Zone) {
	t.Helper()
	at := freeAddress(t)
	o := options{}
	if notify {
		o.secondaries = []string{at}
	}
	first = startBIND(t, o)
	second = bindtest.Start(t, bindtest.Options{Zone: apex, Primary: first.address, Listen: at, Control: true})
	zone = first.zone(second.Address)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got, err := first.client().Query(t.Context(), zone, second.Address, www); err == nil && got.Records.Equal(a(3600, "192.0.2.10")) {
			return first, second, zone
		}
	}
	t.Fatal("the secondary never had the zone")
	return first, second, zone
}

func TestAWalkWaitsForEverySecondary(t *testing.T) {
	t.Parallel()
	s, _, zone := pair(t, true)
	w := s.walk(s.client(), zone, 25, 50, 100)
	if _, err := w.Until(t.Context(), 3000, Settled); err != nil {
		t.Fatal(err)
	}
	w.Back = true
	if _, err := w.Until(t.Context(), 3000, Undone); err != nil {
		t.Fatal(err)
	}
}

func TestALaggingSecondaryHoldsTheStepUntilItAnswers(t *testing.T) {
	t.Parallel()
	s, second, zone := pair(t, false)
	w := s.walk(s.client(), zone, 50, 100)
	if _, err := w.Until(t.Context(), 200, heldFor(migration.ReasonServersLag)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if d, err := w.Pass(t.Context()); err != nil || d.Action != nil || d.At.Reason != migration.ReasonServersLag {
			t.Fatalf("behind a lagging secondary the walk does %v, %s (%v)", d.Action, d.At.Reason, err)
		}
	}
	second.Rndc(t, "retransfer", apex)
	if _, err := w.Until(t.Context(), 500, func(d migration.Decision) bool { return d.Step == 1 }); err != nil {
		t.Fatal(err)
	}
}

func TestADeadSecondaryIsUnknownAndHolds(t *testing.T) {
	t.Parallel()
	s, second, zone := pair(t, true)
	w := s.walk(s.client(func(o *rfc2136.Options) { o.QueryTimeout = 500 * time.Millisecond }), zone, 50, 100)
	second.Kill()
	if _, err := w.Until(t.Context(), 200, func(d migration.Decision) bool {
		return d.Action == nil && d.At.Reason == migration.ReasonNamesUnknown && d.At.Verdict == migration.Unknown
	}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if d, err := w.Pass(t.Context()); err != nil || d.Action != nil || d.Step > 0 {
			t.Fatalf("with a dead secondary the walk does %v at step %d (%v)", d.Action, d.Step, err)
		}
	}
	second.Restart(t)
	second.Rndc(t, "retransfer", apex) // it missed a NOTIFY, and asks by itself within the refresh time only
	if _, err := w.Until(t.Context(), 2000, Settled); err != nil {
		t.Fatal(err)
	}
}

func TestSeveralNamesOfAZoneShareEveryMessage(t *testing.T) {
	t.Parallel()
	records := []string{"@ 3600 IN A 192.0.2.10", "*.apps 3600 IN A 192.0.2.10", "xn--mnchen-3ya 3600 IN A 192.0.2.10", "shared 3600 IN A 192.0.2.10", "shared 3600 IN A 192.0.2.99"}
	onEach(t, options{records: records}, func(t *testing.T, s *primary) {
		r := newRelay(t, s.address)
		zone := s.zone()
		zone.Primary = r.address
		var names []dnsctl.Name
		for _, n := range []string{apex, "*.apps." + apex, "xn--mnchen-3ya." + apex, "shared." + apex} {
			names = append(names, moving(n, 3600))
		}
		names[3].Snapshot = a(3600, "192.0.2.10", "192.0.2.99")
		port := s.client(func(o *rfc2136.Options) { o.TCPOnly = true })
		w := NewWalk(port, []dnsctl.Zone{zone}, names, []int32{50, 100}).Virtual(begin())
		if _, err := w.Until(t.Context(), 500, Settled); err != nil {
			t.Fatal(err)
		}
		if got := r.count(); got != 3 {
			t.Errorf("%d updates for four names and three steps, want 3", got)
		}
		for _, n := range names {
			want := a(3, "198.51.100.20")
			if n.Name == "shared."+apex {
				want = a(3, "192.0.2.99", "198.51.100.20") // what is somebody else's stays
			}
			got, err := s.client().Query(t.Context(), s.zone(), s.address, n.Name)
			if err != nil || !got.Records.Equal(want) {
				t.Errorf("%s answers %s (%v), want %s", n.Name, got.Records, err, want)
			}
		}
		w.Back = true
		if _, err := w.Until(t.Context(), 500, Undone); err != nil {
			t.Fatal(err)
		}
	})
}
