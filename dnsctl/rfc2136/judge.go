package rfc2136

import (
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// verdict is what a reply proves.
type verdict struct {
	// done: a signed NOERROR. unclear: the update may or may not have been applied.
	done, unclear bool
	class         dnsctl.Class
	detail        string
	err           error
}

// judge maps the outcome of an exchange to a verdict: by who signed what, not by rcode alone. The library takes an
// unsigned reply to a signed request for good, and gives up on NOTAUTH before it verifies anything.
func judge(id uint16, reply *dns.Msg, err error) verdict {
	switch {
	case reply == nil:
		return judgeSilence(err)
	case !reply.Response || reply.Opcode != dns.OpcodeUpdate || reply.Id != id:
		return unclear(dnsctl.ClassRetry, "the reply belongs to no update of ours", err)
	case reply.Rcode == dns.RcodeNotAuth:
		return judgeNotAuth(reply)
	case err != nil:
		return unclear(dnsctl.ClassAuth, "the reply's signature is not the key's", err)
	case reply.IsTsig() == nil:
		return judgeUnsigned(reply.Rcode)
	}
	return judgeSigned(reply.Rcode)
}

// judgeSilence tells a connection that never came about from a reply that never came.
func judgeSilence(err error) verdict {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return verdict{class: dnsctl.ClassRetry, detail: "the server cannot be reached over TCP", err: err}
	}
	return unclear(dnsctl.ClassRetry, "no usable reply", err)
}

// judgeNotAuth reads the TSIG error (RFC 8945 section 5.2). Without one, a signature makes it a statement about the
// zone; unsigned it is how some servers refuse a key.
func judgeNotAuth(reply *dns.Msg) verdict {
	tsig := reply.IsTsig()
	switch {
	case tsig == nil:
		return verdict{class: dnsctl.ClassAuth, detail: "NOTAUTH, unsigned: the server does not take the key, or does not serve the zone"}
	case tsig.Error == dns.RcodeBadTime:
		detail := "BADTIME: the clocks differ by more than 5 minutes" + serverTime(tsig) + "; set them by NTP"
		return verdict{class: dnsctl.ClassClock, detail: detail}
	case tsig.Error == dns.RcodeBadKey:
		return verdict{class: dnsctl.ClassAuth, detail: "BADKEY: the server does not know the key's name, or it may not change this zone"}
	case tsig.Error == dns.RcodeBadSig:
		return verdict{class: dnsctl.ClassAuth, detail: "BADSIG: the secret or the algorithm is not the server's"}
	case tsig.Error != dns.RcodeSuccess:
		return verdict{class: dnsctl.ClassAuth, detail: "TSIG error " + strconv.Itoa(int(tsig.Error))}
	}
	return verdict{class: dnsctl.ClassZone, detail: "NOTAUTH: the server does not serve the zone as its primary; check zone and primary"}
}

// serverTime is the server's clock, which BADTIME carries as 48 bits of seconds.
func serverTime(t *dns.TSIG) string {
	seconds, err := strconv.ParseInt(t.OtherData, 16, 64)
	if err != nil || t.OtherLen != 6 {
		return ""
	}
	return " (the server's is at " + time.Unix(seconds, 0).UTC().Format(time.RFC3339) + ")"
}

// judgeUnsigned: an unsigned refusal is taken as one, since it costs nothing; an unsigned success or statement about
// the records proves nothing.
func judgeUnsigned(rcode int) verdict {
	switch rcode {
	case dns.RcodeRefused:
		return verdict{class: dnsctl.ClassAuth, detail: "REFUSED, unsigned: " + refusedHint}
	case dns.RcodeFormatError, dns.RcodeNotImplemented:
		return verdict{class: dnsctl.ClassBug, detail: rcodeName(rcode) + ": the server does not understand the update"}
	case dns.RcodeServerFailure:
		return unclear(dnsctl.ClassRetry, "SERVFAIL, unsigned", nil)
	}
	return unclear(dnsctl.ClassAuth, rcodeName(rcode)+", but the reply is not signed", nil)
}

const refusedHint = "the key may not change this name, the server is no primary, or the zone is frozen"

func judgeSigned(rcode int) verdict {
	switch rcode {
	case dns.RcodeSuccess:
		return verdict{done: true}
	case dns.RcodeRefused:
		return verdict{class: dnsctl.ClassAuth, detail: "REFUSED: " + refusedHint}
	case dns.RcodeNXRrset, dns.RcodeYXRrset, dns.RcodeNameError, dns.RcodeYXDomain:
		return verdict{class: dnsctl.ClassChanged, detail: rcodeName(rcode) + ": the name is not as it was when it was looked at"}
	case dns.RcodeNotZone:
		return verdict{class: dnsctl.ClassBug, detail: "NOTZONE: a name in the update is not in the zone"}
	case dns.RcodeFormatError, dns.RcodeNotImplemented:
		return verdict{class: dnsctl.ClassBug, detail: rcodeName(rcode) + ": the server does not understand the update"}
	}
	return unclear(dnsctl.ClassRetry, rcodeName(rcode), nil)
}

func unclear(class dnsctl.Class, detail string, err error) verdict {
	return verdict{unclear: true, class: class, detail: detail, err: err}
}

func rcodeName(rcode int) string {
	if name, ok := dns.RcodeToString[rcode]; ok {
		return name
	}
	return "rcode " + strconv.Itoa(rcode)
}
