package rfc2136_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

// liar is a server whose every reply a test can bend: query bends replies to queries, update those to updates.
type liar struct {
	query, update func(w dns.ResponseWriter, reply *dns.Msg)
	// state is what it answers for www until an update arrives, and then after.
	applied atomic.Bool
	apply   bool
}

func (l *liar) ServeDNS(w dns.ResponseWriter, asked *dns.Msg) {
	reply := new(dns.Msg)
	reply.SetReply(asked)
	if asked.Opcode == dns.OpcodeUpdate {
		l.applied.Store(l.apply)
		l.update(w, reply)
		return
	}
	reply.Authoritative = true
	if asked.RecursionDesired || asked.IsTsig() != nil {
		reply.Rcode = dns.RcodeRefused
	}
	state := home()
	if l.applied.Load() {
		state = there()
	}
	q := asked.Question[0]
	switch {
	case q.Qtype == dns.TypeA && q.Name == www+".":
		for _, a := range state.Records.A.Addresses {
			hdr := dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: state.Records.A.TTL}
			reply.Answer = append(reply.Answer, &dns.A{Hdr: hdr, A: a.AsSlice()})
		}
	case q.Qtype == dns.TypeTXT && q.Name == dnsctl.MarkName(www)+"." && l.applied.Load():
		text, _ := dnsctl.EncodeMark(state.Mark)
		hdr := dns.RR_Header{Name: q.Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 30}
		reply.Answer = append(reply.Answer, &dns.TXT{Hdr: hdr, Txt: []string{text}})
	}
	l.query(w, reply)
}

func honest(w dns.ResponseWriter, reply *dns.Msg) { _ = w.WriteMsg(reply) }

// signed signs a reply as the key's holder would, whatever its rcode.
func signed(rcode int) func(dns.ResponseWriter, *dns.Msg) {
	return func(w dns.ResponseWriter, reply *dns.Msg) {
		reply.Rcode = rcode
		reply.SetTsig("offramp-test.", dns.HmacSHA256, 300, time.Now().Unix())
		_ = w.WriteMsg(reply)
	}
}

func unsigned(rcode int) func(dns.ResponseWriter, *dns.Msg) {
	return func(w dns.ResponseWriter, reply *dns.Msg) {
		reply.Rcode = rcode
		_ = w.WriteMsg(reply)
	}
}

func silent(w dns.ResponseWriter, _ *dns.Msg) { _ = w.Close() }

func otherID(w dns.ResponseWriter, reply *dns.Msg) {
	reply.Id++
	honest(w, reply)
}

func ofAQuery(w dns.ResponseWriter, reply *dns.Msg) {
	reply.Opcode = dns.OpcodeQuery
	signed(dns.RcodeSuccess)(w, reply)
}

func echo(w dns.ResponseWriter, reply *dns.Msg) {
	reply.Response = false
	signed(dns.RcodeSuccess)(w, reply)
}

func forged(w dns.ResponseWriter, reply *dns.Msg) {
	reply.SetTsig("offramp-test.", dns.HmacSHA256, 300, time.Now().Unix())
	raw, _, err := dns.TsigGenerate(reply, "Zm9yZ2VkIGZvcmdlZCBmb3JnZWQgZm9yZ2Vk", "", false)
	if err == nil {
		_, _ = w.Write(raw)
	}
}

// listen serves TCP and UDP on one port of the loopback until the test ends.
func (l *liar) listen(t *testing.T) string {
	t.Helper()
	if l.query == nil {
		l.query = honest
	}
	if l.update == nil {
		l.update = signed(dns.RcodeSuccess)
	}
	at, err := bindtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	accept := func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }
	secret := map[string]string{"offramp-test.": bindtest.DefaultKey().Secret}
	for _, s := range []*dns.Server{
		{Listener: tcp, Handler: l, MsgAcceptFunc: accept, TsigSecret: secret},
		{PacketConn: udp, Handler: l, MsgAcceptFunc: accept, TsigSecret: secret},
	} {
		ready := make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }
		go func() { _ = s.ActivateAndServe() }()
		<-ready
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return at
}

func quick(o *rfc2136.Options) {
	o.QueryTimeout, o.UpdateTimeout = 2*time.Second, 2*time.Second
}

func TestEveryReplyToAnUpdateHasItsVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		update func(dns.ResponseWriter, *dns.Msg)
		apply  bool
		class  dnsctl.Class // empty: success
		says   string
	}{
		"a signed NOERROR that is so is success":              {update: signed(dns.RcodeSuccess), apply: true},
		"a signed NOERROR that changed nothing is none":       {update: signed(dns.RcodeSuccess), class: dnsctl.ClassRetry, says: "NOERROR, but www."},
		"an unsigned NOERROR that changed nothing is a fraud": {update: unsigned(dns.RcodeSuccess), class: dnsctl.ClassAuth, says: "not signed"},
		"an unsigned NOERROR is settled by reading back":      {update: unsigned(dns.RcodeSuccess), apply: true},
		"a forged signature is settled by reading back":       {update: forged, apply: true},
		"a forged signature on nothing is a failure":          {update: forged, class: dnsctl.ClassAuth, says: "signature"},
		"a lost reply is settled by reading back":             {update: silent, apply: true},
		"a lost reply to a lost update is tried again":        {update: silent, class: dnsctl.ClassRetry, says: "read back"},
		"an unsigned NXRRSET proves nothing":                  {update: unsigned(dns.RcodeNXRrset), class: dnsctl.ClassAuth, says: "not signed"},
		"a signed NXRRSET says that somebody changed it":      {update: signed(dns.RcodeNXRrset), class: dnsctl.ClassChanged},
		"a signed YXRRSET says that somebody changed it":      {update: signed(dns.RcodeYXRrset), class: dnsctl.ClassChanged},
		"a signed NXDOMAIN says that somebody changed it":     {update: signed(dns.RcodeNameError), class: dnsctl.ClassChanged},
		"a signed YXDOMAIN says that somebody changed it":     {update: signed(dns.RcodeYXDomain), class: dnsctl.ClassChanged},
		"a signed NOTAUTH is about the zone":                  {update: signed(dns.RcodeNotAuth), class: dnsctl.ClassZone, says: "primary"},
		"an unsigned NOTAUTH is about the key":                {update: unsigned(dns.RcodeNotAuth), class: dnsctl.ClassAuth},
		"an unsigned REFUSED is about the key":                {update: unsigned(dns.RcodeRefused), class: dnsctl.ClassAuth},
		"a signed REFUSED is about the key or a policy":       {update: signed(dns.RcodeRefused), class: dnsctl.ClassAuth},
		"a NOTZONE is our bug":                                {update: signed(dns.RcodeNotZone), class: dnsctl.ClassBug},
		"a FORMERR is our bug":                                {update: unsigned(dns.RcodeFormatError), class: dnsctl.ClassBug},
		"a signed SERVFAIL is tried again":                    {update: signed(dns.RcodeServerFailure), class: dnsctl.ClassRetry},
		"an unsigned SERVFAIL is tried again":                 {update: unsigned(dns.RcodeServerFailure), class: dnsctl.ClassRetry},
		"a reply with another id proves nothing":              {class: dnsctl.ClassRetry, update: otherID},
		"a reply to a query proves nothing about an update":   {class: dnsctl.ClassRetry, says: "no update of ours", update: ofAQuery},
		"an echo of the request proves nothing":               {class: dnsctl.ClassRetry, says: "no update of ours", update: echo},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := (&liar{update: tt.update, apply: tt.apply}).listen(t)
			err := client(keyOf(bindtest.DefaultKey()), quick).Update(t.Context(), zoneAt(address), move())
			if tt.class == "" {
				if err != nil {
					t.Fatalf("got %v, want success", err)
				}
				return
			}
			if got := classOf(t, err); got != tt.class {
				t.Errorf("class %s, want %s: %v", got, tt.class, err)
			}
			contains(t, err.Error(), tt.says, www, address)
		})
	}
}

