package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Attributes and messages of conntrack, from the kernel's linux/netfilter/nfnetlink_conntrack.h.
const (
	ctMsgGet, ctMsgDelete = 1, 2

	ctaTupleOrig, ctaStatus, ctaProtoinfo, ctaTimeout, ctaFilter = 1, 3, 4, 7, 25

	ctaTupleIP, ctaTupleProto                            = 1, 2
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
	sctpClosed                              = 1
	sctpFirstClosing, sctpLastClosing       = 5, 7
	genHeader                               = 4 // length of struct nfgenmsg
	familyIPv4, familyIPv6            uint8 = unix.AF_INET, unix.AF_INET6
)

var protocols = map[uint8]string{protoTCP: tcp, protoUDP: udp, protoSCTP: sctp}

// message is a conntrack request of a family ("0": both).
func message(kind netlink.HeaderType, flags netlink.HeaderFlags, family uint8, attributes []byte) netlink.Message {
	return netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_CTNETLINK<<8 | kind, Flags: netlink.Request | flags},
		Data:   append([]byte{family, unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
}

// decode reads a Flow from a conntrack message. wanted is asked as soon as the tuple is known, for nearly all entries of a
// node are not ours; false for those.
func decode(data []byte, wanted func(Tuple) bool) (Flow, bool, error) {
	if len(data) < genHeader {
		return Flow{}, false, errors.New("a conntrack message is shorter than its header")
	}
	ad, err := netlink.NewAttributeDecoder(data[genHeader:])
	if err != nil {
		return Flow{}, false, fmt.Errorf("reading a conntrack message: %w", err)
	}
	ad.ByteOrder = binary.BigEndian
	var f Flow
	for ad.Next() {
		if !f.take(ad) || ad.Type() == ctaTupleOrig && !wanted(f.Tuple) {
			return Flow{}, false, ad.Err()
		}
	}
	return f, f.Tuple.Protocol != "", ad.Err()
}

// take reads one attribute; false for an entry that cannot be ours.
func (f *Flow) take(ad *netlink.AttributeDecoder) bool {
	switch ad.Type() {
	case ctaTupleOrig:
		ad.Nested(f.original)
		return f.Tuple.Protocol != "" && f.Tuple.Address.IsValid()
	case ctaStatus:
		f.Replied = ad.Uint32()&statusSeenReply != 0
	case ctaTimeout:
		f.Left = time.Duration(ad.Uint32()) * time.Second
	case ctaProtoinfo:
		ad.Nested(f.state)
	}
	return true
}

func (f *Flow) original(ad *netlink.AttributeDecoder) error {
	var source netip.Addr
	var port uint16
	for ad.Next() {
		switch ad.Type() {
		case ctaTupleIP:
			ad.Nested(func(ad *netlink.AttributeDecoder) error { return f.addresses(ad, &source) })
		case ctaTupleProto:
			ad.Nested(func(ad *netlink.AttributeDecoder) error { return f.ports(ad, &port) })
		}
	}
	f.Client = netip.AddrPortFrom(source, port)
	return nil
}

func (f *Flow) addresses(ad *netlink.AttributeDecoder, source *netip.Addr) error {
	for ad.Next() {
		addr, _ := netip.AddrFromSlice(ad.Bytes())
		switch ad.Type() {
		case ctaIPv4Src, ctaIPv6Src:
			*source = addr.Unmap()
		case ctaIPv4Dst, ctaIPv6Dst:
			f.Tuple.Address = addr.Unmap()
		}
	}
	return nil
}

func (f *Flow) ports(ad *netlink.AttributeDecoder, source *uint16) error {
	for ad.Next() {
		switch ad.Type() {
		case ctaProtoNum:
			f.Tuple.Protocol = protocols[ad.Uint8()]
		case ctaProtoSrcPort:
			*source = ad.Uint16()
		case ctaProtoDstPort:
			f.Tuple.Port = int32(ad.Uint16())
		}
	}
	return nil
}

func (f *Flow) state(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		kind := ad.Type()
		if kind != ctaProtoinfoTCP && kind != ctaProtoinfoSCTP {
			continue
		}
		ad.Nested(func(ad *netlink.AttributeDecoder) error {
			for ad.Next() {
				if ad.Type() == ctaProtoinfoState {
					f.Closing = closing(kind, ad.Uint8())
				}
			}
			return nil
		})
	}
	return nil
}

func closing(kind uint16, state uint8) bool {
	if kind == ctaProtoinfoTCP {
		return state >= tcpFirstClosing && state <= tcpLastClosing
	}
	return state == sctpClosed || state >= sctpFirstClosing && state <= sctpLastClosing
}
