package traffic

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// HeldKind is what is spoken on held connections.
type HeldKind string

// The kinds of held connections. WebSocket asks for /ws; HeldTCP speaks the line protocol.
const (
	WebSocket HeldKind = "websocket"
	HeldTCP   HeldKind = "tcp"
)

// channel is a connection that can exchange a message for its echo.
type channel interface {
	exchange() error
	// finish ends it as its protocol wants.
	finish()
}

// held is one connection that the client keeps.
type held struct {
	conn    net.Conn
	channel channel
	end     chan struct{}
	once    sync.Once
	done    chan struct{}
}

func (h *held) address() string { return host(h.conn.RemoteAddr().String()) }

// holder keeps connections open and counts what becomes of them.
type holder struct {
	requester
	heldKind HeldKind
	every    time.Duration

	mu      sync.Mutex
	stopped bool
	open    map[*held]bool
	counts  HeldStats
}

var errStopped = errors.New("the client has stopped: start another one")

// hold opens n more, one after the other, up to the first that cannot be opened.
func (s *holder) hold(ctx context.Context, n int) error {
	for i := range n {
		if err := s.add(ctx); err != nil {
			s.failed(err)
			return fmt.Errorf("opened %d of %d connections to hold: %w", i, n, err)
		}
	}
	return nil
}

func (s *holder) failed(err error) {
	if errors.Is(err, errStopped) {
		return // asked too late, which says nothing about the path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Failed++
	s.counts.LastFailure = err.Error()
}

func (s *holder) add(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	address, err := s.resolver.first(ctx)
	if err != nil {
		return err
	}
	conn, err := s.connect(ctx, address)
	if err != nil {
		return err
	}
	c, err := s.channelOver(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return err
	}
	return s.adopt(&held{conn: conn, channel: c, end: make(chan struct{}), done: make(chan struct{})})
}

// channelOver makes a channel of a connection.
func (s *holder) channelOver(ctx context.Context, conn net.Conn) (channel, error) {
	switch s.heldKind {
	case WebSocket:
		return dialWebSocket(ctx, conn, "ws://"+s.authority()+"/ws", s.timeout)
	case HeldTCP:
		return &lines{conn: conn, from: bufio.NewReader(conn), timeout: s.timeout}, nil
	}
	return nil, fmt.Errorf("--held-kind %q: give websocket or tcp", s.heldKind)
}

func (s *holder) adopt(h *held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		h.channel.finish()
		return errStopped
	}
	s.open[h] = true
	go s.keep(h)
	return nil
}

// keep exchanges a message at once and at every interval, and a last one before the end: what was cut unseen between two
// messages must not pass for ended.
func (s *holder) keep(h *held) {
	defer close(h.done)
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for ending := false; ; {
		if err := h.channel.exchange(); err != nil {
			s.cut(h, err)
			return
		}
		s.exchanged()
		if ending {
			s.ended(h)
			return
		}
		select {
		case <-tick.C:
		case <-h.end:
			ending = true
		}
	}
}

func (s *holder) exchanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Exchanges++
}

func (s *holder) cut(h *held, err error) {
	_ = h.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, h)
	s.counts.Cut++
	if len(s.counts.CutList) < maxDetailed {
		s.counts.CutList = append(s.counts.CutList, Cut{
			Time: time.Now(), Local: h.conn.LocalAddr().String(), Remote: h.conn.RemoteAddr().String(), Error: err.Error(),
		})
	}
}

func (s *holder) ended(h *held) {
	h.channel.finish()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, h)
	s.counts.Ended++
}

// release ends the connections to an address, or all for an empty one, and waits for them.
func (s *holder) release(address string) {
	s.mu.Lock()
	var mine []*held
	for h := range s.open {
		if address == "" || h.address() == address {
			mine = append(mine, h)
		}
	}
	s.mu.Unlock()
	for _, h := range mine {
		h.once.Do(func() { close(h.end) })
	}
	for _, h := range mine {
		<-h.done
	}
}

// stop ends all and lets no further one in.
func (s *holder) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.release("")
}

func (s *holder) stats() HeldStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.counts
	out.Open = int64(len(s.open))
	out.CutList = append([]Cut{}, s.counts.CutList...)
	out.PerAddress = map[string]int64{}
	for h := range maps.Keys(s.open) {
		out.PerAddress[h.address()]++
	}
	return out
}

// lines is the line protocol over TCP.
type lines struct {
	conn    net.Conn
	from    *bufio.Reader
	timeout time.Duration
}

func (l *lines) exchange() error {
	if err := l.conn.SetDeadline(time.Now().Add(l.timeout)); err != nil {
		return err
	}
	_, err := line(l.conn, l.from)
	return err
}

func (l *lines) finish() { _ = l.conn.Close() }

// socket is a WebSocket.
type socket struct {
	conn    *websocket.Conn
	timeout time.Duration
}

// dialWebSocket upgrades a connection that is there already.
func dialWebSocket(ctx context.Context, conn net.Conn, url string, timeout time.Duration) (*socket, error) {
	d := websocket.Dialer{
		NetDialContext:   func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		HandshakeTimeout: timeout,
	}
	ws, res, err := d.DialContext(ctx, url, nil)
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%w: status %d", err, res.StatusCode)
		}
		return nil, err
	}
	ws.SetReadLimit(maxReply)
	return &socket{conn: ws, timeout: timeout}, nil
}

func (s *socket) exchange() error {
	deadline := time.Now().Add(s.timeout)
	if err := errors.Join(s.conn.SetWriteDeadline(deadline), s.conn.SetReadDeadline(deadline)); err != nil {
		return err
	}
	nonce := rand.Text()
	if err := s.conn.WriteMessage(websocket.TextMessage, []byte(nonce)); err != nil {
		return err
	}
	_, text, err := s.conn.ReadMessage()
	if err != nil {
		return err
	}
	_, err = echoed(string(text), nonce)
	return err
}

func (s *socket) finish() {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(s.timeout))
	_ = s.conn.Close()
}
