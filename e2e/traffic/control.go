package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// controlTimeout is enough for a stop: requests in flight and held connections have 5 s each.
const controlTimeout = 30 * time.Second

// Control speaks to a client's control API.
type Control struct {
	// BaseURL is http://HOST:PORT.
	BaseURL string
}

// Stats is one look at the client; last > 0 asks for a Window of so many whole seconds, below ten minutes.
func (c Control) Stats(last time.Duration) (Stats, error) {
	query := url.Values{}
	if last != 0 {
		query.Set("last", last.String())
	}
	var s Stats
	err := c.call(http.MethodGet, "/stats", query, &s)
	return s, err
}

// Hold opens n more held connections; an error says how many it opened.
func (c Control) Hold(n int) error {
	return c.call(http.MethodPost, "/held", url.Values{"n": {strconv.Itoa(n)}}, &HeldStats{})
}

// EndHeld ends the held connections to an address, all for an empty one, and returns what is held and was cut then.
func (c Control) EndHeld(address string) (HeldStats, error) {
	query := url.Values{}
	if address != "" {
		query.Set("address", address)
	}
	var h HeldStats
	err := c.call(http.MethodDelete, "/held", query, &h)
	return h, err
}

// Stop ends the client and is its last word.
func (c Control) Stop() (Stats, error) {
	var s Stats
	err := c.call(http.MethodPost, "/stop", nil, &s)
	return s, err
}

func (c Control) call(method, path string, query url.Values, into any) error {
	req, err := http.NewRequest(method, c.BaseURL+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: controlTimeout}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("%s %s: status %d: %s", method, req.URL, res.StatusCode, text)
	}
	return json.NewDecoder(res.Body).Decode(into)
}
