package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// tableName of the table, of family inet, that holds the counters.
	tableName = "offramp-agent"
	// priority of the chains: after packets were put together (-400) and before raw (-300) and conntrack (-200), so that
	// what those drop or do not track counts too.
	priority nftables.ChainPriority = -350
	// maxElements is how many elements go into one message, and one transaction: an attribute holds 64 KiB, and a socket
	// sends about 200 KiB at once.
	maxElements = 500
	// nftaTableHandle is NFTA_TABLE_HANDLE of linux/netfilter/nf_tables.h.
	nftaTableHandle = 4
)

// errTouched is a table that is not as it was made: its counters are not to be believed.
var errTouched = errors.New("nftables table inet " + tableName + " was removed, replaced or changed by somebody else")

// Counters are packet counters in an nftables table of our own, in the network namespace of the caller. They need
// CAP_NET_ADMIN and Linux 5.7. The table only counts: it has no verdict and changes no packet.
type Counters struct {
	made *made
}

// made is a table as it was made.
type made struct {
	table    *nftables.Table
	sets     map[setKey]*nftables.Set
	elements map[Tuple]bool
	// identity changes whenever somebody makes the table, or anything in it, again.
	identity identity
}

// setKey tells the sets apart: by family, and what they count.
type setKey struct {
	family   uint8
	attempts bool
}

var setNames = map[setKey]string{
	{familyIPv4, false}: "packets4", {familyIPv4, true}: "attempts4",
	{familyIPv6, false}: "packets6", {familyIPv6, true}: "attempts6",
}

// Read gives the counts of all watched tuples. lost says why they do not follow on those of the last time; "" if they do.
// A table that a dead agent left behind is replaced, and so is one that somebody has touched.
func (c *Counters) Read(watched map[Tuple]bool) (counts map[Tuple]Count, lost string, err error) {
	first := c.made == nil
	if !first {
		counts, err = c.made.read(watched)
		if !errors.Is(err, errTouched) {
			return counts, "", err
		}
		lost = err.Error()
	}
	if c.made, err = build(); err != nil {
		return nil, "", fmt.Errorf("making nftables table inet %s (needs CAP_NET_ADMIN): %w", tableName, err)
	}
	counts, err = c.made.read(watched)
	return counts, lost, err
}

// Close removes the table.
func (c *Counters) Close() error {
	if c.made == nil {
		return nil
	}
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	conn.DelTable(c.made.table)
	c.made = nil
	if err := conn.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("removing nftables table inet %s: %w", tableName, err)
	}
	return nil
}

// build makes the table, without elements, in the place of whatever has its name.
func build() (*made, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, err
	}
	m := &made{
		table: &nftables.Table{Family: nftables.TableFamilyINet, Name: tableName},
		sets:  map[setKey]*nftables.Set{}, elements: map[Tuple]bool{},
	}
	// Adding first makes deleting possible where there is none.
	conn.AddTable(m.table)
	conn.DelTable(m.table)
	conn.AddTable(m.table)
	for _, key := range setKeys() {
		m.sets[key] = &nftables.Set{Table: m.table, Name: setNames[key], KeyType: keyType(key.family), Counter: true}
		if err := conn.AddSet(m.sets[key], nil); err != nil {
			return nil, fmt.Errorf("set %s: %w", setNames[key], err)
		}
	}
	m.addRules(conn)
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	if m.identity, err = identify(m.table); err != nil {
		return nil, err
	}
	return m, nil
}

func setKeys() []setKey {
	return slices.SortedFunc(maps.Keys(setNames), func(a, b setKey) int {
		return slices.Compare([]byte(setNames[a]), []byte(setNames[b]))
	})
}

func keyType(family uint8) nftables.SetDatatype {
	addr := nftables.TypeIPAddr
	if family == familyIPv6 {
		addr = nftables.TypeIP6Addr
	}
	return nftables.MustConcatSetType(addr, nftables.TypeInetProto, nftables.TypeInetService)
}

