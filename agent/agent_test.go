package agent

import (
	"net/netip"
	"testing"
	"time"
)

func TestObserver(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := Tuple{Address: netip.MustParseAddr("203.0.113.10"), Port: 80, Protocol: "TCP"}
	dns := Tuple{Address: netip.MustParseAddr("203.0.113.10"), Port: 53, Protocol: "UDP"}
	client := func(n uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), n) }
	held := Flow{Tuple: web, Client: client(1), Replied: true}
	cases := map[string]struct {
		sweeps      [][]Flow
		gapBefore   int
		established int64
		lastNew     int
		since       int
	}{
		"a connection that is held counts once and is new only in the sweep it first stood in": {
			sweeps: [][]Flow{{held}, {held}, {held}}, established: 1, lastNew: 0,
		},
		"a second connection is new later":               {sweeps: [][]Flow{{held}, {held, {Tuple: web, Client: client(2), Replied: true}}}, established: 2, lastNew: 1},
		"a half-open attempt is new but not established": {sweeps: [][]Flow{{}, {{Tuple: web, Client: client(3)}}}, lastNew: 1},
		"a closing connection is not established":        {sweeps: [][]Flow{{held}, {{Tuple: web, Client: client(1), Replied: true, Closing: true}}}, lastNew: 0},
		"a udp entry is use in every sweep":              {sweeps: [][]Flow{{{Tuple: dns, Client: client(4), Replied: true}}, {{Tuple: dns, Client: client(4), Replied: true}}}, established: 1, lastNew: 1},
		"after a gap coverage begins anew and what stands is new again": {
			sweeps: [][]Flow{{held}, {held}, {held}}, gapBefore: 2, established: 1, lastNew: 2, since: 2,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewObserver(Identity{Node: "n1", StaleAfter: 60})
			var now time.Time
			for i, flows := range c.sweeps {
				if c.gapBefore == i && i > 0 {
					o.Gap()
				}
				now = start.Add(time.Duration(i) * time.Minute)
				o.Sweep(now, "w", flows)
			}
			s := o.Status(now)
			if len(s.Traffic) != 1 {
				t.Fatalf("rows: %+v", s.Traffic)
			}
			row := s.Traffic[0]
			if row.Established != c.established || !row.LastNew.Time.Equal(start.Add(time.Duration(c.lastNew)*time.Minute)) {
				t.Errorf("established %d last new %s", row.Established, row.LastNew)
			}
			if !s.CoverageSince.Time.Equal(start.Add(time.Duration(c.since) * time.Minute)) {
				t.Errorf("coverage since %s", s.CoverageSince)
			}
		})
	}
}

func TestAnotherWatchedSetIsAGap(t *testing.T) {
	t.Parallel()
	o, now := NewObserver(Identity{}), time.Unix(1000, 0)
	o.Sweep(now, "a", nil)
	o.Sweep(now.Add(time.Hour), "b", nil)
	if s := o.Status(now.Add(time.Hour)); !s.CoverageSince.Time.Equal(now.Add(time.Hour)) || s.Watched != "b" {
		t.Errorf("coverage since %s of %q", s.CoverageSince, s.Watched)
	}
}

func TestTooManyRowsAreOverflow(t *testing.T) {
	t.Parallel()
	o, now := NewObserver(Identity{}), time.Unix(1000, 0)
	var flows []Flow
	for port := int32(1); port <= maxRows+1; port++ {
		flows = append(flows, Flow{Tuple: Tuple{Address: netip.MustParseAddr("203.0.113.1"), Port: port, Protocol: "TCP"}})
	}
	o.Sweep(now, "a", flows)
	if s := o.Status(now); !s.Overflow || len(s.Traffic) != maxRows {
		t.Errorf("overflow %t rows %d", s.Overflow, len(s.Traffic))
	}
}
