package agent

import (
	"errors"
	"log/slog"
	"slices"

	"offramp.dev/api/v1alpha1"
)

// Node measures the node whose network namespace it runs in.
type Node struct {
	Log *slog.Logger

	counters Counters
	events   *Events
	roll     roll
	// drops is what dropped said last, if that is known.
	drops *uint64
	// said is what was logged last of each signal, so that nothing is said in every sweep.
	said map[string]string
}

// Read looks at the three signals. Counters come first, because entries and events explain them.
func (n *Node) Read(watched map[Tuple]bool) Reading {
	var r Reading
	var err error
	if r.Mode, err = proxyMode(); n.good("proxy mode", err) && r.Mode == "" {
		n.say("proxy mode", "no rules of kube-proxy, or those of two modes: give --proxy-mode")
	}
	r.Blind = blindSpots()
	n.press(&r)
	n.count(&r, watched)
	lost, err := n.listen(watched)
	if n.good(string(v1alpha1.SignalEvents), err) {
		n.loss(&r, v1alpha1.GapEvents, lost)
	}
	if n.events != nil {
		n.take(&r, watched)
	}
	n.list(&r, watched)
	slices.Sort(r.Signals)
	if r.Listening, err = listeners(watched); !n.good("listeners", err) {
		r.Listening = nil
	}
	return r
}

// list comes last, so that the events say which connections may stand.
func (n *Node) list(r *Reading, watched map[Tuple]bool) {
	if n.roll.list == nil {
		n.roll = roll{list: entries, lookUp: lookUp}
	}
	flows, lost, err := n.roll.read(r, watched)
	n.loss(r, v1alpha1.GapEvents, lost)
	if n.good(string(v1alpha1.SignalEntries), err) {
		r.Flows, r.Signals = flows, append(r.Signals, v1alpha1.SignalEntries)
	}
}

// press tells whether the table was full since the last look: then entries have gone that did not end.
func (n *Node) press(r *Reading) {
	now, err := dropped()
	if !n.good("conntrack statistics", err) {
		n.drops = nil
		r.Blind = append(r.Blind, v1alpha1.BlindSpot{Reason: v1alpha1.BlindUndetermined, Message: short("conntrack statistics: " + err.Error())})
		return
	}
	if n.drops != nil && now > *n.drops {
		n.loss(r, v1alpha1.GapPressure, "the conntrack table was full: packets or entries were dropped")
	}
	n.drops = &now
}

func (n *Node) count(r *Reading, watched map[Tuple]bool) {
	counts, lost, err := n.counters.Read(watched)
	if !n.good(string(v1alpha1.SignalCounters), err) {
		return
	}
	n.loss(r, v1alpha1.GapCounters, lost)
	r.Counts, r.Signals = counts, append(r.Signals, v1alpha1.SignalCounters)
}

// listen makes sure that somebody listens, and says what they listen for.
func (n *Node) listen(watched map[Tuple]bool) (lost string, err error) {
	if err := eventsOn(); err != nil {
		return "", errors.Join(err, n.hangUp())
	}
	if n.events == nil {
		if n.events, err = Listen(eventBuffer); err != nil {
			n.events = nil
			return "", err
		}
		lost = "began to listen"
	}
	if err := n.events.Watch(watched); err != nil {
		return "", errors.Join(err, n.hangUp())
	}
	return lost, nil
}

// take takes the events in. A socket that has overflowed once drops more without a word until it was empty, so that
// listening begins anew with another one, before the table is listed.
func (n *Node) take(r *Reading, watched map[Tuple]bool) {
	events, lost, err := n.events.Take()
	if lost != "" && err == nil {
		n.loss(r, v1alpha1.GapEvents, lost)
		err = n.hangUp()
		if err == nil {
			_, err = n.listen(watched)
		}
	}
	if !n.good(string(v1alpha1.SignalEvents), err) {
		n.good(string(v1alpha1.SignalEvents), errors.Join(err, n.hangUp()))
		return
	}
	r.Events, r.Signals = events, append(r.Signals, v1alpha1.SignalEvents)
}

func (n *Node) hangUp() error {
	if n.events == nil {
		return nil
	}
	events := n.events
	n.events = nil
	return events.Close()
}

// Close removes what was made on the node.
func (n *Node) Close() error { return errors.Join(n.hangUp(), n.counters.Close()) }

func (n *Node) loss(r *Reading, reason v1alpha1.GapReason, why string) {
	if why == "" {
		return
	}
	n.Log.Warn("Something may have been missed: coverage begins anew", "reason", reason, "why", why)
	r.Losses = append(r.Losses, Loss{reason, why})
}

// good logs an error, once, and its end.
func (n *Node) good(signal string, err error) bool {
	if err == nil {
		n.say(signal, "")
		return true
	}
	n.say(signal, err.Error())
	return false
}

func (n *Node) say(signal, text string) {
	if n.said == nil {
		n.said = map[string]string{}
	}
	if n.said[signal] == text {
		return
	}
	n.said[signal] = text
	if text == "" {
		n.Log.Info("Measured again", "signal", signal)
		return
	}
	n.Log.Error("Cannot be measured, and is left out", "signal", signal, "err", text)
}
