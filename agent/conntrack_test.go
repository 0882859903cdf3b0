package agent

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// encodeFlow writes a conntrack message as the kernel does.
func encodeFlow(tb testing.TB, f Flow, status uint32, tcpState uint8) []byte {
	tb.Helper()
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	source, destination := uint16(ctaIPv4Src), uint16(ctaIPv4Dst)
	if f.Tuple.Address.Is6() {
		source, destination = ctaIPv6Src, ctaIPv6Dst
	}
	ae.Nested(ctaTupleOrig, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(ctaTupleIP, func(ae *netlink.AttributeEncoder) error {
			ae.Bytes(source, f.Client.Addr().AsSlice())
			ae.Bytes(destination, f.Tuple.Address.AsSlice())
			return nil
		})
		ae.Nested(ctaTupleProto, func(ae *netlink.AttributeEncoder) error {
			ae.Uint8(ctaProtoNum, protocolNumber(f.Tuple.Protocol))
			ae.Uint16(ctaProtoSrcPort, f.Client.Port())
			ae.Uint16(ctaProtoDstPort, uint16(f.Tuple.Port))
			return nil
		})
		return nil
	})
	ae.Uint32(ctaStatus, status)
	ae.Uint32(ctaTimeout, uint32(f.Left/time.Second))
	ae.Nested(ctaProtoinfo, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(ctaProtoinfoTCP, func(ae *netlink.AttributeEncoder) error {
			ae.Uint8(ctaProtoinfoState, tcpState)
			return nil
		})
		return nil
	})
	attributes, err := ae.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return append([]byte{unix.AF_INET, 0, 0, 0}, attributes...)
}

func anything(Tuple) bool { return true }

func TestAConntrackMessageIsReadAsTheKernelWroteIt(t *testing.T) {
	t.Parallel()
	web6 := Tuple{Address: netip.MustParseAddr("2001:db8::10"), Port: 65535, Protocol: sctp}
	for name, c := range map[string]struct {
		want   Flow
		status uint32
		state  uint8
	}{
		"an established connection":   {flow(web, 1, nil), statusSeenReply, 3},
		"an attempt":                  {flow(web, 1, halfOpen), 0, 1},
		"a connection that is closed": {flow(web, 1, closes), statusSeenReply, 8},
		"the last acknowledgment":     {flow(web, 1, closes), statusSeenReply, 6},
		"a side that still talks":     {flow(web, 1, half), statusSeenReply, 5},
		"ipv6": {Flow{
			Tuple: web6, Client: netip.MustParseAddrPort("[2001:db8::1]:9"), Replied: true, Left: time.Second,
		}, statusSeenReply, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok, err := decode(encodeFlow(t, c.want, c.status, c.state), anything)
			if err != nil || !ok || got != c.want {
				t.Errorf("%t %v\ngot  %+v\nwant %+v", ok, err, got, c.want)
			}
		})
	}
}

func TestAConntrackMessageOfAnotherTupleIsNotOurs(t *testing.T) {
	t.Parallel()
	data := encodeFlow(t, flow(other, 1, nil), 0, 0)
	if f, ok, err := decode(data, func(t Tuple) bool { return t == web }); ok || err != nil {
		t.Errorf("%+v %t %v", f, ok, err)
	}
}

func FuzzAConntrackMessageThatMakesNoSenseIsNoPanic(f *testing.F) {
	f.Add(encodeFlow(f, flow(web, 1, nil), statusSeenReply, 3))
	f.Add([]byte{2, 0, 0, 0, 8, 0, 1, 128, 4, 0, 1, 128})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok, err := decode(data, anything)
		if ok && err == nil && (got.Tuple.Protocol == "" || !got.Tuple.Address.IsValid()) {
			t.Errorf("a flow to nowhere: %+v", got)
		}
	})
}

func kernelMessage(kind, flags uint16, data []byte) syscall.NetlinkMessage {
	return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: kind, Flags: flags}, Data: data}
}

