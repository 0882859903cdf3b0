//go:build dns

package dns

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
	"offramp.dev/migration"
)

// failed is the detail of the update error in err; it is one of class, and names server and name.
func failed(t *testing.T, err error, class dnsctl.Class) string {
	t.Helper()
	u, ok := errors.AsType[*dnsctl.UpdateError](err)
	if !ok {
		t.Fatalf("got %v, want an UpdateError of class %s", err, class)
	}
	if u.Class != class || u.Server == "" || u.Name == "" || u.Detail == "" {
		t.Fatalf("got %#v, want class %s, a server, a name and a detail", u, class)
	}
	return u.Detail
}

func heldFor(reason string) func(migration.Decision) bool {
	return func(d migration.Decision) bool { return d.Action == nil && d.At.Reason == reason }
}

func TestARacingNsupdateBeforeTheFirstWriteMakesItFailAndHoldsTheWalk(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		port := &tapped{Port: s.client(), before: func(n int, _ []dnsctl.Change) {
			if n == 1 {
				s.nsupdate(t, "update add "+www+". 3600 A 203.0.113.66")
			}
		}}
		w := s.walk(port, s.zone(), 50, 100)
		if _, err := w.Until(t.Context(), 100, heldFor(migration.ReasonNameChanged)); err != nil {
			t.Fatal(err)
		}
		if len(w.failures) != 1 {
			t.Fatalf("%d updates failed, want the one that was raced: %v", len(w.failures), w.failures)
		}
		detail := failed(t, w.failures[0], dnsctl.ClassChanged)
		if !strings.Contains(detail, "203.0.113.66") {
			t.Errorf("the detail %q does not say what is there now", detail)
		}
		s.wants(t, a(3600, "192.0.2.10", "203.0.113.66"), "")
		s.nsupdate(t, "update delete "+www+". A 203.0.113.66")
		if _, err := w.Until(t.Context(), 500, Settled); err != nil {
			t.Fatalf("the walk does not go on once the name is as it was: %v", err)
		}
		s.wants(t, a(3, "198.51.100.20"), Record)
	})
}

func TestARacingNsupdateInTheShiftIsNotOverwrittenUntilAHumanSaysSo(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		port := &tapped{Port: s.client(), before: func(_ int, changes []dnsctl.Change) {
			if changes[0].After.Records.Equal(a(3, "198.51.100.20")) && !slices.Contains(changes[0].Before.Records.A.Addresses, Addresses("203.0.113.66")[0]) {
				s.nsupdate(t, "update add "+www+". 3 A 203.0.113.66")
			}
		}}
		w := s.walk(port, s.zone(), 50, 100)
		reverted(t, s, w, a(3, "192.0.2.10", "198.51.100.20", "203.0.113.66"))
		failed(t, w.failures[0], dnsctl.ClassChanged)
	})
}

func TestARecordEditedByHandInTheShiftIsNotOverwrittenUntilAHumanSaysSo(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		w := s.walk(s.client(), s.zone(), 50, 100)
		half := func(d migration.Decision) bool { return d.Step == 1 && d.Action == nil }
		w.Plan.Settings.StepSoak = 600
		if _, err := w.Until(t.Context(), 500, half); err != nil {
			t.Fatal(err)
		}
		s.nsupdate(t, "update delete "+www+". A", "update add "+www+". 300 A 203.0.113.66")
		reverted(t, s, w, a(300, "203.0.113.66"))
	})
}

// reverted: the walk holds, leaves what somebody else wrote, and goes on in the next attempt.
func reverted(t *testing.T, s *primary, w *Walk, theirs dnsctl.RecordSet) {
	t.Helper()
	if _, err := w.Until(t.Context(), 500, heldFor(migration.ReasonReverted)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if d, err := w.Pass(t.Context()); err != nil || d.Action != nil {
			t.Fatalf("a held walk does %v (%v)", d.Action, err)
		}
	}
	s.wants(t, theirs, Record)
	w.Attempt++
	if _, err := w.Until(t.Context(), 2000, Settled); err != nil {
		t.Fatal(err)
	}
	s.wants(t, a(3, "198.51.100.20"), Record)
}