// read brings the elements up to date and reads the counters. Between two looks at the table's identity nobody can have
// put another one in its place.
func (m *made) read(watched map[Tuple]bool) (map[Tuple]Count, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	err := m.update(watched)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, errTouched // what should be deleted was gone
	case err != nil:
		return nil, fmt.Errorf("writing the elements of nftables table inet %s: %w", tableName, err)
	}
	counts, err := m.counts()
	if err := errors.Join(m.check(), err); err != nil {
		return nil, err
	}
	return counts, nil
}

func (m *made) check() error {
	now, err := identify(m.table)
	switch {
	case errors.Is(err, unix.ENOENT):
		return errTouched
	case err != nil:
		return err
	case !now.equal(m.identity):
		return errTouched
	}
	return nil
}

// update adds and deletes elements, so that those that stay keep their counters.
func (m *made) update(watched map[Tuple]bool) error {
	var stale, fresh []Tuple
	for t := range m.elements {
		if !watched[t] {
			stale = append(stale, t)
		}
	}
	for t := range watched {
		if !m.elements[t] {
			fresh = append(fresh, t)
		}
	}
	if err := m.changeAll(stale, false); err != nil {
		return err
	}
	return m.changeAll(fresh, true)
}

func (m *made) changeAll(tuples []Tuple, add bool) error {
	for chunk := range slices.Chunk(tuples, maxElements) {
		if err := m.change(chunk, add); err != nil {
			return err
		}
	}
	return nil
}

// change adds or deletes elements in one transaction.
func (m *made) change(tuples []Tuple, add bool) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	elements := map[setKey][]nftables.SetElement{}
	for _, t := range tuples {
		for _, key := range keysOf(t) {
			elements[key] = append(elements[key], nftables.SetElement{Key: encode(t)})
		}
	}
	write := conn.SetDeleteElements
	if add {
		write = conn.SetAddElements
	}
	for _, key := range setKeys() {
		if len(elements[key]) == 0 {
			continue
		}
		if err := write(m.sets[key], elements[key]); err != nil {
			return err
		}
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	for _, t := range tuples {
		if add {
			m.elements[t] = true
		} else {
			delete(m.elements, t)
		}
	}
	return nil
}

// keysOf are the sets that hold a tuple. UDP has no attempts.
func keysOf(t Tuple) []setKey {
	family := familyOf(t.Address)
	if t.Protocol == udp {
		return []setKey{{family, false}}
	}
	return []setKey{{family, false}, {family, true}}
}

// maxDumps is how often a set is listed for one reading.
const maxDumps = 5

// counts reads all sets. An element that is missing is an error, whoever took it away.
func (m *made) counts() (map[Tuple]Count, error) {
	out := make(map[Tuple]Count, len(m.elements))
	found, want := 0, 0
	for _, key := range setKeys() {
		packets, err := m.packets(key)
		if err != nil {
			return nil, fmt.Errorf("reading the counters of set %s: %w", setNames[key], err)
		}
		found += len(packets)
		want += m.size(key)
		for t, n := range packets {
			c := out[t]
			if key.attempts {
				c.Attempts = n
			} else {
				c.Packets = n
			}
			out[t] = c
		}
	}
	if found != want {
		return nil, fmt.Errorf("%w: %d of %d counters are there", errTouched, found, want)
	}
	return out, nil
}

// size is how many elements a set was given.
func (m *made) size(key setKey) (n int) {
	for t := range m.elements {
		if slices.Contains(keysOf(t), key) {
			n++
		}
	}
	return n
}

// packets are the packets of each element of a set.
func (m *made) packets(key setKey) (map[Tuple]uint64, error) {
	return gather(m.size(key), m.elements, func() ([]nftables.SetElement, error) {
		conn, err := nftables.New()
		if err != nil {
			return nil, err
		}
		return conn.GetSetElements(m.sets[key])
	})
}

