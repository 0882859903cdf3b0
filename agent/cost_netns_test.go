//go:build netns

package agent

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// costRounds are measured with and without the table, by turns, so that what else the machine does falls on both.
	costRounds = 25
	costRound  = 150 * time.Millisecond
	// mostCost is how much of the throughput the table may take, in percent.
	mostCost = 2.0
	// errorOfMedian is the standard error of a median over its sample, in units of scatter/√n: 1.4826 makes a deviation of the
	// median scatter of a normal sample, and 1.2533 is what a median is worse than a mean. sure is how many of them are.
	errorOfMedian, sure = 1.4826 * 1.2533, 3
)

// TestNodeCostsLittleOnThePathOfAPacket sends a TCP stream through the node to a watched tuple, of a hundred: what a packet
// can cost at the most is one lookup that finds its element.
func TestNodeCostsLittleOnThePathOfAPacket(t *testing.T) {
	w := newWorld(t)
	run(t, "ip route add 203.0.113.11 via 10.0.2.2; nft delete table inet test")
	w.server.sh("ip addr add 203.0.113.11/32 dev lo")
	sink := Tuple{Address: goneTuple.Address, Port: 9999, Protocol: tcp}
	set := watchedSet(sink)
	for i := range 99 {
		set[Tuple{Address: netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}), Port: 443, Protocol: tcp}] = true
	}
	send := w.stream(sink)
	var costs, noises []float64
	for range costRounds {
		before := send()
		var c Counters
		if _, _, err := c.Read(set); err != nil {
			t.Fatal(err)
		}
		with := send()
		if counts, _, err := c.Read(set); err != nil || counts[sink].Packets == 0 {
			t.Fatalf("nothing was counted: %v, error %v", counts[sink], err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		after := send()
		costs, noises = append(costs, 100*(1-2*with/(before+after))), append(noises, 100*(1-after/before))
	}
	t.Logf("the table takes %.2f %% of the throughput (median of %d pairs); without it, a round takes %.2f %% from the next", median(costs), costRounds, median(noises))
	// On a machine that does other things the pairs scatter: only what is beyond that is the table's.
	if surely := median(costs) - sure*errorOfMedian*median(scatter(costs))/math.Sqrt(costRounds); surely > mostCost {
		t.Errorf("the table takes %.2f %% of the throughput, and surely %.2f %%; pairs: %.1f", median(costs), surely, costs)
	}
}

// scatter is how far each is from the median.
func scatter(list []float64) []float64 {
	middle := median(list)
	var out []float64
	for _, v := range list {
		out = append(out, math.Abs(v-middle))
	}
	return out
}

func median(list []float64) float64 {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// stream gives a function that sends for a while, and says how many bytes a second came to the server.
func (w *world) stream(to Tuple) func() float64 {
	w.t.Helper()
	var server net.Listener
	var client net.Conn
	var err error
	w.server.do(func() {
		server, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", fmt.Sprintf("%s:%d", to.Address, to.Port))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var came atomic.Int64
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 1<<17)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			came.Add(int64(n))
		}
	}()
	w.client.do(func() { client, err = net.Dial("tcp4", netip.AddrPortFrom(to.Address, uint16(to.Port)).String()) })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _, _ = server.Close(), client.Close() })
	block := make([]byte, 1<<17)
	return func() float64 {
		before, began := came.Load(), time.Now()
		for time.Since(began) < costRound {
			if _, err := client.Write(block); err != nil {
				w.t.Fatal(err)
			}
		}
		return float64(came.Load()-before) / time.Since(began).Seconds()
	}
}
