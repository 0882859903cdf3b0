package agent

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Attributes and messages of conntrack, from the kernel's linux/netfilter/nfnetlink_conntrack.h.
const (
	ctMsgGet, ctMsgDelete = 1, 2

	ctaTupleOrig, ctaTupleReply, ctaStatus, ctaProtoinfo, ctaTimeout, ctaZone, ctaFilter = 1, 2, 3, 4, 7, 18, 25

	ctaTupleIP, ctaTupleProto, ctaTupleZone              = 1, 2, 3
	ctaIPv4Src, ctaIPv4Dst, ctaIPv6Src, ctaIPv6Dst       = 1, 2, 3, 4
	ctaProtoNum, ctaProtoSrcPort, ctaProtoDstPort        = 1, 2, 3
	ctaProtoinfoTCP, ctaProtoinfoSCTP, ctaProtoinfoState = 1, 3, 1

	ctaFilterOrigFlags = 1
	// filterIPDst asks the kernel (5.8 and newer) for entries with the destination of the given tuple; an older one does not
	// know it and lists everything.
	filterIPDst uint32 = 1 << 1

	// statusSeenReply is IPS_SEEN_REPLY of nf_conntrack_common.h.
	statusSeenReply = 1 << 1
)

// Protocol numbers (IANA), and the states in which a connection carries nothing new: LAST_ACK to CLOSE of
// nf_conntrack_tcp.h, and SHUTDOWN_SENT to SHUTDOWN_ACK_SENT and CLOSED of nf_conntrack_sctp.h. A TCP connection that
// only one side has closed (FIN_WAIT, CLOSE_WAIT) may still carry a long answer.
const (
	protoTCP, protoUDP, protoSCTP           = 6, 17, 132
	tcpFirstClosing, tcpLastClosing         = 6, 8
	tcpFinWait, tcpCloseWait                = 4, 5
	sctpClosed                              = 1
	sctpFirstClosing, sctpLastClosing       = 5, 7
	genHeader                               = 4 // length of struct nfgenmsg
	familyIPv4, familyIPv6            uint8 = unix.AF_INET, unix.AF_INET6
)

var protocols = map[uint8]string{protoTCP: tcp, protoUDP: udp, protoSCTP: sctp}

// message is a conntrack listing of a family ("0": both).
func message(kind netlink.HeaderType, family uint8, attributes []byte) netlink.Message {
	return netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_CTNETLINK<<8 | kind, Flags: netlink.Request | netlink.Dump},
		Data:   append([]byte{family, unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
}

// errAttribute is a message that the kernel cannot have written.
var errAttribute = errors.New("an attribute of a netlink message is longer than the message")

// each gives the attributes of a message, or of another attribute, to take, until take says that it needs no more. A busy
// node has hundreds of thousands of entries, nearly none of them ours: this makes no garbage for them.
func each(b []byte, take func(kind uint16, value []byte) (bool, error)) error {
	for len(b) >= unix.NLA_HDRLEN {
		length := int(binary.NativeEndian.Uint16(b))
		if length < unix.NLA_HDRLEN || length > len(b) {
			return errAttribute
		}
		kind := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
		if more, err := take(kind, b[unix.NLA_HDRLEN:length]); err != nil || !more {
			return err
		}
		// Attributes begin at multiples of four bytes.
		b = b[min((length+unix.NLA_ALIGNTO-1)&^(unix.NLA_ALIGNTO-1), len(b)):]
	}
	return nil
}

// decode reads a Flow from a conntrack message. wanted is asked as soon as the tuple is known, for nearly all entries of a
// node are not ours; false for those.
func decode(data []byte, wanted func(Tuple) bool) (f Flow, ours bool, err error) {
	if len(data) < genHeader {
		return f, false, errAttribute
	}
	err = each(data[genHeader:], func(kind uint16, value []byte) (bool, error) {
		switch kind {
		case ctaTupleOrig:
			err := each(value, f.original)
			ours = err == nil && f.Tuple.Protocol != "" && f.Tuple.Address.IsValid() && wanted(f.Tuple)
			return ours, err
		case ctaTupleReply:
			var reply Flow
			err := each(value, reply.original)
			// Replies that do not go to the client go to what the node put in its place.
			f.Translated = reply.Tuple.Address.IsValid() && reply.Tuple.Address != f.Client.Addr()
			return true, err
		case ctaStatus:
			f.Replied = number(value)&statusSeenReply != 0
		case ctaTimeout:
			f.Left = time.Duration(number(value)) * time.Second
		case ctaZone:
			f.zoned = true
		case ctaProtoinfo:
			return true, each(value, f.state)
		}
		return true, nil
	})
	return f, ours && err == nil, err
}

// number reads what conntrack sends in network byte order, of one, two or four bytes.
func number(value []byte) uint32 {
	var n uint32
	for _, b := range value[:min(len(value), 4)] {
		n = n<<8 | uint32(b)
	}
	return n
}

func (f *Flow) original(kind uint16, value []byte) (bool, error) {
	switch kind {
	case ctaTupleIP:
		return true, each(value, f.addresses)
	case ctaTupleProto:
		return true, each(value, f.ports)
	case ctaTupleZone:
		f.zoned = true
	}
	return true, nil
}

func (f *Flow) addresses(kind uint16, value []byte) (bool, error) {
	addr, _ := netip.AddrFromSlice(value)
	switch kind {
	case ctaIPv4Src, ctaIPv6Src:
		f.Client = netip.AddrPortFrom(addr.Unmap(), f.Client.Port())
	case ctaIPv4Dst, ctaIPv6Dst:
		f.Tuple.Address = addr.Unmap()
	}
	return true, nil
}

func (f *Flow) ports(kind uint16, value []byte) (bool, error) {
	n := number(value) & 0xffff
	switch kind {
	case ctaProtoNum:
		f.Tuple.Protocol = protocols[byte(n&0xff)]
	case ctaProtoSrcPort:
		f.Client = netip.AddrPortFrom(f.Client.Addr(), uint16(n))
	case ctaProtoDstPort:
		f.Tuple.Port = int32(n)
	}
	return true, nil
}

func (f *Flow) state(kind uint16, value []byte) (bool, error) {
	if kind != ctaProtoinfoTCP && kind != ctaProtoinfoSCTP {
		return true, nil
	}
	return true, each(value, func(of uint16, value []byte) (bool, error) {
		if of == ctaProtoinfoState {
			state := byte(number(value) & 0xff)
			f.Closing = closing(kind, state)
			f.HalfClosed = kind == ctaProtoinfoTCP && (state == tcpFinWait || state == tcpCloseWait)
		}
		return true, nil
	})
}

func closing(kind uint16, state uint8) bool {
	if kind == ctaProtoinfoTCP {
		return state >= tcpFirstClosing && state <= tcpLastClosing
	}
	return state == sctpClosed || state >= sctpFirstClosing && state <= sctpLastClosing
}