// gather lists a set until it has seen all the wanted elements, at most maxDumps times. The kernel keeps a set in a hash
// table that it resizes in the background, and a listing that a resize falls into shows some elements twice and others not
// at all (rhashtable_walk_start in linux/lib/rhashtable.c). A counter only grows, so the highest value seen is the newest.
func gather(want int, elements map[Tuple]bool, list func() ([]nftables.SetElement, error)) (map[Tuple]uint64, error) {
	out := make(map[Tuple]uint64, want)
	for range maxDumps {
		listed, err := list()
		if err != nil {
			return nil, err
		}
		for i := range listed {
			t, ok := decodeKey(listed[i].Key)
			if ok && elements[t] && listed[i].Counter != nil {
				out[t] = max(out[t], listed[i].Counter.Packets)
			}
		}
		if len(out) >= want {
			break
		}
	}
	return out, nil
}

// Every part of a key fills whole registers of four bytes.
const (
	register  = 4
	tailBytes = 2 * register
)

// encode writes the key of an element: address, protocol number, port.
func encode(t Tuple) []byte {
	out := t.Address.AsSlice()
	out = append(out, protocolNumber(t.Protocol), 0, 0, 0)
	out = binary.BigEndian.AppendUint16(out, uint16(t.Port&0xffff))
	return append(out, 0, 0)
}

func decodeKey(key []byte) (Tuple, bool) {
	if len(key) < tailBytes {
		return Tuple{}, false
	}
	tail := key[len(key)-tailBytes:]
	addr, ok := netip.AddrFromSlice(key[:len(key)-tailBytes])
	protocol := protocols[tail[0]]
	return Tuple{Address: addr, Port: int32(binary.BigEndian.Uint16(tail[register:])), Protocol: protocol}, ok && protocol != ""
}

func protocolNumber(name string) uint8 {
	for number, protocol := range protocols {
		if protocol == name {
			return number
		}
	}
	return 0
}

// identity is what the kernel gives anew to whatever is made anew.
type identity struct {
	handle uint64
	flags  uint32
	rules  []uint64
}

func (i identity) equal(other identity) bool {
	return i.handle == other.handle && i.flags == other.flags && slices.Equal(i.rules, other.rules)
}

// identify reads the handles of the table and of its rules, and whether the table sleeps.
func identify(table *nftables.Table) (identity, error) {
	id, err := tableHandle(table.Name)
	if err != nil {
		return identity{}, err
	}
	conn, err := nftables.New()
	if err != nil {
		return identity{}, err
	}
	for _, name := range chains() {
		rules, err := conn.GetRules(table, &nftables.Chain{Table: table, Name: name})
		if err != nil {
			return identity{}, fmt.Errorf("listing the rules of chain %s: %w", name, err)
		}
		for _, r := range rules {
			id.rules = append(id.rules, r.Handle)
		}
	}
	return id, nil
}

// tableHandle asks for what the library does not read: the handle, which no other table of this boot ever has.
func tableHandle(name string) (id identity, err error) {
	answers, err := ask(unix.NFT_MSG_GETTABLE, unix.NFPROTO_INET, netlink.Attribute{Type: unix.NFTA_TABLE_NAME, Data: text(name)})
	if err != nil {
		return id, fmt.Errorf("asking for nftables table inet %s: %w", name, err)
	}
	for _, m := range answers {
		err = errors.Join(err, id.read(m.Data))
	}
	return id, err
}

func text(name string) []byte { return append([]byte(name), 0) }

// ask asks nftables for one object; unix.ENOENT where there is none.
func ask(kind netlink.HeaderType, family uint8, attributes ...netlink.Attribute) (answers []netlink.Message, err error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the netlink socket: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	data, err := netlink.MarshalAttributes(attributes)
	if err != nil {
		return nil, fmt.Errorf("writing a netlink message: %w", err)
	}
	return conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | kind, Flags: netlink.Request},
		Data:   append([]byte{family, unix.NFNETLINK_V0, 0, 0}, data...),
	})
}

func (i *identity) read(data []byte) error {
	if len(data) < genHeader {
		return errors.New("an nftables message is shorter than its header")
	}
	ad, err := netlink.NewAttributeDecoder(data[genHeader:])
	if err != nil {
		return err
	}
	ad.ByteOrder = binary.BigEndian
	for ad.Next() {
		switch ad.Type() {
		case nftaTableHandle:
			i.handle = ad.Uint64()
		case unix.NFTA_TABLE_FLAGS:
			i.flags = ad.Uint32()
		}
	}
	return ad.Err()
}
