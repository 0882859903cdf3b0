package agent

import (
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The chains: two that the kernel calls, for what arrives and for what starts on the node, and one that counts.
const (
	chainPrerouting = "prerouting"
	chainOutput     = "output"
	chainCount      = "count"
)

// Offsets, in bytes: of the destination address in the network header, of the port and of what marks an attempt in the
// transport header.
const (
	ipv4Destination, ipv4Length = 16, 4
	ipv6Destination, ipv6Length = 24, 16
	portOffset, portLength      = 2, 2
	tcpFlags, sctpFirstChunk    = 13, 12
)

// flagsSynAck of a TCP segment, of which an attempt has only flagSyn (RFC 9293, 3.1); chunkInit begins an SCTP
// association (RFC 9260, 3.2).
const (
	flagsSynAck byte = 0x12
	flagSyn     byte = 0x02
	chunkInit   byte = 1
)

// addRules adds, written as nft does:
//
//	chain count { meta nfproto ipv4 ip daddr . meta l4proto . th dport @packets4
//	              meta nfproto ipv4 meta l4proto tcp tcp flags & (syn | ack) == syn ip daddr . … @attempts4
//	              meta nfproto ipv4 meta l4proto sctp @th,96,8 1 ip daddr . … @attempts4
//	              … and the same for ipv6 }
//	chain prerouting { type filter hook prerouting priority -350; jump count }
//	chain output { type filter hook output priority -350; jump count }
//
// An element counts when a lookup finds it.
func (m *made) addRules(conn *nftables.Conn) {
	count := conn.AddChain(&nftables.Chain{Name: chainCount, Table: m.table})
	for _, family := range []uint8{familyIPv4, familyIPv6} {
		for _, attempt := range [][]expr.Any{nil, tcpAttempt(), sctpAttempt()} {
			exprs := append(isFamily(family), attempt...)
			exprs = append(exprs, lookup(family, m.sets[setKey{family, attempt != nil}])...)
			conn.AddRule(&nftables.Rule{Table: m.table, Chain: count, Exprs: exprs})
		}
	}
	m.addBase(conn, chainPrerouting, nftables.ChainHookPrerouting)
	m.addBase(conn, chainOutput, nftables.ChainHookOutput)
}

func (m *made) addBase(conn *nftables.Conn, name string, hook *nftables.ChainHook) {
	base := conn.AddChain(&nftables.Chain{
		Name: name, Table: m.table, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: new(priority),
	})
	conn.AddRule(&nftables.Rule{Table: m.table, Chain: base, Exprs: []expr.Any{
		&expr.Verdict{Kind: expr.VerdictJump, Chain: chainCount},
	}})
}

func isFamily(family uint8) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: unix.NFT_REG_1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: []byte{family}},
	}
}

func isProtocol(number byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: unix.NFT_REG_1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: []byte{number}},
	}
}

func tcpAttempt() []expr.Any {
	return append(isProtocol(protoTCP),
		&expr.Payload{DestRegister: unix.NFT_REG_1, Base: expr.PayloadBaseTransportHeader, Offset: tcpFlags, Len: 1},
		&expr.Bitwise{SourceRegister: unix.NFT_REG_1, DestRegister: unix.NFT_REG_1, Len: 1, Mask: []byte{flagsSynAck}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: []byte{flagSyn}},
	)
}

func sctpAttempt() []expr.Any {
	return append(isProtocol(protoSCTP),
		&expr.Payload{DestRegister: unix.NFT_REG_1, Base: expr.PayloadBaseTransportHeader, Offset: sctpFirstChunk, Len: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: []byte{chunkInit}},
	)
}

// lookup loads destination, protocol and port into registers that follow each other, and looks them up.
func lookup(family uint8, set *nftables.Set) []expr.Any {
	offset, length, next := uint32(ipv4Destination), uint32(ipv4Length), uint32(unix.NFT_REG32_01)
	if family == familyIPv6 {
		offset, length, next = ipv6Destination, ipv6Length, unix.NFT_REG32_04
	}
	return []expr.Any{
		&expr.Payload{DestRegister: unix.NFT_REG_1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: next},
		&expr.Payload{DestRegister: next + 1, Base: expr.PayloadBaseTransportHeader, Offset: portOffset, Len: portLength},
		&expr.Lookup{SourceRegister: unix.NFT_REG_1, SetName: set.Name, SetID: set.ID},
	}
}
