package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// maxQuestions is how many entries are asked for at once: their answers must fit into the buffer of a socket, which
	// counts about 5 KiB for each and holds 208 KiB.
	maxQuestions = 32
	// maxQuestion is at least as long as one question.
	maxQuestion = 160
)

// lookUp gives those of the connections that stand. Unlike a listing it does not depend on how many others there are. An
// answer that does not come is an error: it would read as zero.
func lookUp(wanted map[pair]bool) (out []Flow, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	fd, err := open(unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	q := inquiry{fd: fd, buffer: make([]byte, listBuffer), questions: make([]byte, 0, maxQuestions*maxQuestion)}
	for p := range wanted {
		q.add(p)
		if len(q.pairs) < maxQuestions {
			continue
		}
		if err := q.ask(); err != nil {
			return nil, fmt.Errorf("looking up conntrack entries: %w", err)
		}
	}
	if err := q.ask(); err != nil {
		return nil, fmt.Errorf("looking up conntrack entries: %w", err)
	}
	return q.found, nil
}

// inquiry asks for several entries at once.
type inquiry struct {
	fd                int
	buffer, questions []byte
	// pairs that are asked for; the sequence number of a question is its place here, in whatever round.
	pairs    []pair
	answered int
	found    []Flow
}

// add writes one more question.
func (q *inquiry) add(p pair) {
	begin := len(q.questions)
	q.questions = append(q.questions, make([]byte, unix.NLMSG_HDRLEN)...)
	q.questions = append(q.questions, familyOf(p.tuple.Address), unix.NFNETLINK_V0, 0, 0)
	q.questions = original(q.questions, p)
	header := q.questions[begin:]
	binary.NativeEndian.PutUint32(header, uint32(min(len(header), maxQuestion)))
	binary.NativeEndian.PutUint16(header[4:], unix.NFNL_SUBSYS_CTNETLINK<<8|ctMsgGet)
	binary.NativeEndian.PutUint16(header[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(header[8:], uint32(min(len(q.pairs), maxQuestions)))
	q.pairs = append(q.pairs, p)
}

// original appends the original tuple of an entry, as ctnetlink reads it.
func original(b []byte, p pair) []byte {
	source, destination := uint16(ctaIPv4Src), uint16(ctaIPv4Dst)
	if p.tuple.Address.Is6() {
		source, destination = ctaIPv6Src, ctaIPv6Dst
	}
	return nest(b, ctaTupleOrig, func(b []byte) []byte {
		b = nest(b, ctaTupleIP, func(b []byte) []byte {
			return address(address(b, source, p.client.Addr()), destination, p.tuple.Address)
		})
		return nest(b, ctaTupleProto, func(b []byte) []byte {
			b = attribute(b, ctaProtoNum, protocolNumber(p.tuple.Protocol))
			b = attribute(b, ctaProtoSrcPort, byte(p.client.Port()>>8), byte(p.client.Port()&0xff))
			return attribute(b, ctaProtoDstPort, byte(p.tuple.Port>>8&0xff), byte(p.tuple.Port&0xff))
		})
	})
}

func address(b []byte, kind uint16, addr netip.Addr) []byte {
	return attribute(b, kind, addr.AsSlice()...)
}

// attribute appends an attribute, filled up to a multiple of four bytes.
func attribute(b []byte, kind uint16, value ...byte) []byte {
	return nest(b, kind&^unix.NLA_F_NESTED, func(b []byte) []byte { return append(b, value...) })
}

// nest appends an attribute that inner writes.
func nest(b []byte, kind uint16, inner func([]byte) []byte) []byte {
	begin := len(b)
	b = inner(append(b, 0, 0, 0, 0))
	binary.NativeEndian.PutUint16(b[begin:], uint16((len(b)-begin)&0xffff))
	binary.NativeEndian.PutUint16(b[begin+2:], kind)
	for len(b)%unix.NLA_ALIGNTO != 0 {
		b = append(b, 0)
	}
	return b
}

// ask sends what was written and waits for every answer.
func (q *inquiry) ask() error {
	if len(q.pairs) == 0 {
		return nil
	}
	if err := unix.Sendto(q.fd, q.questions, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("asking the kernel (needs CAP_NET_ADMIN): %w", err)
	}
	for q.answered < len(q.pairs) {
		messages, err := datagram(q.fd, q.buffer)
		if err != nil {
			return err
		}
		for i := range messages {
			if err := q.take(&messages[i]); err != nil {
				return err
			}
		}
	}
	q.questions, q.pairs, q.answered = q.questions[:0], q.pairs[:0], 0
	return nil
}

// take takes one answer: the entry, or that there is none.
func (q *inquiry) take(m *syscall.NetlinkMessage) error {
	if int(m.Header.Seq) >= len(q.pairs) {
		return fmt.Errorf("the kernel answered question %d of %d", m.Header.Seq, len(q.pairs))
	}
	q.answered++
	if m.Header.Type == unix.NLMSG_ERROR {
		if err := failure(m.Data); !errors.Is(err, unix.ENOENT) {
			return errors.Join(err, errors.New("the kernel did not answer a question"))
		}
		return nil
	}
	// An entry whose replies look like the question is another one.
	want := q.pairs[m.Header.Seq]
	f, ok, err := decode(m.Data, func(t Tuple) bool { return t == want.tuple })
	if ok && f.Client == want.client {
		q.found = append(q.found, f)
	}
	return err
}
