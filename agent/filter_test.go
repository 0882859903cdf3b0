package agent

import (
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestTheKernelDropsEventsOfOtherAddressesOnly(t *testing.T) {
	t.Parallel()
	six := Tuple{Address: netip.MustParseAddr("2001:db8::10"), Port: 443, Protocol: tcp}
	event := func(t *testing.T, tuple Tuple) []byte {
		t.Helper()
		f := flow(tuple, 7, nil)
		if tuple.Address.Is6() {
			f.Client = netip.MustParseAddrPort("[2001:db8::1]:7")
		}
		data := encodeFlow(t, f, statusSeenReply, 3)
		data[0] = familyOf(tuple.Address)
		return append(make([]byte, unix.NLMSG_HDRLEN), data...)
	}
	edited := func(t *testing.T, at int, value byte) []byte {
		t.Helper()
		out := event(t, Tuple{Address: netip.MustParseAddr("192.0.2.1"), Port: 80, Protocol: tcp})
		out[at] = value
		return out
	}
	watched := watchedSet(web, dns, six, Tuple{Address: netip.MustParseAddr("192.0.2.77"), Port: 80, Protocol: tcp})
	vm, err := bpf.NewVM(eventFilter(watched))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		message []byte
		through bool
	}{
		"a watched tuple":                   {event(t, web), true},
		"another port of a watched address": {event(t, other), true},
		"a watched IPv6 tuple":              {event(t, six), true},
		"another address":                   {edited(t, 0, 0), false},
		"another IPv6 address":              {event(t, Tuple{Address: netip.MustParseAddr("2001:db8::11"), Port: 443, Protocol: tcp}), false},
		"another family":                    {edited(t, atFamily, 99), true},
		"another first attribute":           {edited(t, atTuple, 77), true},
		"another second attribute":          {edited(t, atAddresses, 77), true},
		"another kind of address":           {edited(t, atKind4, 77), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n, err := vm.Run(c.message); err != nil || n > 0 != c.through {
				t.Errorf("%d bytes go through, error %v", n, err)
			}
		})
	}
}

func TestAsManyAddressesAsAreFilteredFitIntoAProgramAndMoreAreNotFiltered(t *testing.T) {
	t.Parallel()
	set := map[Tuple]bool{}
	for i := range maxAddresses {
		set[Tuple{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Port: 80, Protocol: tcp}] = true
		set[Tuple{Address: netip.AddrFrom16([16]byte{0x20, 1, 14: byte(i >> 8), 15: byte(i)}), Port: 80, Protocol: tcp}] = true
	}
	if raw, err := bpf.Assemble(eventFilter(set)); err != nil || len(raw) > 4096 {
		t.Errorf("%d instructions, error %v", len(raw), err)
	}
	set[Tuple{Address: netip.MustParseAddr("10.1.0.0"), Port: 80, Protocol: tcp}] = true
	if eventFilter(set) != nil {
		t.Error("filtered")
	}
}
