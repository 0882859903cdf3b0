package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"offramp.dev/migration"
)

const (
	// defaultTimeout of a check that names none.
	defaultTimeout = 5 * time.Second
	// maxTimeout holds whatever a check asks for.
	maxTimeout = 30 * time.Second
)

// Dialer runs checks with real sockets. The zero value is ready to use. It dials the literal address and nothing else:
// no name is resolved, no proxy is asked, no redirect is followed. It refuses loopback, link-local, multicast,
// unspecified and metadata addresses (Inconclusive, the detail begins with "refused").
type Dialer struct {
	// AllowLoopback lets checks of loopback addresses through, for tests and rehearsals.
	AllowLoopback bool
	// Now is the clock that Took is read from; nil means time.Now.
	Now func() time.Time
}

var _ Port = Dialer{}

// Probe runs one check and returns within its timeout (default 5 s, at most 30 s) or when ctx ends. A check that ctx
// cut short, or that could not leave this host, is Inconclusive: nothing was learnt about the address.
func (d Dialer) Probe(ctx context.Context, c Check) Result {
	start := d.now()
	var shown migration.Answer
	outcome, detail := d.run(ctx, c, &shown)
	return Result{Check: c, Outcome: outcome, Detail: sentence(detail), Took: d.now().Sub(start), Answer: shown}
}

func (d Dialer) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// sentence keeps a detail short: a server chooses the names in its certificate.
func sentence(detail string) string {
	const most = 512
	if len(detail) <= most {
		return detail
	}
	return strings.ToValidUTF8(detail[:most], "") + "..."
}

func (d Dialer) run(ctx context.Context, c Check, shown *migration.Answer) (Outcome, string) {
	look, known := looks()[c.Kind]
	switch {
	case c.Kind == UDP || c.Kind == SCTP:
		return Inconclusive, fmt.Sprintf("NoReplyProtocol: %s on port %d has no answer that every server gives", c.Kind, c.Port)
	case !known:
		return Inconclusive, fmt.Sprintf("refused: %q is no kind of check", short(string(c.Kind)))
	}
	if err := d.refusal(c); err != nil {
		return Inconclusive, "refused: " + err.Error()
	}
	bounded, cancel := context.WithTimeout(ctx, timeout(c))
	defer cancel()
	detail, err := look(bounded, c, shown)
	if err == nil {
		return Good, detail
	}
	return judgeError(ctx, err)
}

// look asks once, fills in what the server shows, and says in a sentence what it learnt.
type look func(ctx context.Context, c Check, shown *migration.Answer) (string, error)

// looks are the kinds that have an answer.
func looks() map[Kind]look {
	return map[Kind]look{TCP: connect, TLS: handshake, HTTP: get}
}

func timeout(c Check) time.Duration {
	if c.Timeout <= 0 {
		return defaultTimeout
	}
	return min(c.Timeout, maxTimeout)
}

// judgeError tells "the address does not answer" from "this host could not look".
func judgeError(ctx context.Context, err error) (Outcome, string) {
	if ctx.Err() != nil {
		return Inconclusive, "the check was cut short: " + ctx.Err().Error()
	}
	// An unreachable network, a missing source address or socket is this host's own. An unreachable host is not: that is
	// what an address without a neighbour looks like.
	for _, own := range []error{syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.EPERM, syscall.EACCES} {
		if errors.Is(err, own) {
			return Inconclusive, "this host could not look: " + err.Error()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return Failed, "timed out: " + err.Error()
	}
	return Failed, err.Error()
}

func isTimeout(err error) bool {
	var timed net.Error
	return errors.As(err, &timed) && timed.Timeout()
}

// dial opens a connection of the address's own family. The deadline of ctx covers everything that follows.
func dial(ctx context.Context, c Check) (net.Conn, error) {
	address := c.Address.Unmap()
	network := "tcp6"
	if address.Is4() {
		network = "tcp4"
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(address, c.Port).String())
	if err != nil {
		return nil, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// connect proves that something accepts; a close that fails proves nothing against it.
func connect(ctx context.Context, c Check, _ *migration.Answer) (string, error) {
	conn, err := dial(ctx, c)
	if err != nil {
		return "", err
	}
	_ = conn.Close()
	return "connected", nil
}
