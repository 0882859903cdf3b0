package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// maxFiltered is up to how many addresses the kernel is asked for one by one. Every question walks the whole table, so
	// that for more of them one listing of everything is cheaper.
	maxFiltered = 8
	// listBuffer holds one datagram of a listing; the kernel makes them at most 32 KiB large.
	listBuffer = 1 << 16
	// listTimeout is how long the kernel may take for one datagram, in seconds.
	listTimeout = 10
)

// Listings in which entries may be missing.
var (
	errInterrupted = errors.New("the listing was interrupted (NLM_F_DUMP_INTR): entries may be missing")
	errOverrun     = errors.New("the kernel lost messages of its answer: entries may be missing")
)

// entries lists the conntrack entries of the watched tuples in the network namespace of the caller. It needs
// CAP_NET_ADMIN. A listing that was interrupted or cut short is an error: it would read as zero.
func entries(watched map[Tuple]bool) ([]Flow, error) {
	var out []Flow
	requests, err := questions(watched)
	if err != nil {
		return nil, err
	}
	wanted := func(t Tuple) bool { return watched[t] }
	for _, request := range requests {
		err := list(unix.NETLINK_NETFILTER, request, func(data []byte) error {
			f, ok, err := decode(data, wanted)
			if ok {
				out = append(out, f)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing conntrack entries: %w", err)
		}
	}
	return out, nil
}

// questions are the requests that list the watched tuples: one for each IPv4 address if those are few, or one for the
// family. Linux filters by IPv6 address the wrong way round (ctnetlink_filter_match_tuple drops what is equal, seen in
// 6.18), so that for IPv6 everything is listed.
func questions(watched map[Tuple]bool) ([]netlink.Message, error) {
	addresses, ipv6 := map[netip.Addr]bool{}, false
	for t := range watched {
		if t.Address.Is4() {
			addresses[t.Address] = true
		} else {
			ipv6 = true
		}
	}
	var out []netlink.Message
	if ipv6 {
		out = append(out, message(ctMsgGet, familyIPv6, nil))
	}
	if len(addresses) > maxFiltered {
		return append(out, message(ctMsgGet, familyIPv4, nil)), nil
	}
	for addr := range addresses {
		attributes, err := destination(addr)
		if err != nil {
			return nil, fmt.Errorf("writing a conntrack filter for %s: %w", addr, err)
		}
		out = append(out, message(ctMsgGet, familyIPv4, attributes))
	}
	return out, nil
}

func familyOf(addr netip.Addr) uint8 {
	if addr.Is4() {
		return familyIPv4
	}
	return familyIPv6
}

// destination is a filter in the kernel: entries to this IPv4 address only.
func destination(addr netip.Addr) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	ae.Nested(ctaTupleOrig, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(ctaTupleIP, func(ae *netlink.AttributeEncoder) error {
			ae.Bytes(ctaIPv4Dst, addr.AsSlice())
			return nil
		})
		return nil
	})
	ae.Nested(ctaFilter, func(ae *netlink.AttributeEncoder) error {
		// Flags are in the byte order of the machine, unlike everything else.
		ae.Bytes(ctaFilterOrigFlags, binary.NativeEndian.AppendUint32(nil, filterIPDst))
		return nil
	})
	return ae.Encode()
}

// open opens a socket on which the kernel answers, or fails in time.
func open(family int) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, family)
	if err != nil {
		return 0, fmt.Errorf("opening the netlink socket: %w", err)
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: listTimeout}); err != nil {
		return 0, errors.Join(fmt.Errorf("setting the timeout of the netlink socket: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// list sends one request and gives every message of the answer to take, one by one: a table may have hundreds of
// thousands of entries, which a library that collects them would hold in memory all at once.
func list(family int, request netlink.Message, take func([]byte) error) (err error) {
	fd, err := open(family)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	length := unix.NLMSG_HDRLEN + len(request.Data)
	if length > listBuffer {
		return fmt.Errorf("a request of %d bytes is too long", length)
	}
	request.Header.Length = uint32(length)
	data, err := request.MarshalBinary()
	if err != nil {
		return fmt.Errorf("writing a netlink message: %w", err)
	}
	if err := unix.Sendto(fd, data, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("asking the kernel (needs CAP_NET_ADMIN): %w", err)
	}
	return receive(fd, take)
}

func receive(fd int, take func([]byte) error) error {
	buffer := make([]byte, listBuffer)
	for {
		messages, err := datagram(fd, buffer)
		if err != nil {
			return err
		}
		if done, err := answer(messages, take); done || err != nil {
			return err
		}
	}
}

// datagram reads what the kernel answers next.
func datagram(fd int, buffer []byte) ([]syscall.NetlinkMessage, error) {
	for {
		n, _, flags, from, err := unix.Recvmsg(fd, buffer, nil, 0)
		switch kernel, ok := from.(*unix.SockaddrNetlink); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("reading the kernel's answer: %w", err)
		case flags&unix.MSG_TRUNC != 0:
			return nil, errors.New("the kernel's answer was cut short")
		case !ok || kernel.Pid != 0:
			continue // another process may write to the socket; only the kernel is believed
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return nil, fmt.Errorf("reading the kernel's answer: %w", err)
		}
		return messages, nil
	}
}

// answer takes the messages of one datagram; true after the last one.
func answer(messages []syscall.NetlinkMessage, take func([]byte) error) (bool, error) {
	for _, m := range messages {
		if m.Header.Flags&unix.NLM_F_DUMP_INTR != 0 {
			return true, errInterrupted
		}
		switch m.Header.Type {
		case unix.NLMSG_DONE, unix.NLMSG_ERROR:
			return true, failure(m.Data)
		case unix.NLMSG_OVERRUN:
			return true, errOverrun
		}
		if err := take(m.Data); err != nil {
			return true, err
		}
	}
	return false, nil
}

// failure reads the error code with which an answer ends; 0 is none.
func failure(data []byte) error {
	if len(data) < 4 {
		return nil
	}
	// The code is a negative errno.
	if code := -binary.NativeEndian.Uint32(data); code != 0 {
		return fmt.Errorf("the kernel refused (needs CAP_NET_ADMIN): %w", unix.Errno(code))
	}
	return nil
}
