package traffic

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

// Kind of the requests.
type Kind string

// The kinds. A valid reply is, for HTTP, status 200 and the JSON of the backend with the host that was asked for; for TCP
// and UDP a line, or datagram, that ends with the nonce that was sent.
const (
	HTTP Kind = "http"
	TCP  Kind = "tcp"
	UDP  Kind = "udp"
)

// maxReply bounds what is read of one reply, in bytes.
const maxReply = 64 << 10

// requester makes one request after the other of one kind; it keeps nothing between them.
type requester struct {
	resolver resolver
	kind     Kind
	name     string
	port     uint16
	path     string
	timeout  time.Duration
}

// do makes one request: one question, one connect, one exchange, all within the timeout.
func (r requester) do(ctx context.Context) outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var o outcome
	o.class, o.err = r.try(ctx, &o)
	o.at = time.Now()
	if o.took = o.at.Sub(began); o.class == "" && o.took > r.timeout {
		o.class, o.err = Timeout, fmt.Errorf("a valid reply came after %s", o.took)
	}
	return o
}

// try fills in what it learns and says how the request was lost, if it was.
func (r requester) try(ctx context.Context, o *outcome) (Class, error) {
	address, err := r.resolver.first(ctx)
	if err != nil {
		return DNS, err
	}
	o.address = address.String()
	conn, err := r.connect(ctx, address)
	if err != nil {
		return Connect, err
	}
	defer func() { _ = conn.Close() }()
	reply, err := r.exchange(conn)
	if err != nil {
		return classify(err), err
	}
	o.source, o.forwarded = host(reply.Client), reply.ForwardedFor
	return "", nil
}

// connect makes one attempt; the connection ends with the context's deadline.
func (r requester) connect(ctx context.Context, address netip.Addr) (net.Conn, error) {
	network := "tcp"
	if r.kind == UDP {
		network = "udp"
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, netip.AddrPortFrom(address, r.port).String())
	if err != nil {
		return nil, err
	}
	return conn, within(ctx, conn)
}

// within gives a connection the deadline of a context.
func within(ctx context.Context, conn net.Conn) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	return conn.SetDeadline(deadline)
}

func (r requester) exchange(conn net.Conn) (Reply, error) {
	switch r.kind {
	case HTTP:
		return r.get(conn)
	case TCP:
		return line(conn, bufio.NewReader(conn))
	case UDP:
		return datagram(conn)
	}
	return Reply{}, fmt.Errorf("--kind %q: give http, tcp or udp", r.kind)
}

// get writes the request itself: net/http's transport would be free to try again.
func (r requester) get(conn net.Conn) (Reply, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+r.authority()+r.path, nil)
	if err != nil {
		return Reply{}, err
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return Reply{}, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if res.StatusCode != http.StatusOK {
		return Reply{}, &invalid{class: Status, text: fmt.Sprintf("status %d: %.200q", res.StatusCode, text)}
	}
	if err != nil {
		return Reply{}, err
	}
	return r.valid(text)
}

func (r requester) valid(text []byte) (Reply, error) {
	var reply Reply
	if err := json.Unmarshal(text, &reply); err != nil {
		return Reply{}, &invalid{class: Body, text: fmt.Sprintf("no JSON of a backend: %.200q", text)}
	}
	if !strings.EqualFold(host(reply.Host), r.name) {
		return Reply{}, &invalid{class: Body, text: fmt.Sprintf("asked for %s, the backend saw %.200q", r.name, reply.Host)}
	}
	return reply, nil
}

// authority is the name as a browser would write it into the Host header.
func (r requester) authority() string {
	if r.port == 80 {
		return r.name
	}
	return fmt.Sprintf("%s:%d", r.name, r.port)
}

// line sends a line and reads its answer.
func line(conn net.Conn, from *bufio.Reader) (Reply, error) {
	nonce := rand.Text()
	if _, err := io.WriteString(conn, nonce+"\n"); err != nil {
		return Reply{}, err
	}
	text, err := from.ReadSlice('\n') // a line longer than the buffer is an error
	if err != nil {
		return Reply{}, err
	}
	return echoed(strings.TrimSuffix(string(text), "\n"), nonce)
}

func datagram(conn net.Conn) (Reply, error) {
	nonce := rand.Text()
	if _, err := io.WriteString(conn, nonce); err != nil {
		return Reply{}, err
	}
	buffer := make([]byte, maxReply)
	n, err := conn.Read(buffer)
	if err != nil {
		return Reply{}, err
	}
	return echoed(string(buffer[:n]), nonce)
}

// echoed reads "POD CLIENT NONCE".
func echoed(text, nonce string) (Reply, error) {
	words := strings.Split(text, " ")
	if len(words) != 3 || words[2] != nonce {
		return Reply{}, &invalid{class: Body, text: fmt.Sprintf("sent %s, got %.200q", nonce, text)}
	}
	return Reply{Pod: words[0], Client: words[1]}, nil
}

// invalid is a whole reply that is not a valid one.
type invalid struct {
	class Class
	text  string
}

func (e *invalid) Error() string { return e.text }

// classify tells how an exchange on a connection failed.
func classify(err error) Class {
	var reply *invalid
	var slow net.Error
	switch {
	case errors.As(err, &reply):
		return reply.class
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return Timeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Connect // UDP learns from ICMP that nobody is there
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	}
	return Body
}

// host is an authority without its port.
func host(authority string) string {
	if h, _, err := net.SplitHostPort(authority); err == nil {
		return h
	}
	return authority
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return binary.BigEndian.Uint64(b[:])
}
