package agent

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	// maxAddresses of a family are compared one by one in the kernel; with more of them every event is let through.
	maxAddresses = 500
	// letThrough is longer than any message.
	letThrough = 1 << 18
)

// Where ctnetlink puts things in the message of an event, which begins with the original tuple: the family, the kinds of the
// attributes on the way to the destination address, and that address, or its last four bytes.
const (
	atFamily, atTuple, atAddresses = 16, 22, 26
	atKind4, atAddress4            = 38, 40
	atKind6, atAddress6            = 50, 64
)

// eventFilter is a program that lets events through to the socket that may be of a watched tuple: by destination address,
// which is what most events of a busy node differ in. Whatever does not look as it expects it lets through. User space looks
// again. It is nil where there are too many addresses.
func eventFilter(watched map[Tuple]bool) []bpf.Instruction {
	four, six := map[uint32]bool{}, map[uint32]bool{}
	for t := range watched {
		bytes := t.Address.AsSlice()
		last := binary.BigEndian.Uint32(bytes[len(bytes)-ipv4Length:])
		if t.Address.Is4() {
			four[last] = true
		} else {
			six[last] = true
		}
	}
	if len(four) > maxAddresses || len(six) > maxAddresses {
		return nil
	}
	out := slices.Concat(kindIs(atTuple, ctaTupleOrig|unix.NLA_F_NESTED), kindIs(atAddresses, ctaTupleIP|unix.NLA_F_NESTED))
	for _, family := range []struct {
		number         uint8
		atKind, atAddr uint32
		kind           uint16
		addresses      map[uint32]bool
	}{
		{familyIPv4, atKind4, atAddress4, ctaIPv4Dst, four},
		{familyIPv6, atKind6, atAddress6, ctaIPv6Dst, six},
	} {
		block := append(kindIs(family.atKind, family.kind), oneOf(family.atAddr, family.addresses)...)
		out = append(out, bpf.LoadAbsolute{Off: atFamily, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(family.number), SkipTrue: 1},
			bpf.Jump{Skip: uint32(len(block) & 0xffff)})
		out = append(out, block...)
	}
	return append(out, bpf.RetConstant{Val: letThrough})
}

// kindIs lets a message through whose attribute there is of another kind.
func kindIs(offset uint32, kind uint16) []bpf.Instruction {
	// A program reads big-endian, and the kinds are in the byte order of the machine.
	value := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, kind))
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: offset, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(value), SkipTrue: 1},
		bpf.RetConstant{Val: letThrough},
	}
}

// oneOf lets a message through that has one of these words there, and drops the others.
func oneOf(offset uint32, words map[uint32]bool) []bpf.Instruction {
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: offset, Size: 4}}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: word, SkipFalse: 1}, bpf.RetConstant{Val: letThrough})
	}
	return append(out, bpf.RetConstant{Val: 0})
}

// addressesOf are the addresses of the tuples.
func addressesOf(watched map[Tuple]bool) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for t := range watched {
		out[t.Address] = true
	}
	return out
}
