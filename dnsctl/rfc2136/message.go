package rfc2136

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// maxUpdate in octets leaves room for the signature in a message of 65,535 (RFC 1035 section 4.2.2).
const maxUpdate = 64_000

// part is one message and what it changes.
type part struct {
	m       *dns.Msg
	changes []dnsctl.Change
}

// messages builds as few UPDATEs as hold all changes, in order.
func messages(zone dnsctl.Zone, changes []dnsctl.Change) ([]part, error) {
	var out []part
	for len(changes) > 0 {
		n, m, err := longest(zone, changes)
		if err != nil {
			return nil, err
		}
		out = append(out, part{m, changes[:n]})
		changes = changes[n:]
	}
	return out, nil
}

// longest is the message of as many of the first changes as fit one.
func longest(zone dnsctl.Zone, changes []dnsctl.Change) (int, *dns.Msg, error) {
	for n := len(changes); n > 0; {
		m, err := message(zone, changes[:n])
		if err != nil {
			return 0, nil, err
		}
		size := m.Len()
		if size <= maxUpdate {
			return n, m, nil
		}
		n = min(n-1, n*maxUpdate/size)
	}
	return 0, nil, fmt.Errorf("the change of %s does not fit one message: too many addresses in one name", changes[0].Name)
}

// message builds one UPDATE for all changes. Every record in it is made here and used once: the library edits what it
// is handed, and a record shared by a prerequisite and an insert would be published with TTL 0.
func message(zone dnsctl.Zone, changes []dnsctl.Change) (*dns.Msg, error) {
	m := new(dns.Msg)
	m.SetUpdate(apexOf(zone))
	m.Compress = true
	for _, c := range changes {
		if err := prerequisites(m, c); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		if err := replacements(m, c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// prerequisites name the exact previous sets (RFC 2136 section 2.4.2) and the mark. That there is no alias must be said
// too: servers drop an address beside a CNAME silently and answer NOERROR.
func prerequisites(m *dns.Msg, c dnsctl.Change) error {
	name := dns.Fqdn(c.Name)
	expect(m, name, dns.TypeA, addresses(name, c.Before.Records.A))
	expect(m, name, dns.TypeAAAA, addresses(name, c.Before.Records.AAAA))
	expect(m, name, dns.TypeCNAME, nil)
	mark, err := markRecords(c.Name, c.Before)
	if err != nil {
		return err
	}
	expect(m, dns.Fqdn(dnsctl.MarkName(c.Name)), dns.TypeTXT, mark)
	return nil
}

// replacements remove each set and insert the new one in the same message: an insert alone leaves the TTL as it was on
// some servers, and two messages leave a gap that caches keep for the negative TTL.
func replacements(m *dns.Msg, c dnsctl.Change) error {
	name := dns.Fqdn(c.Name)
	replace(m, name, dns.TypeA, c.Before.Records.A, c.After.Records.A)
	replace(m, name, dns.TypeAAAA, c.Before.Records.AAAA, c.After.Records.AAAA)
	mark, err := markRecords(c.Name, c.After)
	if err != nil {
		return err
	}
	if !c.Before.Mark.IsZero() || len(mark) > 0 {
		m.RemoveRRset(only(dns.Fqdn(dnsctl.MarkName(c.Name)), dns.TypeTXT))
		m.Insert(mark)
	}
	return nil
}

func expect(m *dns.Msg, name string, kind uint16, records []dns.RR) {
	if len(records) == 0 {
		m.RRsetNotUsed(only(name, kind))
		return
	}
	m.Used(records)
}

func replace(m *dns.Msg, name string, kind uint16, before, after dnsctl.RRset) {
	if len(before.Addresses)+len(after.Addresses) == 0 {
		return
	}
	m.RemoveRRset(only(name, kind))
	m.Insert(addresses(name, after))
}

// only names a set without its data.
func only(name string, kind uint16) []dns.RR {
	return []dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET}}}
}

func addresses(name string, set dnsctl.RRset) []dns.RR {
	out := make([]dns.RR, 0, len(set.Addresses))
	for _, a := range set.Addresses {
		out = append(out, address(name, set.TTL, a))
	}
	return out
}

func address(name string, ttl uint32, a netip.Addr) dns.RR {
	hdr := dns.RR_Header{Name: name, Class: dns.ClassINET, Ttl: ttl}
	if a.Is4() {
		hdr.Rrtype = dns.TypeA
		return &dns.A{Hdr: hdr, A: a.AsSlice()}
	}
	hdr.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: hdr, AAAA: a.AsSlice()}
}

func markRecords(name string, a dnsctl.Answer) ([]dns.RR, error) {
	if a.Mark.IsZero() {
		return nil, nil
	}
	text, err := dnsctl.EncodeMark(a.Mark)
	if err != nil {
		return nil, err
	}
	hdr := dns.RR_Header{
		Name: dns.Fqdn(dnsctl.MarkName(name)), Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: dnsctl.MarkTTL(a.Records),
	}
	return []dns.RR{&dns.TXT{Hdr: hdr, Txt: dnsctl.CharacterStrings(text)}}, nil
}

// refuse names what must never be sent.
func refuse(zone dnsctl.Zone, changes []dnsctl.Change) (string, error) {
	seen := map[string]bool{}
	for _, c := range changes {
		if err := refuseOne(zone, c); err != nil {
			return c.Name, err
		}
		if seen[c.Name] {
			return c.Name, errors.New("two changes of one name in one update")
		}
		seen[c.Name] = true
	}
	return "", nil
}

func refuseOne(zone dnsctl.Zone, c dnsctl.Change) error {
	switch {
	case zone.Manual:
		return fmt.Errorf("DNSZone %s is Manual: nothing is written there", zone.Object)
	case c.Zone != zone.Object:
		return fmt.Errorf("the change belongs to DNSZone %s, the update to %s", c.Zone, zone.Object)
	case !dnsctl.Under(zone.Apex, c.Name):
		return fmt.Errorf("the name is not in zone %s (DNSZone %s)", zone.Apex, zone.Object)
	case c.Before.Records.Alias != "" || c.After.Records.Alias != "":
		return errors.New("the name is an alias: move its target, in its own zone")
	case c.Before.Foreign != "":
		return fmt.Errorf("the mark at %s is not ours: %q", dnsctl.MarkName(c.Name), c.Before.Foreign)
	}
	if err := dnsctl.ValidateName(c.Name); err != nil {
		return err
	}
	return refuseFamilies(c)
}

func refuseFamilies(c dnsctl.Change) error {
	for _, r := range []dnsctl.RecordSet{c.Before.Records, c.After.Records} {
		for _, a := range r.A.Addresses {
			if !a.Is4() {
				return fmt.Errorf("address %s fits no A record", a)
			}
		}
		for _, a := range r.AAAA.Addresses {
			if !a.Is6() || a.Is4In6() || a.Zone() != "" {
				return fmt.Errorf("address %s fits no AAAA record", a)
			}
		}
	}
	return nil
}
