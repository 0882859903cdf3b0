package agent

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/mdlayher/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	// eventBuffer is how much the kernel may queue for us, in bytes; more is lost, and a gap.
	eventBuffer = 16 << 20
	// maxEvents is how many events are kept between two sweeps; more is a gap too.
	maxEvents = 1 << 17
	// eventSwitch turns events off for the whole node where it is 0.
	eventSwitch = "/proc/sys/net/netfilter/nf_conntrack_events"
)

// Events listens to what conntrack begins and ends. It is made with Listen and is safe for concurrent use.
type Events struct {
	conn *netlink.Conn
	mu   sync.Mutex
	// watched is what is kept; nothing of what came before it was set.
	watched map[Tuple]bool
	events  []Event
	lost    string
	ended   error
}

// Listen begins to listen in the network namespace of the caller, with a buffer of that many bytes. It needs
// CAP_NET_ADMIN.
func Listen(buffer int) (*Events, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the socket of conntrack events: %w", err)
	}
	// Both groups before anything is read: an end without its begin would be misread.
	err = errors.Join(conn.SetReadBuffer(buffer), conn.JoinGroup(unix.NFNLGRP_CONNTRACK_NEW), conn.JoinGroup(unix.NFNLGRP_CONNTRACK_DESTROY))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening to conntrack events (needs CAP_NET_ADMIN): %w", err), conn.Close())
	}
	e := &Events{conn: conn}
	go e.run()
	return e, nil
}

// eventsOn fails where the node sends no events at all: then silence means nothing.
func eventsOn() error {
	text, err := os.ReadFile(eventSwitch)
	if err != nil {
		return fmt.Errorf("conntrack events: %w", err)
	}
	if strings.TrimSpace(string(text)) == "0" {
		return errors.New("conntrack events are off: set the sysctl net.netfilter.nf_conntrack_events to 1 or 2")
	}
	return nil
}

// Close ends listening.
func (e *Events) Close() error { return e.conn.Close() }

// Watch says what is kept from now on. After an error it is not known what comes.
func (e *Events) Watch(watched map[Tuple]bool) error {
	e.mu.Lock()
	before := e.watched
	e.watched = watched
	e.mu.Unlock()
	if before != nil && maps.Equal(addressesOf(before), addressesOf(watched)) {
		return nil
	}
	return e.filter(watched)
}

// filter lets the kernel drop the events of others.
func (e *Events) filter(watched map[Tuple]bool) error {
	program := eventFilter(watched)
	if program == nil {
		// One that lets everything through: there is not always another to remove.
		program = []bpf.Instruction{bpf.RetConstant{Val: letThrough}}
	}
	raw, err := bpf.Assemble(program)
	if err == nil {
		err = e.conn.SetBPF(raw)
	}
	if err != nil {
		return fmt.Errorf("filtering conntrack events: %w", err)
	}
	return nil
}

// Take gives what came since the last time, and why it is not everything; "" if it is. An error is the end of listening.
func (e *Events) Take() ([]Event, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	events, lost := e.events, e.lost
	e.events, e.lost = nil, ""
	return events, lost, e.ended
}

func (e *Events) run() {
	for e.receive() {
	}
}

// receive takes one datagram in; false after the last one.
func (e *Events) receive() bool {
	messages, err := e.conn.Receive()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(err, unix.ENOBUFS):
		e.lost = "conntrack events came faster than they were read"
		return true
	case err != nil:
		e.ended = fmt.Errorf("reading conntrack events: %w", err)
		return false
	}
	for i := range messages {
		e.take(&messages[i])
	}
	return true
}

func (e *Events) take(m *netlink.Message) {
	f, ok, err := decode(m.Data, func(t Tuple) bool { return e.watched[t] })
	switch {
	case err != nil:
		e.lost = "a conntrack event could not be read: " + err.Error()
	case !ok:
	case len(e.events) >= maxEvents:
		e.lost = fmt.Sprintf("more than %d conntrack events between two sweeps", maxEvents)
	default:
		e.events = append(e.events, Event{Flow: f, Ended: m.Header.Type&0xff == ctMsgDelete})
	}
}
