package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// maxHeld bounds one request for held connections.
const maxHeld = 10000

// Handler is the client's control API:
//
//	GET /stats[?last=10s]      Stats, with a Window of the last seconds
//	POST /held?n=20            open n more held connections
//	DELETE /held[?address=IP]  end those to an address, or all, and wait for it
//	POST /stop                 finish what is in flight, end what is held, answer the final Stats
func (c *Client) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", c.serveStats)
	mux.HandleFunc("POST /held", c.serveHold)
	mux.HandleFunc("DELETE /held", c.serveRelease)
	mux.HandleFunc("POST /stop", c.serveStop)
	return mux
}

func (c *Client) serveStats(w http.ResponseWriter, r *http.Request) {
	last, err := parseWindow(r.FormValue("last"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, c.Stats(last))
}

func parseWindow(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	last, err := time.ParseDuration(text)
	if err != nil || last < time.Second || last >= ringSeconds*time.Second || last%time.Second != 0 {
		return 0, fmt.Errorf("last=%.20q: give whole seconds, from 1s to %ds", text, ringSeconds-1)
	}
	return last, nil
}

func (c *Client) serveHold(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("n"))
	if err != nil || n < 1 || n > maxHeld {
		http.Error(w, fmt.Sprintf("n=%.20q: give 1 to %d", r.FormValue("n"), maxHeld), http.StatusBadRequest)
		return
	}
	err = c.holder.hold(r.Context(), n)
	switch {
	case errors.Is(err, errStopped):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		answer(w, c.holder.stats())
	}
}

func (c *Client) serveRelease(w http.ResponseWriter, r *http.Request) {
	address := r.FormValue("address")
	if a, err := netip.ParseAddr(address); err == nil {
		address = a.String() // as connections spell it
	} else if address != "" {
		http.Error(w, fmt.Sprintf("address=%.60q: give an IP address, or none for all", address), http.StatusBadRequest)
		return
	}
	c.holder.release(address)
	answer(w, c.holder.stats())
}

func (c *Client) serveStop(w http.ResponseWriter, r *http.Request) {
	last, err := c.Stop(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, last)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		panic(http.ErrAbortHandler) // nobody may take half an answer for a whole one
	}
}
