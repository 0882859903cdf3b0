package agent

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// sockDiagByFamily is SOCK_DIAG_BY_FAMILY of linux/sock_diag.h; a request of it has the length of inet_diag_req_v2, and an
	// answer begins with family, state, two bytes, and source and destination port.
	sockDiagByFamily, diagRequest = 20, 56
	diagPort, diagSource          = 4, 8
	// The states of a socket that waits for others: TCP_LISTEN; and TCP_CLOSE, which is a UDP socket without a peer.
	stateListen, stateClose = 10, 7
)

// listeners are those of the watched tuples that a process of the node would answer: the node has the address, and a
// socket waits at it or at all addresses. SCTP is not looked for.
func listeners(watched map[Tuple]bool) (map[Tuple]bool, error) {
	local, err := localAddresses()
	if err != nil {
		return nil, err
	}
	out := map[Tuple]bool{}
	mine := map[Tuple]bool{}
	for t := range watched {
		if local[t.Address] {
			mine[t] = true
		}
	}
	if len(mine) == 0 {
		return out, nil
	}
	for _, family := range []uint8{familyIPv4, familyIPv6} {
		for _, q := range []struct {
			protocol, state uint8
		}{{protoTCP, stateListen}, {protoUDP, stateClose}} {
			err := list(unix.NETLINK_SOCK_DIAG, socketsIn(family, q.protocol, q.state), func(data []byte) error {
				return answers(out, mine, data, protocols[q.protocol])
			})
			if err != nil {
				return nil, fmt.Errorf("listing sockets: %w", err)
			}
		}
	}
	return out, nil
}

func localAddresses() (map[netip.Addr]bool, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing addresses: %w", err)
	}
	out := map[netip.Addr]bool{}
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			out[prefix.Addr().Unmap()] = true
		}
	}
	return out, nil
}

func socketsIn(family, protocol, state uint8) netlink.Message {
	data := make([]byte, diagRequest)
	data[0], data[1] = family, protocol
	binary.NativeEndian.PutUint32(data[4:], 1<<state)
	return routeMessage(sockDiagByFamily, data)
}

// answers marks the tuples that a socket answers. One at all IPv6 addresses may take IPv4 too.
func answers(out, mine map[Tuple]bool, data []byte, protocol string) error {
	if len(data) < diagSource+ipv6Length {
		return errAttribute
	}
	at, ok := netip.AddrFromSlice(data[diagSource : diagSource+ipv6Length])
	if data[0] == familyIPv4 {
		at, ok = netip.AddrFromSlice(data[diagSource : diagSource+ipv4Length])
	}
	port := int32(binary.BigEndian.Uint16(data[diagPort:]))
	for t := range mine {
		if data[0] == familyIPv4 && !t.Address.Is4() {
			continue
		}
		if ok && t.Port == port && t.Protocol == protocol && (at.IsUnspecified() || at.Unmap() == t.Address) {
			out[t] = true
		}
	}
	return nil
}
