package agent

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/ti-mo/conntrack"
)

// Protocol numbers (IANA) and the TCP states after which a connection carries nothing new (netfilter's
// nf_conntrack_tcp.h: FIN_WAIT 4 to CLOSE 8).
const (
	protoTCP, protoUDP, protoSCTP = 6, 17, 132
	firstClosing, lastClosing     = 4, 8
)

// Netlink reads the connection-tracking table of the network namespace it runs in. It needs CAP_NET_ADMIN.
type Netlink struct{}

// Flows dumps the table and keeps what is watched.
func (Netlink) Flows(watched map[Tuple]bool) ([]Flow, error) {
	c, err := conntrack.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("opening the conntrack netlink socket (needs CAP_NET_ADMIN): %w", err)
	}
	flows, err := c.Dump(nil)
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("listing conntrack entries: %w", err)
	}
	var out []Flow
	for i := range flows {
		if f, ok := read(&flows[i]); ok && watched[f.Tuple] {
			out = append(out, f)
		}
	}
	return out, nil
}

func read(f *conntrack.Flow) (Flow, bool) {
	protocol, ok := map[uint8]string{protoTCP: "TCP", protoUDP: "UDP", protoSCTP: "SCTP"}[f.TupleOrig.Proto.Protocol]
	t := Tuple{Address: f.TupleOrig.IP.DestinationAddress.Unmap(), Port: int32(f.TupleOrig.Proto.DestinationPort), Protocol: protocol}
	out := Flow{
		Tuple: t, Client: netip.AddrPortFrom(f.TupleOrig.IP.SourceAddress.Unmap(), f.TupleOrig.Proto.SourcePort),
		Replied: f.Status.SeenReply(),
	}
	if tcp := f.ProtoInfo.TCP; tcp != nil {
		out.Closing = tcp.State >= firstClosing && tcp.State <= lastClosing
	}
	return out, ok
}
