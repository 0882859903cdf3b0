//go:build netns

package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The table of the speed tests: many entries of others, and a few of each watched tuple.
const (
	tableEntries = 200_000
	speedTuples  = 100
	eachTuple    = 2
	// fasterThanConntrack is how many times faster a sweep is than conntrack -L, filtered for the same tuples.
	fasterThanConntrack = 20
	// agentMiB is the most memory that a sweep of that table may leave the process with, in MiB.
	agentMiB = 64
)

// fill writes conntrack entries of replied, open TCP connections.
func fill(t *testing.T, pairs []pair) {
	t.Helper()
	fd, err := open(unix.NETLINK_NETFILTER)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for chunk := range slices.Chunk(pairs, 500) {
		var b []byte
		for _, p := range chunk {
			b = newEntry(b, p)
		}
		if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			t.Fatal(err)
		}
	}
}

// newEntry appends what makes an entry. Its replies come from somewhere else, as behind a Service.
func newEntry(b []byte, p pair) []byte {
	begin := len(b)
	b = append(b, make([]byte, unix.NLMSG_HDRLEN)...)
	b = append(b, familyOf(p.tuple.Address), unix.NFNETLINK_V0, 0, 0)
	b = original(b, p)
	reply := len(b)
	b = original(b, pair{Tuple{Address: p.client.Addr(), Port: int32(p.client.Port()), Protocol: tcp}, netip.AddrPortFrom(p.tuple.Address, uint16(p.tuple.Port))})
	binary.NativeEndian.PutUint16(b[reply+2:], 2|unix.NLA_F_NESTED) // CTA_TUPLE_REPLY
	b = attribute(b, ctaStatus, 0, 0, 0, 1<<1|1<<2|1<<3)
	b = attribute(b, ctaTimeout, 0, 0, 0x50, 0)
	b = nest(b, ctaProtoinfo|unix.NLA_F_NESTED, func(b []byte) []byte {
		return nest(b, ctaProtoinfoTCP|unix.NLA_F_NESTED, func(b []byte) []byte { return attribute(b, ctaProtoinfoState, 3) })
	})
	binary.NativeEndian.PutUint32(b[begin:], uint32(len(b)-begin))
	binary.NativeEndian.PutUint16(b[begin+4:], unix.NFNL_SUBSYS_CTNETLINK<<8)
	binary.NativeEndian.PutUint16(b[begin+6:], unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	return b
}

// crowd is a table of that many entries, and the tuples to watch.
func crowd(t *testing.T, entries int, v6 bool) (map[Tuple]bool, []Tuple) {
	t.Helper()
	at := func(i int, net byte) netip.Addr {
		if v6 {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, net, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)})
		}
		return netip.AddrFrom4([4]byte{net, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	var tuples []Tuple
	var pairs []pair
	for i := range speedTuples {
		tuple := Tuple{Address: at(i+1, 20), Port: 443, Protocol: tcp}
		tuples = append(tuples, tuple)
		for n := range eachTuple {
			pairs = append(pairs, pair{tuple, netip.AddrPortFrom(at(n+1, 30), uint16(1000+i))})
		}
	}
	for i := len(pairs); i < entries; i++ {
		pairs = append(pairs, pair{Tuple{Address: at(i%5000, 40), Port: 443, Protocol: tcp}, netip.AddrPortFrom(at(i, 50), 4000)})
	}
	fill(t, pairs)
	return watchedSet(tuples...), tuples
}

// took is the median of some runs.
func took(runs int, f func()) time.Duration {
	var all []time.Duration
	for range runs {
		began := time.Now()
		f()
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// filtered counts the lines of conntrack -L that belong to the tuples, as a script would.
func filtered(t *testing.T, family string, tuples []Tuple) {
	t.Helper()
	var patterns strings.Builder
	for _, tuple := range tuples {
		fmt.Fprintf(&patterns, " dst=%s sport=[0-9]* dport=%d src=\n", tuple.Address, tuple.Port)
	}
	name := t.TempDir() + "/patterns"
	if err := os.WriteFile(name, []byte(patterns.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "conntrack -L -f "+family+" -p tcp 2>/dev/null | grep -c -f "+name).Output()
	if err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(speedTuples*eachTuple) {
		t.Fatalf("conntrack found %s entries: %v", out, err)
	}
}

func TestNodeSweepsFasterThanConntrackLists(t *testing.T) {
	for family, v6 := range map[string]bool{"ipv4": false, "ipv6": true} {
		t.Run(family, func(t *testing.T) {
			w := newWorld(t)
			a := w.watch()
			set, tuples := crowd(t, tableEntries, v6)
			a.set = set
			forget(t)
			for range settledAfter + 1 {
				if s := a.sweep(); len(s.Traffic) != speedTuples {
					t.Fatalf("%d rows of %d; log:\n%s", len(s.Traffic), speedTuples, a.log)
				}
			}
			sweep := took(5, func() {
				if r := a.node.Read(a.set); len(r.Flows) != speedTuples*eachTuple || len(r.Losses) != 0 {
					t.Fatalf("%d flows, losses %v", len(r.Flows), r.Losses)
				}
			})
			listing := took(3, func() {
				if flows, err := entries(a.set); err != nil || len(flows) != speedTuples*eachTuple {
					t.Fatalf("%d flows, error %v", len(flows), err)
				}
			})
			once := took(3, func() { filtered(t, family, tuples) })
			one := took(3, func() {
				_ = exec.Command("conntrack", "-L", "-f", family, "-p", "tcp", "-d", tuples[0].Address.String(), "--dport", "443").Run()
			})
			t.Logf("%d entries, %d tuples: sweep %s; our listing of everything %s; conntrack -L and grep once %s; conntrack -L filtered for one tuple %s, times %d",
				tableEntries, speedTuples, sweep, listing, once, one, speedTuples)
			t.Logf("sweep: %.0f times faster than conntrack -L and grep, %.0f times faster than conntrack -L for each tuple",
				float64(once)/float64(sweep), float64(one)*speedTuples/float64(sweep))
			average := (sweep*(relistAfter-1) + listing) / relistAfter
			if best := min(one, once); best < fasterThanConntrack*average {
				t.Errorf("a sweep takes %s, on average %s, and conntrack -L once %s", sweep, average, best)
			} else {
				t.Logf("on average, with the listing in every %d. sweep: %s, %.0f times faster than conntrack -L once", relistAfter, average, float64(best)/float64(average))
			}
			if mib := memory(t); mib > agentMiB {
				t.Errorf("%d MiB at the most", mib)
			} else {
				t.Logf("%d MiB at the most", mib)
			}
		})
	}
}

// forget gives memory back, so that the most is measured from now on.
func forget(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// memory is the most that the process had since, in MiB.
func memory(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Fatal(errors.New("no VmHWM"))
	return 0
}
