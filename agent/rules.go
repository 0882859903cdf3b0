package agent

import (
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The chains: two that the kernel calls, for what arrives and for what starts on the node, and one for each family that sees
// only packets to watched tuples.
const (
	chainPrerouting = "prerouting"
	chainOutput     = "output"
	chainAttempts4  = "attempt4"
	chainAttempts6  = "attempt6"
)

// chains are all of them.
func chains() []string { return []string{chainPrerouting, chainOutput, chainAttempts4, chainAttempts6} }

// Offsets, in bytes: of the destination address in the network header, of the port and of what marks an attempt in the
// transport header. The flags of TCP are the second of four bytes that are loaded at once: for one byte the kernel has no
// short way, and every packet to a watched tuple would pay for it.
const (
	ipv4Destination, ipv4Length = 16, 4
	ipv6Destination, ipv6Length = 24, 16
	portOffset, portLength      = 2, 2
	tcpFlags, tcpFlagsLength    = 12, 4
	sctpFirstChunk              = 12
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
//	chain attempt4 { meta l4proto tcp @th,96,32 & 0x120000 == 0x20000 ip daddr . meta l4proto . th dport @attempts4
//	                 meta l4proto sctp @th,96,8 1 ip daddr . meta l4proto . th dport @attempts4 }
//	… and the same for ipv6
//	chain prerouting { type filter hook prerouting priority -350
//	                   ip daddr . meta l4proto . th dport @packets4 goto attempt4
//	                   ip6 daddr . meta l4proto . th dport @packets6 goto attempt6 }
//	chain output { type filter hook output priority -350; … the same }
//
// An element counts when a lookup finds it. A packet to something else costs one lookup that finds nothing. The family is
// asked for in every rule with an address, for nft cannot load again what it lists otherwise.
func (m *made) addRules(conn *nftables.Conn) {
	for _, family := range []uint8{familyIPv4, familyIPv6} {
		attempts := conn.AddChain(&nftables.Chain{Name: attemptsOf(family), Table: m.table})
		for _, attempt := range [][]expr.Any{tcpAttempt(), sctpAttempt()} {
			m.addRule(conn, attempts, slices.Concat(attempt, isFamily(family), lookup(family, m.sets[setKey{family, true}])))
		}
	}
	m.addBase(conn, chainPrerouting, nftables.ChainHookPrerouting)
	m.addBase(conn, chainOutput, nftables.ChainHookOutput)
}

func attemptsOf(family uint8) string {
	if family == familyIPv4 {
		return chainAttempts4
	}
	return chainAttempts6
}

func (m *made) addBase(conn *nftables.Conn, name string, hook *nftables.ChainHook) {
	base := conn.AddChain(&nftables.Chain{
		Name: name, Table: m.table, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: new(priority),
	})
	for _, family := range []uint8{familyIPv4, familyIPv6} {
		found := &expr.Verdict{Kind: expr.VerdictGoto, Chain: attemptsOf(family)}
		m.addRule(conn, base, slices.Concat(isFamily(family), lookup(family, m.sets[setKey{family, false}]), []expr.Any{found}))
	}
}

func (m *made) addRule(conn *nftables.Conn, chain *nftables.Chain, exprs []expr.Any) {
	conn.AddRule(&nftables.Rule{Table: m.table, Chain: chain, Exprs: exprs})
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
		&expr.Payload{DestRegister: unix.NFT_REG_1, Base: expr.PayloadBaseTransportHeader, Offset: tcpFlags, Len: tcpFlagsLength},
		&expr.Bitwise{
			SourceRegister: unix.NFT_REG_1, DestRegister: unix.NFT_REG_1, Len: tcpFlagsLength,
			Mask: []byte{0, flagsSynAck, 0, 0}, Xor: make([]byte, tcpFlagsLength),
		},
		&expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: []byte{0, flagSyn, 0, 0}},
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
