package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Config of a client.
type Config struct {
	// Name that is asked for, Port that is connected to, and Path of HTTP requests.
	Name string
	Port uint16
	Path string
	Kind Kind
	// Family is 4 (ask for A) or 6 (ask for AAAA); 0 is 4.
	Family int
	// Resolver is the HOST:PORT that is asked each time.
	Resolver string
	// Rate is requests a second.
	Rate int
	// InFlight is how many requests may be unfinished; a tick beyond is missed. 0 is ten times the rate, twice what the
	// timeout allows at most.
	InFlight int
	// Held is the number of connections opened at the start. HeldKind may be empty for HTTP (websocket) and TCP (tcp).
	Held     int
	HeldKind HeldKind
	// Timeout of a request and of an exchange on a held connection; 0 is the 5 s of the definition of lost.
	Timeout time.Duration
	// Every is the interval of the exchanges on a held connection; 0 is 1 s.
	Every time.Duration
}

// late is how late a request may be sent; beyond, the tick is missed.
const late = time.Second

// Client never stops asking until it is told to.
type Client struct {
	config   Config
	requests requester
	tally    *tally
	holder   *holder
	running  sync.WaitGroup

	once     sync.Once
	stop     chan struct{}
	finished chan struct{}
}

// New checks a configuration; nothing is sent before Run.
func New(c Config) (*Client, error) {
	c = c.filled()
	r, err := newResolver(c.Resolver, c.Name, c.Family)
	if err := errors.Join(err, c.check()); err != nil {
		return nil, err
	}
	req := requester{resolver: r, kind: c.Kind, name: c.Name, port: c.Port, path: c.Path, timeout: c.Timeout}
	return &Client{
		config: c, requests: req, tally: newTally(time.Now()),
		holder: &holder{requester: req, heldKind: c.HeldKind, every: c.Every, open: map[*held]bool{}},
		stop:   make(chan struct{}), finished: make(chan struct{}),
	}, nil
}

func (c Config) filled() Config {
	c.Name = strings.TrimSuffix(c.Name, ".")
	c.Path = cmp.Or(c.Path, "/")
	c.Family = cmp.Or(c.Family, 4)
	c.InFlight = cmp.Or(c.InFlight, 10*c.Rate)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Every = cmp.Or(c.Every, time.Second)
	if c.HeldKind == "" {
		c.HeldKind = map[Kind]HeldKind{HTTP: WebSocket, TCP: HeldTCP}[c.Kind]
	}
	return c
}

func (c Config) check() error {
	var errs []error
	if c.Kind != HTTP && c.Kind != TCP && c.Kind != UDP {
		errs = append(errs, fmt.Errorf("--kind %q: give http, tcp or udp", c.Kind))
	}
	if c.HeldKind != WebSocket && c.HeldKind != HeldTCP && (c.HeldKind != "" || c.Held > 0) {
		errs = append(errs, fmt.Errorf("--held-kind %q: give websocket or tcp", c.HeldKind))
	}
	if c.Port == 0 {
		errs = append(errs, errors.New("--port 0: give 1 to 65535"))
	}
	if c.Rate < 1 || c.Rate > 10000 {
		errs = append(errs, fmt.Errorf("--rate %d: give 1 to 10000 requests a second", c.Rate))
	}
	if c.InFlight < 1 || c.Held < 0 || c.Held > maxHeld {
		errs = append(errs, fmt.Errorf("--in-flight %d, --held %d: give at least 1, and 0 to %d", c.InFlight, c.Held, maxHeld))
	}
	if !strings.HasPrefix(c.Path, "/") {
		errs = append(errs, fmt.Errorf("--path %q: begin with /", c.Path))
	}
	return errors.Join(errs...)
}

// Run sends until Stop or the end of ctx, waits for what is in flight, and ends the held connections.
func (c *Client) Run(ctx context.Context) {
	defer close(c.finished)
	c.running.Go(func() { _ = c.holder.hold(context.WithoutCancel(ctx), c.config.Held) }) // counted as failed
	c.pace(ctx)
	c.running.Wait()
	c.holder.stop()
}

// pace sends at the rate, whatever becomes of the requests. The due times follow from the start, so that it never drifts.
func (c *Client) pace(ctx context.Context) {
	interval := time.Second / time.Duration(c.config.Rate)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; due = due.Add(interval) {
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return
		case <-c.stop:
			return
		case <-timer.C:
			c.tick(context.WithoutCancel(ctx), due)
		}
	}
}

func (c *Client) tick(ctx context.Context, due time.Time) {
	if c.tally.due(time.Since(due)) && c.tally.begin(int64(c.config.InFlight)) {
		c.running.Go(func() { c.tally.end(c.requests.do(ctx)) })
	}
}

// Stats is one look; last > 0 asks for a window of so long, at most ten minutes.
func (c *Client) Stats(last time.Duration) Stats {
	s := c.tally.stats(time.Now(), last)
	s.Held = c.holder.stats()
	return s
}

// Stop ends a running client gracefully and is its last word. It may be called more than once.
func (c *Client) Stop(ctx context.Context) (Stats, error) {
	c.once.Do(func() { close(c.stop) })
	select {
	case <-c.finished:
		return c.Stats(0), nil
	case <-ctx.Done():
		return Stats{}, ctx.Err()
	}
}

// Finished is closed when Run has ended.
func (c *Client) Finished() <-chan struct{} { return c.finished }
