package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

var _ dnsctl.Clocked = (*Client)(nil)

// echoes are how far back in time the questions for a clock are signed: a server that answers each with its very time
// repeats it. Clocks that differ by one of them by chance do not differ by the other.
var echoes = [...]time.Duration{3 * time.Second, 8 * time.Second}

// Skew is how far the primary's clock is ahead of ours, to a second, by what it signs: a signed question for the zone's SOA
// comes back with the time of its signature, and so does the refusal of a clock that is off too far. It shows as well that
// the key is taken. A reply without a signature tells nothing and is an error.
func (c *Client) Skew(ctx context.Context, zone dnsctl.Zone) (time.Duration, error) {
	key, err := c.key(zone)
	if err != nil {
		return 0, err
	}
	for _, back := range echoes {
		skew, err := c.skew(ctx, zone, key, back)
		if err != nil || skew != -back {
			return skew, err
		}
	}
	return 0, dnsctl.ErrNoClock
}

// skew asks once, signing so far back.
func (c *Client) skew(ctx context.Context, zone dnsctl.Zone, key Key, back time.Duration) (time.Duration, error) {
	m := new(dns.Msg)
	m.SetQuestion(apexOf(zone), dns.TypeSOA)
	m.RecursionDesired = false
	now := c.options.Now().Truncate(time.Second)
	reply, err := c.sendAt(ctx, zone.Primary, m, key, now.Add(-back))
	switch {
	case reply == nil:
		return 0, fmt.Errorf("signed query of %s at %s: %w", zone.Apex, zone.Primary, err)
	case reply.IsTsig() == nil:
		return 0, fmt.Errorf("signed query of %s at %s: %s, and the reply is not signed", zone.Apex, zone.Primary, rcodeName(reply.Rcode))
	}
	return skewOf(reply.IsTsig(), now, err)
}

func skewOf(t *dns.TSIG, now time.Time, err error) (time.Duration, error) {
	switch {
	case t.Error == dns.RcodeBadTime && t.OtherLen == 6:
		seconds, err := strconv.ParseInt(t.OtherData, 16, 64)
		return time.Unix(seconds, 0).Sub(now), err
	case t.Error != dns.RcodeSuccess:
		return 0, fmt.Errorf("the server does not take the key: TSIG error %s", rcodeName(int(t.Error)))
	case err != nil && !errors.Is(err, dns.ErrTime):
		return 0, err
	case t.TimeSigned > math.MaxInt64:
		return 0, errors.New("the reply is signed at no time")
	}
	return time.Unix(int64(t.TimeSigned), 0).Sub(now), nil
}
