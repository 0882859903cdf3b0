package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// maxForeign bounds a foreign text in octets: it goes into conditions.
const maxForeign = 256

// Query asks one authoritative server (RD=0) for A, AAAA, CNAME and the marks of name. A name or a set that does not
// exist is an answer; anything but an authoritative NOERROR or NXDOMAIN to the very question is an error, and the name
// is unknown then.
func (c *Client) Query(ctx context.Context, zone dnsctl.Zone, server, name string) (dnsctl.Answer, error) {
	var out dnsctl.Answer
	if !dnsctl.Under(zone.Apex, name) {
		return out, fmt.Errorf("query of %s at %s: the name is not in zone %s (DNSZone %s)", name, server, zone.Apex, zone.Object)
	}
	steps := []func(context.Context, string, string, *dnsctl.Answer) error{c.queryAddresses, c.queryMark}
	for _, step := range steps {
		if err := step(ctx, server, name, &out); err != nil {
			return dnsctl.Answer{}, err
		}
	}
	external, err := c.queryExternal(ctx, zone, server, name)
	if err != nil {
		return dnsctl.Answer{}, err
	}
	out.External = external
	return out, nil
}

func (c *Client) queryAddresses(ctx context.Context, server, name string, out *dnsctl.Answer) error {
	four, err := c.look(ctx, server, name, dns.TypeA)
	if err != nil {
		return err
	}
	six, err := c.look(ctx, server, name, dns.TypeAAAA)
	if err != nil {
		return err
	}
	if four.alias != six.alias {
		return fmt.Errorf("query of %s at %s: A and AAAA disagree about an alias (%q, %q)", name, server, four.alias, six.alias)
	}
	out.Records = dnsctl.RecordSet{A: four.set, AAAA: six.set, Alias: four.alias}
	out.AliasTTL = max(four.aliasTTL, six.aliasTTL)
	return nil
}

func (c *Client) queryMark(ctx context.Context, server, name string, out *dnsctl.Answer) error {
	l, err := c.look(ctx, server, dnsctl.MarkName(name), dns.TypeTXT)
	if err != nil {
		return err
	}
	switch {
	case l.alias != "":
		out.Foreign = short("alias of " + l.alias)
	case len(l.texts) == 1:
		if out.Mark, err = dnsctl.ParseMark(l.texts[0]); err != nil {
			out.Foreign = short(l.texts[0])
		}
	case len(l.texts) > 1:
		out.Foreign = short(strings.Join(l.texts, " | "))
	}
	return nil
}

func (c *Client) queryExternal(ctx context.Context, zone dnsctl.Zone, server, name string) (string, error) {
	for i, at := range dnsctl.ExternalNames(zone, name) {
		l, err := c.look(ctx, server, at, dns.TypeTXT)
		if err != nil {
			return "", err
		}
		for _, text := range l.texts {
			if _, ok := dnsctl.ParseExternal(text); ok {
				return short(text), nil
			}
			if i > 0 && dnsctl.MaybeEncrypted(text) {
				return "a text at " + at + " that may be an encrypted one of its own", nil
			}
		}
	}
	return "", nil
}

func short(text string) string {
	if text == "" {
		return "an empty text"
	}
	if len(text) > maxForeign {
		return strings.ToValidUTF8(text[:maxForeign], "") + "..."
	}
	return text
}

// looked is what one server says of one name and type.
type looked struct {
	set   dnsctl.RRset
	texts []string
	alias string
	// aliasTTL in seconds.
	aliasTTL uint32
}

// look asks one question and takes only an authoritative answer to it.
func (c *Client) look(ctx context.Context, server, name string, kind uint16) (looked, error) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), kind)
	m.RecursionDesired = false
	reply, err := c.ask(ctx, server, m)
	if err == nil {
		err = acceptable(m, reply)
	}
	var out looked
	if err == nil {
		out, err = read(reply, dns.CanonicalName(name))
	}
	if err != nil {
		return looked{}, fmt.Errorf("query of %s %s at %s: %w", name, dns.TypeToString[kind], server, err)
	}
	return out, nil
}

// acceptable refuses a reply that proves nothing about the question.
func acceptable(asked, reply *dns.Msg) error {
	switch {
	case !reply.Response || reply.Opcode != dns.OpcodeQuery || reply.Id != asked.Id:
		return errors.New("the reply belongs to no question of ours")
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return fmt.Errorf("the server says %s: check that it serves the zone and lets the controller ask", dns.RcodeToString[reply.Rcode])
	case len(reply.Question) != 1 || !sameQuestion(asked.Question[0], reply.Question[0]):
		return errors.New("the reply answers another question")
	case !reply.Authoritative:
		return errors.New("the server is not authoritative for the name (no AA): a resolver, or a delegated sub-zone")
	case reply.Truncated:
		return errors.New("the reply is cut even over TCP")
	}
	return nil
}

func sameQuestion(a, b dns.Question) bool {
	return a.Qtype == b.Qtype && a.Qclass == b.Qclass && dns.CanonicalName(a.Name) == dns.CanonicalName(b.Name)
}

// read takes the records of name. Records of other names are taken only as the chain behind an alias, which is not
// followed here.
func read(reply *dns.Msg, name string) (looked, error) {
	var out looked
	for _, rr := range reply.Answer {
		if c, ok := rr.(*dns.CNAME); ok && dns.CanonicalName(c.Hdr.Name) == name {
			out.alias, out.aliasTTL = strings.TrimSuffix(dns.CanonicalName(c.Target), "."), c.Hdr.Ttl
		}
	}
	for _, rr := range reply.Answer {
		own := dns.CanonicalName(rr.Header().Name) == name
		if !own && out.alias == "" {
			return looked{}, fmt.Errorf("the reply answers for another name, %s", rr.Header().Name)
		}
		if !own {
			continue
		}
		if err := out.add(rr); err != nil {
			return looked{}, err
		}
	}
	slices.SortFunc(out.set.Addresses, netip.Addr.Compare)
	out.set.Addresses = slices.Compact(out.set.Addresses)
	slices.Sort(out.texts)
	return out, nil
}

// add takes one record in. Where the TTLs of a set differ (RFC 2181 section 5.2 forbids it) the largest counts, since
// that is how long a cache may hold it.
func (l *looked) add(rr dns.RR) error {
	var raw []byte
	switch r := rr.(type) {
	case *dns.A:
		raw = r.A.To4()
	case *dns.AAAA:
		raw = r.AAAA.To16()
	case *dns.TXT:
		l.texts = append(l.texts, strings.Join(r.Txt, ""))
		return nil
	default:
		return nil
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return fmt.Errorf("the reply holds a malformed %s record", dns.TypeToString[rr.Header().Rrtype])
	}
	l.set.Addresses = append(l.set.Addresses, a)
	l.set.TTL = max(l.set.TTL, rr.Header().Ttl)
	return nil
}