func TestNoReplyButAnAuthoritativeOneToTheQuestionIsAnAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query func(dns.ResponseWriter, *dns.Msg)
		says  string
	}{
		"another id": {query: func(w dns.ResponseWriter, r *dns.Msg) { r.Id++; honest(w, r) }},
		"another question": {says: "another question", query: func(w dns.ResponseWriter, r *dns.Msg) {
			r.Question[0].Name = "evil.example.test."
			honest(w, r)
		}},
		"another type in the question": {says: "another question", query: func(w dns.ResponseWriter, r *dns.Msg) {
			r.Question[0].Qtype = dns.TypeMX
			honest(w, r)
		}},
		"no question": {says: "another question", query: func(w dns.ResponseWriter, r *dns.Msg) {
			r.Question = nil
			honest(w, r)
		}},
		"records of another name": {says: "another name", query: func(w dns.ResponseWriter, r *dns.Msg) {
			for _, rr := range r.Answer {
				rr.Header().Name = "evil.example.test."
			}
			honest(w, r)
		}},
		"no authority":     {says: "no AA", query: func(w dns.ResponseWriter, r *dns.Msg) { r.Authoritative = false; honest(w, r) }},
		"no response":      {says: "no question of ours", query: func(w dns.ResponseWriter, r *dns.Msg) { r.Response = false; honest(w, r) }},
		"SERVFAIL":         {says: "SERVFAIL", query: unsigned(dns.RcodeServerFailure)},
		"REFUSED":          {says: "REFUSED", query: unsigned(dns.RcodeRefused)},
		"NOTAUTH":          {query: unsigned(dns.RcodeNotAuth)},
		"cut over TCP too": {says: "cut", query: func(w dns.ResponseWriter, r *dns.Msg) { r.Truncated = true; honest(w, r) }},
		"garbage":          {query: func(w dns.ResponseWriter, _ *dns.Msg) { _, _ = w.Write([]byte("no DNS message at all")) }},
		"nothing":          {query: silent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := (&liar{query: tt.query}).listen(t)
			got, err := client(rfc2136.Key{}, func(o *rfc2136.Options) { o.QueryTimeout = 300 * time.Millisecond }).
				Query(t.Context(), zoneAt(address), address, www)
			if err == nil {
				t.Fatalf("got %+v, want an error", got)
			}
			contains(t, err.Error(), tt.says, www, address)
		})
	}
}

func TestARacingReplyWithAnotherIDOverUDPIsPassedOver(t *testing.T) {
	t.Parallel()
	address := (&liar{query: func(w dns.ResponseWriter, r *dns.Msg) {
		spoof := r.Copy()
		spoof.Id++
		spoof.Answer = nil
		honest(w, spoof)
		honest(w, r)
	}}).listen(t)
	got, err := client(rfc2136.Key{}).Query(t.Context(), zoneAt(address), address, www)
	if err != nil || !got.Records.Equal(home().Records) {
		t.Fatalf("got %s (%v), want %s", got.Records, err, home().Records)
	}
}

func TestAnUnreachablePrimaryIsTriedAgain(t *testing.T) {
	t.Parallel()
	err := client(keyOf(bindtest.DefaultKey()), quick).Update(t.Context(), zoneAt("127.0.0.1:1"), move())
	if got := classOf(t, err); got != dnsctl.ClassRetry {
		t.Fatalf("class %s, want %s: %v", got, dnsctl.ClassRetry, err)
	}
	contains(t, err.Error(), "cannot be reached")
}

func TestWithoutAUsableKeyNothingIsSent(t *testing.T) {
	t.Parallel()
	sent := errors.New("no key in Secret dns-key")
	for name, keys := range map[string]func(string) (rfc2136.Key, error){
		"no lookup at all":    nil,
		"a lookup that fails": func(string) (rfc2136.Key, error) { return rfc2136.Key{}, sent },
		"an empty key":        func(string) (rfc2136.Key, error) { return rfc2136.Key{}, nil },
		"an algorithm too weak": func(string) (rfc2136.Key, error) {
			return rfc2136.Key{Name: "k", Algorithm: "hmac-md5", Secret: "YQ=="}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{apply: true}
			address := l.listen(t)
			err := rfc2136.New(rfc2136.Options{Keys: keys}).Update(t.Context(), zoneAt(address), move())
			if got := classOf(t, err); got != dnsctl.ClassAuth || l.applied.Load() {
				t.Fatalf("class %s, want %s; sent: %v", got, dnsctl.ClassAuth, l.applied.Load())
			}
		})
	}
}
