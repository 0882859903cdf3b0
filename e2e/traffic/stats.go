package traffic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Class says where a lost request was lost.
type Class string

// The classes. DNS: no address from the resolver. Connect: no connection within what was left of the 5 s, or refused.
// Timeout: connected, but no whole reply in time. Reset: the connection ended before a whole reply. Status: an HTTP status
// other than 200. Body: a reply that is not the answer to this request.
const (
	DNS     Class = "dns"
	Connect Class = "connect"
	Timeout Class = "timeout"
	Reset   Class = "reset"
	Status  Class = "status"
	Body    Class = "body"
)

// maxDetailed is how many lost requests and cut connections are told one by one; all are counted.
const maxDetailed = 1000

// Lost is one lost request.
type Lost struct {
	// Time is when it was given up.
	Time time.Time `json:"time"`
	// Address is the first address answered, empty when there was none.
	Address string `json:"address,omitempty"`
	Class   Class  `json:"class"`
	Error   string `json:"error"`
}

// AddressStats is what became of the requests to one address.
type AddressStats struct {
	Answered int64 `json:"answered"`
	Lost     int64 `json:"lost"`
	// Sources are the client addresses that backends saw, sorted, at most 100: the client's own, or a proxy's or node's.
	Sources []string `json:"sources"`
	// ForwardedFor are the X-Forwarded-For headers that backends saw, sorted, at most 100.
	ForwardedFor []string `json:"forwardedFor,omitempty"`
	// P50 and P99 are milliseconds from the question to the resolver to the valid reply, at most 5 % too high.
	P50 float64 `json:"p50Milliseconds"`
	P99 float64 `json:"p99Milliseconds"`
}

// Cut is one held connection that ended before the client ended it.
type Cut struct {
	Time   time.Time `json:"time"`
	Local  string    `json:"local"`
	Remote string    `json:"remote"`
	Error  string    `json:"error"`
}

// HeldStats is what became of the held connections: opened = open + cut + ended.
type HeldStats struct {
	Open  int64 `json:"open"`
	Cut   int64 `json:"cut"`
	Ended int64 `json:"ended"`
	// Failed counts connections that could not be opened; LastFailure is the error of the last of them.
	Failed      int64  `json:"failed"`
	LastFailure string `json:"lastFailure,omitempty"`
	// Exchanges counts messages that were answered, over all held connections.
	Exchanges int64 `json:"exchanges"`
	// PerAddress is the number of open connections to each address.
	PerAddress map[string]int64 `json:"perAddress"`
	// CutList tells the first 1000.
	CutList []Cut `json:"cutList"`
}

// WindowCount is what became of the requests to one address that were answered or given up within a window.
type WindowCount struct {
	Answered int64 `json:"answered"`
	Lost     int64 `json:"lost"`
}

// Window is the last seconds. Requests that got no address are under the empty one.
type Window struct {
	Seconds    int                    `json:"seconds"`
	PerAddress map[string]WindowCount `json:"perAddress"`
}

// Share is the part of the window's requests with an address that went to this one, 0 to 1, and false when there were none.
func (w Window) Share(address string) (float64, bool) {
	var all int64
	for a, c := range w.PerAddress {
		if a != "" {
			all += c.Answered + c.Lost
		}
	}
	if all == 0 {
		return 0, false
	}
	c := w.PerAddress[address]
	return float64(c.Answered+c.Lost) / float64(all), true
}

// Stats is one consistent look at a client: at every moment Sent = Answered + Lost + InFlight.
type Stats struct {
	Since    time.Time `json:"since"`
	Sent     int64     `json:"sent"`
	Answered int64     `json:"answered"`
	Lost     int64     `json:"lost"`
	InFlight int64     `json:"inFlight"`
	// MissedTicks counts requests that were due and never sent, because the client itself was too slow.
	MissedTicks int64 `json:"missedTicks"`
	// MaxLag is how late a request was sent at most, in milliseconds: where it nears a second, the machine is too busy to
	// tell a slow path from a slow client.
	MaxLag float64 `json:"maxLagMilliseconds"`
	// LostList tells the first 1000; LostByClass counts all.
	LostList []Lost `json:"lostList"`
	// LastLost is the youngest of all, nil if nothing was lost.
	LastLost    *Lost                   `json:"lastLost,omitempty"`
	LostByClass map[Class]int64         `json:"lostByClass"`
	PerAddress  map[string]AddressStats `json:"perAddress"`
	Held        HeldStats               `json:"held"`
	// Window is there when it was asked for.
	Window *Window `json:"window,omitempty"`
}

// Verdict is nil when the client sent all that was due, was answered, and lost and was cut nothing. A client that has
// measured nothing has no good verdict.
func (s Stats) Verdict() error {
	return errors.Join(s.counted(), s.lost(), s.cut())
}

// VerdictButLost is the verdict without what was lost, for who has to judge the losses himself.
func (s Stats) VerdictButLost() error { return errors.Join(s.counted(), s.cut()) }

func (s Stats) counted() error {
	var errs []error
	if s.Answered == 0 {
		errs = append(errs, errors.New("no request was answered: nothing was measured"))
	}
	if s.Sent != s.Answered+s.Lost+s.InFlight {
		errs = append(errs, fmt.Errorf("sent %d is not answered %d + lost %d + in flight %d: do not trust these counts", s.Sent, s.Answered, s.Lost, s.InFlight))
	}
	if s.MissedTicks > 0 {
		errs = append(errs, fmt.Errorf("%d requests were due and never sent: lower --rate or free the machine", s.MissedTicks))
	}
	return errors.Join(errs...)
}

func (s Stats) lost() error {
	if s.Lost == 0 {
		return nil
	}
	var classes []string
	for class, n := range s.LostByClass {
		classes = append(classes, fmt.Sprintf("%d %s", n, class))
	}
	slices.Sort(classes)
	text := fmt.Sprintf("%d of %d requests lost (%s)", s.Lost, s.Sent, strings.Join(classes, ", "))
	if len(s.LostList) > 0 {
		l := s.LostList[0]
		text += fmt.Sprintf(", first at %s to %q: %s", l.Time.Format(time.RFC3339Nano), l.Address, l.Error)
	}
	return errors.New(text)
}

func (s Stats) cut() error {
	var errs []error
	if h := s.Held; h.Cut > 0 {
		text := fmt.Sprintf("%d of %d held connections cut", h.Cut, h.Open+h.Cut+h.Ended)
		if len(h.CutList) > 0 {
			c := h.CutList[0]
			text += fmt.Sprintf(", first at %s from %s to %s: %s", c.Time.Format(time.RFC3339Nano), c.Local, c.Remote, c.Error)
		}
		errs = append(errs, errors.New(text))
	}
	if s.Held.Failed > 0 {
		errs = append(errs, fmt.Errorf("%d connections to hold could not be opened: %s", s.Held.Failed, s.Held.LastFailure))
	}
	return errors.Join(errs...)
}
