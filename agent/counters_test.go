package agent

import (
	"errors"
	"maps"
	"net/netip"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// tupleOn is a tuple of 192.0.2.1.
func tupleOn(port int32) Tuple {
	return Tuple{Address: netip.MustParseAddr("192.0.2.1"), Port: port, Protocol: "TCP"}
}

// listed is one element as a dump shows it: a port and its count.
type listed struct {
	port    int32
	packets uint64
}

// listing is what one dump of a set shows.
func listing(elements ...listed) (out []nftables.SetElement) {
	for _, e := range elements {
		out = append(out, nftables.SetElement{Key: encode(tupleOn(e.port)), Counter: &expr.Counter{Packets: e.packets}})
	}
	return out
}

// The kernel's table grows while it is listed: elements come twice, or not at all.
func TestAListingThatAResizeFellInto(t *testing.T) {
	t.Parallel()
	elements := map[Tuple]bool{tupleOn(80): true, tupleOn(443): true}
	cases := map[string]struct {
		dumps [][]nftables.SetElement
		want  map[Tuple]uint64
		asked int
	}{
		"whole at once": {[][]nftables.SetElement{listing(listed{80, 1}, listed{443, 2})}, map[Tuple]uint64{tupleOn(80): 1, tupleOn(443): 2}, 1},
		"an element that comes twice counts once, by its newest value": {
			[][]nftables.SetElement{listing(listed{80, 1}, listed{443, 2}, listed{80, 3})}, map[Tuple]uint64{tupleOn(80): 3, tupleOn(443): 2}, 1,
		},
		"twice one and none of the other is not whole": {
			[][]nftables.SetElement{listing(listed{80, 1}, listed{80, 1}), listing(listed{443, 2})}, map[Tuple]uint64{tupleOn(80): 1, tupleOn(443): 2}, 2,
		},
		"what nobody watches is passed over":             {[][]nftables.SetElement{listing(listed{80, 1}, listed{22, 9}, listed{443, 2})}, map[Tuple]uint64{tupleOn(80): 1, tupleOn(443): 2}, 1},
		"what stays away was taken away, and is missing": {[][]nftables.SetElement{listing(listed{80, 1})}, map[Tuple]uint64{tupleOn(80): 1}, maxDumps},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			got, err := gather(len(elements), elements, func() ([]nftables.SetElement, error) {
				asked++
				return tc.dumps[min(asked, len(tc.dumps))-1], nil
			})
			if err != nil || !maps.Equal(got, tc.want) || asked != tc.asked {
				t.Errorf("%v after %d listings (%v), want %v after %d", got, asked, err, tc.want, tc.asked)
			}
		})
	}
}

func TestASetThatCannotBeListedIsAnError(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	if _, err := gather(1, nil, func() ([]nftables.SetElement, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}
