package traffic

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Reply is what a backend says of a request. The line, datagram and message protocols carry the first two of it:
// "POD CLIENT MESSAGE".
type Reply struct {
	Pod string `json:"pod"`
	// Client is the ADDRESS:PORT that the backend was asked from.
	Client       string `json:"client"`
	Host         string `json:"host"`
	Path         string `json:"path"`
	ForwardedFor string `json:"forwardedFor"`
}

// noAnswer is what a line, datagram or message gets in mode Fail: it echoes nothing.
const noAnswer = "ERROR"

func (e *Echo) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", e.serveReply)
	mux.HandleFunc("/ws", e.serveWebSocket)
	mux.HandleFunc("/healthz", e.serveHealth)
	return mux
}

func (e *Echo) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /fault", e.faults)
	return mux
}

func (e *Echo) serveHealth(w http.ResponseWriter, r *http.Request) {
	if e.ending.Load() {
		http.Error(w, "ending", http.StatusServiceUnavailable)
		return
	}
	if e.spared(w, r, true) {
		answer(w, e.reply(r))
	}
}

func (e *Echo) serveReply(w http.ResponseWriter, r *http.Request) {
	if e.spared(w, r, false) {
		answer(w, e.reply(r))
	}
}

func (e *Echo) reply(r *http.Request) Reply {
	return Reply{
		Pod: e.config.Pod, Client: r.RemoteAddr, Host: r.Host, Path: r.URL.Path,
		ForwardedFor: strings.Join(r.Header.Values("X-Forwarded-For"), ", "),
	}
}

// spared is whether a request is to be answered; if not, it has met the fault.
func (e *Echo) spared(w http.ResponseWriter, r *http.Request, health bool) bool {
	ctx, cancel := e.until(r.Context())
	defer cancel()
	switch e.faults.meet(ctx, r.Header.Get("X-Forwarded-For") != "", health) {
	case None:
		return true
	case Fail:
		http.Error(w, "told to fail", http.StatusInternalServerError)
	case ResetMode, Hang:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			cutOff(conn)
		}
	}
	return false
}

// until ends with the request or with the backend.
func (e *Echo) until(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (e *Echo) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if !e.spared(w, r, false) {
		return
	}
	upgrader := websocket.Upgrader{HandshakeTimeout: 10 * time.Second, CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	conn.SetReadLimit(maxReply)
	e.work.Add(1)
	defer e.work.Done()
	defer context.AfterFunc(e.ctx, func() {
		bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
		_ = conn.Close()
	})()
	defer func() { _ = conn.Close() }()
	for e.echoMessage(conn, r.Header.Get("X-Forwarded-For") != "") == nil {
		continue
	}
}

var errTold = errors.New("told to end the connection")

func (e *Echo) echoMessage(conn *websocket.Conn, forwarded bool) error {
	kind, message, err := conn.ReadMessage()
	if err != nil {
		return err
	}
	switch e.faults.meet(e.ctx, forwarded, false) {
	case None:
		return conn.WriteMessage(kind, []byte(e.echo(conn.RemoteAddr(), string(message))))
	case Fail:
		return conn.WriteMessage(kind, []byte(noAnswer))
	case ResetMode, Hang:
		cutOff(conn.NetConn())
	}
	return errTold
}

func (e *Echo) echo(client net.Addr, message string) string {
	return e.config.Pod + " " + plain(client) + " " + message
}

// plain spells an IPv4 client of a dual-stack socket as IPv4.
func plain(a net.Addr) string {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()).String()
}

func (e *Echo) serveTCP() {
	for {
		conn, err := e.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, or the peer is gone again
			continue
		}
		e.work.Go(func() { e.echoLines(conn) })
	}
}

func (e *Echo) echoLines(conn net.Conn) {
	// A deadline in the past ends the wait for the next line, not the answer to this one.
	defer context.AfterFunc(e.ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	defer func() { _ = conn.Close() }()
	from := bufio.NewReaderSize(conn, maxReply)
	for {
		text, err := from.ReadSlice('\n')
		if err != nil || e.echoLine(conn, strings.TrimRight(string(text), "\r\n")) != nil {
			return
		}
	}
}

func (e *Echo) echoLine(conn net.Conn, text string) error {
	var err error
	switch e.faults.meet(e.ctx, false, false) {
	case None:
		_, err = io.WriteString(conn, e.echo(conn.RemoteAddr(), text)+"\n")
	case Fail:
		_, err = io.WriteString(conn, noAnswer+"\n")
	case ResetMode, Hang:
		cutOff(conn)
		err = errTold
	}
	return err
}

func (e *Echo) serveUDP() {
	buffer := make([]byte, maxReply)
	for {
		n, from, err := e.udp.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier answer
		}
		text := string(buffer[:n])
		e.work.Go(func() { e.echoDatagram(from, text) })
	}
}

func (e *Echo) echoDatagram(to netip.AddrPort, text string) {
	switch e.faults.meet(e.ctx, false, false) {
	case None:
		_, _ = e.udp.WriteToUDPAddrPort([]byte(e.echo(net.UDPAddrFromAddrPort(to), strings.TrimRight(text, "\r\n"))), to)
	case Fail:
		_, _ = e.udp.WriteToUDPAddrPort([]byte(noAnswer), to)
	case ResetMode, Hang: // a datagram has no connection to reset
	}
}
