package rfc2136

import (
	"context"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// Update applies the changes, all of one zone, at the primary, with prerequisites, and reads them back. They go in one
// signed message; only where they do not fit, in as few as hold them, and then each message is applied or not by itself.
// Nothing is sent twice: the caller re-reads and plans before it tries again. Errors are of type *dnsctl.UpdateError.
func (c *Client) Update(ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change) error {
	if len(changes) == 0 {
		return nil
	}
	fail := failure{server: zone.Primary, names: joined(changes)}
	if name, err := refuse(zone, changes); err != nil {
		return failure{server: zone.Primary, names: name}.because(dnsctl.ClassBug, "refused before it was sent", err)
	}
	key, err := c.key(zone)
	if err != nil {
		return fail.because(dnsctl.ClassAuth, "no usable key: check the Secret that DNSZone "+zone.Object+" names", err)
	}
	parts, err := messages(zone, changes)
	if err != nil {
		return fail.because(dnsctl.ClassBug, "the update could not be built", err)
	}
	for _, p := range parts {
		v, err := c.sendSigned(ctx, zone.Primary, p.m, key)
		if err != nil {
			return fail.because(dnsctl.ClassAuth, "no usable previous key: check the Secret that DNSZone "+zone.Object+" names", err)
		}
		fail := failure{server: zone.Primary, names: joined(p.changes)}
		if err := c.conclude(ctx, zone, p.changes, v, fail); err != nil {
			return err
		}
	}
	return nil
}

// sendSigned sends one message. A server that clearly refuses the key has changed nothing, so that the key before it, if
// there is one, may sign the same message.
func (c *Client) sendSigned(ctx context.Context, server string, m *dns.Msg, key Key) (verdict, error) {
	reply, err := c.send(ctx, server, m, key)
	v := judge(m.Id, reply, err)
	if v.done || v.unclear || v.class != dnsctl.ClassAuth || key.Previous == nil {
		return v, nil
	}
	before, err := key.Previous.normal()
	if err != nil {
		return v, err
	}
	reply, err = c.send(ctx, server, m, before)
	if again := judge(m.Id, reply, err); again.done || again.unclear || again.class != dnsctl.ClassAuth {
		return again, nil
	}
	return v, nil
}

func (c *Client) key(zone dnsctl.Zone) (Key, error) {
	if c.options.Keys == nil {
		return Key{}, fmt.Errorf("DNSZone %s has no key", zone.Object)
	}
	k, err := c.options.Keys(zone.Object)
	if err != nil {
		return Key{}, err
	}
	return k.normal()
}

// conclude turns a verdict into the result. Only what the primary answers afterwards is success, and after an outcome
// that proves nothing it also is the only way to tell.
func (c *Client) conclude(ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change, v verdict, fail failure) error {
	switch {
	case v.done:
		return c.verify(ctx, zone, changes, fail)
	case v.unclear:
		seen, err := c.compare(ctx, zone, changes, after)
		if err == nil && seen == "" {
			return nil
		}
		return fail.because(v.class, v.detail+"; "+lookedAt(seen, err), v.err)
	case v.class == dnsctl.ClassChanged:
		return c.explain(ctx, zone, changes, v, fail)
	}
	return fail.because(v.class, v.detail, v.err)
}

// verify reads back value, TTL and mark: servers answer NOERROR and change nothing under a policy, beside an alias, and
// below a zone cut.
func (c *Client) verify(ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change, fail failure) error {
	seen, err := c.compare(ctx, zone, changes, after)
	switch {
	case err != nil:
		return fail.because(dnsctl.ClassRetry, "the server says NOERROR, but the primary could not be read back", err)
	case seen != "":
		return fail.because(dnsctl.ClassRetry,
			"the server says NOERROR, but "+seen+": check update policies, a lowest TTL, views and zone cuts", nil)
	}
	return nil
}

// explain looks which name is not as expected. If all are, no such record exists and a wildcard answers in its place.
func (c *Client) explain(ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change, v verdict, fail failure) error {
	seen, err := c.compare(ctx, zone, changes, before)
	switch {
	case err != nil:
		return fail.because(v.class, v.detail, err)
	case seen == "":
		return fail.because(v.class, v.detail+"; yet the primary answers as expected: "+
			"somebody changed it and back, or a wildcard answers for the name (then move the wildcard itself)", nil)
	}
	return fail.because(v.class, v.detail+"; "+seen, nil)
}

func before(c dnsctl.Change) dnsctl.Answer { return c.Before }

func after(c dnsctl.Change) dnsctl.Answer { return c.After }

// compare asks the primary for every name and tells the first that is not as wanted; empty if all are.
func (c *Client) compare(
	ctx context.Context, zone dnsctl.Zone, changes []dnsctl.Change, want func(dnsctl.Change) dnsctl.Answer,
) (string, error) {
	for _, change := range changes {
		got, err := c.Query(ctx, zone, zone.Primary, change.Name)
		if err != nil {
			return "", err
		}
		w := want(change)
		if !got.Records.Equal(w.Records) || !got.Mark.Equal(w.Mark) || got.Foreign != "" {
			return fmt.Sprintf("%s answers %s, wanted %s", change.Name, said(got), said(w)), nil
		}
	}
	return "", nil
}

// said prints records and mark.
func said(a dnsctl.Answer) string {
	switch {
	case a.Foreign != "":
		return fmt.Sprintf("%s with foreign mark %q", a.Records, a.Foreign)
	case a.Mark.IsZero():
		return a.Records.String() + " without mark"
	}
	return fmt.Sprintf("%s with mark of %s, sequence %d", a.Records, a.Mark.Owner, a.Mark.Sequence)
}

func lookedAt(seen string, err error) string {
	if err != nil {
		return "and the primary could not be read back: " + err.Error()
	}
	return "read back: " + seen
}

// joined names the names, of many the first few.
func joined(changes []dnsctl.Change) string {
	const most = 5
	names := make([]string, 0, most+1)
	for i, c := range changes {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(changes)-most))
			break
		}
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// failure knows where an update went.
type failure struct{ server, names string }

func (f failure) because(class dnsctl.Class, detail string, err error) error {
	return &dnsctl.UpdateError{Class: class, Server: f.server, Name: f.names, Detail: detail, Err: err}
}
