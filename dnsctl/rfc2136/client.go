package rfc2136

import (
	"context"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// Timeouts where Options gives none. An update waits longer: the primary may write it to disk first.
const (
	defaultQueryTimeout  = 2 * time.Second
	defaultUpdateTimeout = 5 * time.Second
)

// fudge in seconds is how far clocks may differ (RFC 8945 section 10 recommends 300).
const fudge = 300

// Options says how to reach servers.
type Options struct {
	// Keys finds the TSIG key of a DNSZone by the object's name. It is asked for every update, so that a rotated key is
	// taken up.
	Keys func(zoneObject string) (Key, error)
	// Now is the clock that signs.
	Now func() time.Time
	// QueryTimeout and UpdateTimeout bound one exchange; 0: 2 s and 5 s.
	QueryTimeout, UpdateTimeout time.Duration
	// TCPOnly never asks over UDP.
	TCPOnly bool
}

// Client is a dnsctl.Port over the network. It holds no connection, remembers only in which order servers answer, and may
// be used by many goroutines.
type Client struct {
	options Options
	orders  orders
}

var _ dnsctl.Port = (*Client)(nil)

// New gives a client.
func New(o Options) *Client {
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = defaultQueryTimeout
	}
	if o.UpdateTimeout <= 0 {
		o.UpdateTimeout = defaultUpdateTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{options: o}
}

// ask sends one query over UDP and, where the reply is cut or lost, over TCP.
func (c *Client) ask(ctx context.Context, server string, m *dns.Msg) (*dns.Msg, error) {
	if !c.options.TCPOnly {
		udp := dns.Client{Net: "udp", Timeout: c.options.QueryTimeout}
		reply, _, err := udp.ExchangeContext(ctx, m.Copy(), server)
		if err == nil && !reply.Truncated {
			return reply, nil
		}
	}
	tcp := dns.Client{Net: "tcp", Timeout: c.options.QueryTimeout}
	reply, _, err := tcp.ExchangeContext(ctx, m.Copy(), server)
	return reply, err
}

// send signs a fresh copy and sends it over TCP: the library strips the signature from what it has sent, and a second
// signature beside the first is malformed.
func (c *Client) send(ctx context.Context, server string, m *dns.Msg, key Key) (*dns.Msg, error) {
	return c.sendAt(ctx, server, m, key, c.options.Now())
}

// sendAt is send, signed at a time.
func (c *Client) sendAt(ctx context.Context, server string, m *dns.Msg, key Key, at time.Time) (*dns.Msg, error) {
	signed := m.Copy()
	signed.SetTsig(key.Name, key.Algorithm, fudge, at.Unix())
	tcp := dns.Client{Net: "tcp", Timeout: c.options.UpdateTimeout, TsigSecret: map[string]string{key.Name: key.Secret}}
	reply, _, err := tcp.ExchangeContext(ctx, signed, server)
	return reply, err
}
