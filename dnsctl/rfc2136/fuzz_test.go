package rfc2136

import (
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// FuzzReply gives the client every reply that the library can read. What it takes for an answer is one to the question, and
// what it takes for a success is signed.
func FuzzReply(f *testing.F) {
	for _, m := range badReplies() {
		raw, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)-3]) // cut short
	}
	// A compression pointer to itself, and a pair that point at each other.
	head := "\x00\x2a\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00"
	f.Add([]byte(head + "\xc0\x0c\x00\x01\x00\x01"))
	f.Add([]byte(head + "\xc0\x0e\xc0\x0c\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var reply dns.Msg
		if reply.Unpack(raw) != nil {
			return
		}
		checkAnswer(t, &reply)
		checkVerdict(t, &reply)
	})
}

// badReplies are to question 42: good, of another id, unsigned, cut, of another name, of another opcode.
func badReplies() []*dns.Msg {
	var out []*dns.Msg
	for range 6 {
		m := asked42()
		m.Response, m.Authoritative = true, true
		m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: "www.example.test.", Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 30}, A: []byte{192, 0, 2, 1}})
		out = append(out, m)
	}
	out[1].Id = 43
	out[2].Opcode = dns.OpcodeUpdate
	out[3].Truncated = true
	out[4].Answer[0].Header().Name = "other.example.test."
	out[5].Opcode = dns.OpcodeUpdate
	out[5].SetTsig("key.", dns.HmacSHA256, fudge, 1_900_000_000)
	return out
}

func asked42() *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion("www.example.test.", dns.TypeA)
	m.Id = 42
	return m
}

func checkAnswer(t *testing.T, reply *dns.Msg) {
	t.Helper()
	if acceptable(asked42(), reply) != nil {
		return
	}
	if reply.Id != 42 || !reply.Authoritative || reply.Truncated || len(reply.Question) != 1 {
		t.Fatalf("taken for an answer: %s", reply)
	}
	got, err := read(reply, "www.example.test.")
	if err != nil {
		return
	}
	for _, a := range got.set.Addresses {
		if !a.IsValid() || a.Zone() != "" {
			t.Fatalf("address %v in %s", a, reply)
		}
	}
	if text := short(strings.Join(got.texts, " | ")); len(text) > maxForeign+3 {
		t.Fatalf("a text of %d octets", len(text))
	}
}

func checkVerdict(t *testing.T, reply *dns.Msg) {
	t.Helper()
	v := judge(42, reply, nil)
	signed := reply.IsTsig() != nil
	if v.done && (!signed || reply.Rcode != dns.RcodeSuccess || reply.Id != 42 || reply.Opcode != dns.OpcodeUpdate) {
		t.Fatalf("taken for a success: %s", reply)
	}
	if !v.done && (v.class == "" || v.detail == "") {
		t.Fatalf("no class or detail: %+v of %s", v, reply)
	}
	if signed {
		_, _ = skewOf(reply.IsTsig(), time.Unix(1_900_000_000, 0), nil)
	}
}