func TestEveryRefusalHasItsClassAndChangesNothing(t *testing.T) {
	t.Parallel()
	good, other := bindtest.DefaultKey(), stranger()
	late := func(by time.Duration) func(*rfc2136.Options) {
		return func(o *rfc2136.Options) { o.Now = func() time.Time { return time.Now().Add(by) } }
	}
	tests := map[string]struct {
		key  rfc2136.Key
		edit func(*rfc2136.Options)
		zone string
		// class on BIND, Knot and PowerDNS.
		class [3]dnsctl.Class
	}{
		"a wrong secret": {
			key:   rfc2136.Key{Name: good.Name, Algorithm: good.Algorithm, Secret: other.Secret},
			class: [3]dnsctl.Class{dnsctl.ClassAuth, dnsctl.ClassAuth, dnsctl.ClassAuth},
		},
		"an unknown key": {
			key:   rfc2136.Key{Name: "nobody", Algorithm: good.Algorithm, Secret: good.Secret},
			class: [3]dnsctl.Class{dnsctl.ClassAuth, dnsctl.ClassAuth, dnsctl.ClassAuth},
		},
		"a key without the right": {
			key:   rfc2136.Key{Name: other.Name, Algorithm: other.Algorithm, Secret: other.Secret},
			class: [3]dnsctl.Class{dnsctl.ClassAuth, dnsctl.ClassAuth, dnsctl.ClassAuth},
		},
		// PowerDNS does not tell a clock from a key: REFUSED without a signature.
		"a clock that is late": {
			edit: late(-400 * time.Second), class: [3]dnsctl.Class{dnsctl.ClassClock, dnsctl.ClassClock, dnsctl.ClassAuth},
		},
		"a clock that is early": {
			edit: late(400 * time.Second), class: [3]dnsctl.Class{dnsctl.ClassClock, dnsctl.ClassClock, dnsctl.ClassAuth},
		},
		// Knot says it without a signature, so that it proves nothing about the zone.
		"a zone that it does not serve": {zone: "test", class: [3]dnsctl.Class{dnsctl.ClassZone, dnsctl.ClassAuth, dnsctl.ClassZone}},
	}
	onEach(t, options{}, func(t *testing.T, s *primary) {
		at := slices.Index([]string{"BIND", "Knot", "PowerDNS"}, s.kind)
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				edits := []func(*rfc2136.Options){func(o *rfc2136.Options) {
					if tt.key != (rfc2136.Key{}) {
						o.Keys = func(string) (rfc2136.Key, error) { return tt.key, nil }
					}
				}}
				if tt.edit != nil {
					edits = append(edits, tt.edit)
				}
				zone := s.zone()
				if tt.zone != "" {
					zone.Apex = tt.zone
				}
				change := dnsctl.Change{Zone: "test", Name: www, Before: dnsctl.Answer{Records: a(3600, "192.0.2.10")}, After: dnsctl.Answer{Records: a(3, "198.51.100.20")}}
				err := s.client(edits...).Update(t.Context(), zone, []dnsctl.Change{change})
				failed(t, err, tt.class[at])
				t.Log(err)
				for _, secret := range []string{good.Secret, other.Secret} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error shows a secret: %v", err)
					}
				}
				s.wants(t, a(3600, "192.0.2.10"), "")
			})
		}
	})
}

func TestAZoneThatTakesNoUpdatesForAWhileHoldsTheWalkAndNoLonger(t *testing.T) {
	t.Parallel()
	onEach(t, options{}, func(t *testing.T, s *primary) {
		port := s.client(func(o *rfc2136.Options) { o.UpdateTimeout = 2 * time.Second })
		w := s.walk(port, s.zone(), 50, 100)
		s.freeze(t)
		for range 8 {
			if _, err := w.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.failures) == 0 {
			t.Fatal("no update failed in the frozen zone")
		}
		t.Log(w.failures[0])
		s.wants(t, a(3600, "192.0.2.10"), "")
		s.thaw(t)
		if _, err := w.Until(t.Context(), 500, Settled); err != nil {
			t.Fatal(err)
		}
		s.wants(t, a(3, "198.51.100.20"), Record)
	})
}

func TestAServerKilledInAnUpdateLeavesTheWalkAbleToGoOn(t *testing.T) {
	t.Parallel()
	for name, applied := range map[string]bool{"before it is applied": false, "after it is applied": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, options{}, func(t *testing.T, s *primary) { killedInUpdate(t, s, applied) })
		})
	}
}

// killedInUpdate kills the server in every update of a walk, and starts it again.
func killedInUpdate(t *testing.T, s *primary, applied bool) {
	t.Helper()
	r := newRelay(t, s.address)
	zone := s.zone()
	zone.Primary = r.address
	port := s.client(func(o *rfc2136.Options) {
		o.TCPOnly, o.QueryTimeout, o.UpdateTimeout = true, 5*time.Second, 5*time.Second
	})
	w := s.walk(port, zone, 50, 100)
	killed := map[dnsctl.Step]bool{}
	for range 400 {
		d := migration.Decide(w.facts(t.Context()))
		c, writes := d.Action.(migration.ChangeNames)
		if writes && !killed[c.Step] {
			killed[c.Step] = true
			kill := func() (bool, bool) { s.kill(); return false, false }
			if applied {
				kill = func() (bool, bool) { return true, false }
			}
			r.fault(kill, s.kill)
			if _, err := w.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.fault(nil, nil)
			lookWhileDead(t, w)
			s.restart(t)
		}
		d, err := w.Until(t.Context(), 1, func(migration.Decision) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if Settled(d) {
			break
		}
		if d.Action == nil {
			_ = w.Wait(t.Context(), d.Again, false)
		}
	}
	if len(killed) != 3 || len(w.failures) != 3 {
		t.Fatalf("killed in %d steps with %d failed updates, want 3 and 3: %v", len(killed), len(w.failures), w.failures)
	}
	for _, err := range w.failures {
		failed(t, err, dnsctl.ClassRetry)
	}
	s.wants(t, a(3, "198.51.100.20"), Record)
	want := 3
	if !applied {
		want = 6
	}
	if got := r.count(); got != want {
		t.Errorf("%d updates were sent, want %d: what was applied is not sent again", got, want)
	}
}

// lookWhileDead: a server that is down is unknown, and nothing is done.
func lookWhileDead(t *testing.T, w *Walk) {
	t.Helper()
	d, err := w.Pass(t.Context())
	if err != nil || d.Action != nil || d.At.Verdict != migration.Unknown {
		t.Fatalf("with a dead server the walk does %v, verdict %s (%v)", d.Action, d.At.Verdict, err)
	}
}
