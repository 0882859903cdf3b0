package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver asks one server once and keeps nothing. net.Resolver will not do: it reads /etc/hosts, asks again after a
// SERVFAIL, and sorts the answer by which address has a route, which would hide that the first one has none.
type resolver struct {
	server string
	name   dnsmessage.Name
	family dnsmessage.Type
}

func newResolver(server, name string, family int) (resolver, error) {
	if len(name) > 0 && name[len(name)-1] != '.' {
		name += "."
	}
	n, err := dnsmessage.NewName(name)
	if err != nil || len(name) < 2 {
		return resolver{}, fmt.Errorf("--name %q: give a full name of at most 254 bytes", name)
	}
	switch family {
	case 4:
		return resolver{server: server, name: n, family: dnsmessage.TypeA}, nil
	case 6:
		return resolver{server: server, name: n, family: dnsmessage.TypeAAAA}, nil
	}
	return resolver{}, fmt.Errorf("--family %d: give 4 or 6", family)
}

// first is the first address of the answer, in the answer's own order.
func (r resolver) first(ctx context.Context) (netip.Addr, error) {
	id := uint16(random() & 0xffff)
	query, err := r.query(id)
	if err != nil {
		return netip.Addr{}, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", r.server)
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := within(ctx, conn); err != nil {
		return netip.Addr{}, err
	}
	if _, err := conn.Write(query); err != nil {
		return netip.Addr{}, err
	}
	return r.await(conn, id)
}

func (r resolver) query(id uint16) ([]byte, error) {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: r.name, Type: r.family, Class: dnsmessage.ClassINET}},
	}
	return m.Pack()
}

// await reads until the answer to this question comes; other datagrams are none of ours.
func (r resolver) await(conn net.Conn, id uint16) (netip.Addr, error) {
	buffer := make([]byte, 1232)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return netip.Addr{}, err
		}
		var m dnsmessage.Message
		if err := m.Unpack(buffer[:n]); err == nil && m.ID == id && m.Response {
			return r.address(m)
		}
	}
}

func (r resolver) address(m dnsmessage.Message) (netip.Addr, error) {
	if m.RCode != dnsmessage.RCodeSuccess {
		return netip.Addr{}, fmt.Errorf("%s answers %s for %s %s", r.server, m.RCode, r.name, r.family)
	}
	if m.Truncated {
		return netip.Addr{}, errors.New("the answer is truncated, and this client does not ask again over TCP")
	}
	for _, a := range m.Answers {
		switch body := a.Body.(type) {
		case *dnsmessage.AResource:
			return netip.AddrFrom4(body.A), nil
		case *dnsmessage.AAAAResource:
			return netip.AddrFrom16(body.AAAA), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no %s for %s", r.server, r.family, r.name)
}