func TestAListingThatMayBeShortIsAnError(t *testing.T) {
	t.Parallel()
	refused := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EPERM)+1)
	good := kernelMessage(unix.NFNL_SUBSYS_CTNETLINK<<8, unix.NLM_F_MULTI, []byte("flow"))
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		messages []syscall.NetlinkMessage
		take     error
		done     bool
		taken    int
		want     error
	}{
		"more is to come":                {messages: []syscall.NetlinkMessage{good, good}, taken: 2},
		"the end":                        {messages: []syscall.NetlinkMessage{good, kernelMessage(unix.NLMSG_DONE, 0, make([]byte, 4))}, taken: 1, done: true},
		"an interrupted end":             {messages: []syscall.NetlinkMessage{kernelMessage(unix.NLMSG_DONE, unix.NLM_F_DUMP_INTR, make([]byte, 4))}, done: true, want: errInterrupted},
		"an interrupted entry":           {messages: []syscall.NetlinkMessage{good, kernelMessage(256, unix.NLM_F_DUMP_INTR, nil)}, done: true, taken: 1, want: errInterrupted},
		"an end with an error":           {messages: []syscall.NetlinkMessage{kernelMessage(unix.NLMSG_DONE, 0, refused)}, done: true, want: unix.EPERM},
		"a refusal":                      {messages: []syscall.NetlinkMessage{kernelMessage(unix.NLMSG_ERROR, 0, refused)}, done: true, want: unix.EPERM},
		"an overrun":                     {messages: []syscall.NetlinkMessage{kernelMessage(unix.NLMSG_OVERRUN, 0, nil)}, done: true, want: errOverrun},
		"an entry that cannot be read":   {messages: []syscall.NetlinkMessage{good}, take: broken, done: true, taken: 1, want: broken},
		"an acknowledgment ends it, too": {messages: []syscall.NetlinkMessage{kernelMessage(unix.NLMSG_ERROR, 0, make([]byte, 4))}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken := 0
			done, err := answer(c.messages, func([]byte) error { taken++; return c.take })
			if done != c.done || taken != c.taken || !errors.Is(err, c.want) {
				t.Errorf("done %t, taken %d, error %v", done, taken, err)
			}
		})
	}
}

func TestTheKernelIsAskedForFewAddressesOneByOneAndForManyAtOnce(t *testing.T) {
	t.Parallel()
	set := map[Tuple]bool{}
	for i := range byte(maxFiltered) {
		set[Tuple{Address: netip.AddrFrom4([4]byte{10, 0, 0, i}), Port: 80, Protocol: tcp}] = true
		set[Tuple{Address: netip.AddrFrom4([4]byte{10, 0, 0, i}), Port: 81, Protocol: tcp}] = true
	}
	questionsAre(t, set, maxFiltered, false)
	// Linux filters by IPv6 address the wrong way round.
	set[Tuple{Address: netip.MustParseAddr("2001:db8::1"), Port: 80, Protocol: tcp}] = true
	questionsAre(t, set, maxFiltered+1, true)
	set[Tuple{Address: netip.AddrFrom4([4]byte{10, 0, 1, 0}), Port: 80, Protocol: tcp}] = true
	questionsAre(t, set, 2, true)
	questionsAre(t, nil, 0, false)
}

func questionsAre(t *testing.T, set map[Tuple]bool, n int, everything bool) {
	t.Helper()
	got, err := questions(set)
	if err != nil || len(got) != n {
		t.Fatalf("%d questions, error %v; want %d", len(got), err, n)
	}
	if unfiltered := slices.ContainsFunc(got, func(m netlink.Message) bool { return len(m.Data) == genHeader }); unfiltered != everything {
		t.Errorf("a listing of everything: %t", unfiltered)
	}
}

func TestAKeyOfTheCountersIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, tuple := range []Tuple{
		web, dns,
		{Address: netip.MustParseAddr("2001:db8::10"), Port: 65535, Protocol: sctp},
		{Address: netip.MustParseAddr("::ffff:203.0.113.10").Unmap(), Port: 1, Protocol: tcp},
	} {
		if got, ok := decodeKey(encode(tuple)); !ok || got != tuple {
			t.Errorf("%+v became %+v, %t", tuple, got, ok)
		}
	}
	for _, key := range [][]byte{nil, make([]byte, 7), make([]byte, 12), make([]byte, 13)} {
		if got, ok := decodeKey(key); ok {
			t.Errorf("%v became %+v", key, got)
		}
	}
}
