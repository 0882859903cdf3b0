package agent

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mdlayher/netlink"
)

// told is a message with a header of that length, and attributes.
func told(t *testing.T, header int, attributes ...netlink.Attribute) []byte {
	t.Helper()
	data, err := netlink.MarshalAttributes(attributes)
	if err != nil {
		t.Fatal(err)
	}
	return append(make([]byte, header), data...)
}

func TestAFlowtableIsNamedByItsTableAndName(t *testing.T) {
	t.Parallel()
	data := told(t, genHeader, netlink.Attribute{Type: nftaFlowtableTable, Data: text("fast")}, netlink.Attribute{Type: nftaFlowtableName, Data: text("f")})
	if name, err := flowtable(data); err != nil || name != "flowtable fast f" {
		t.Errorf("%q, error %v", name, err)
	}
	for _, data := range [][]byte{nil, {1, 2, 3}, {0, 0, 0, 0, 200, 0, 1, 0}} {
		if name, err := flowtable(data); !errors.Is(err, errAttribute) {
			t.Errorf("%v is %q, error %v", data, name, err)
		}
	}
}

func TestOnlyAFilterThatIsAProgramMayTakePackets(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{"bpf": true, "matchall": false, "u32": false, "": false} {
		if got, err := isProgram(told(t, trafficHeader, netlink.Attribute{Type: tcaKind, Data: text(kind)})); err != nil || got != want {
			t.Errorf("%q: %t, error %v", kind, got, err)
		}
	}
	if got, err := isProgram(make([]byte, 3)); got || !errors.Is(err, errAttribute) {
		t.Errorf("cut short: %t, error %v", got, err)
	}
}

func TestAnInterruptedLookIsTriedAgainAndOthersAreNot(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, c := range map[string]struct {
		answers []error
		tries   int
		want    error
	}{
		"good":                   {[]error{nil}, 1, nil},
		"interrupted once":       {[]error{errInterrupted, nil}, 2, nil},
		"interrupted every time": {[]error{errInterrupted, errInterrupted, errInterrupted, nil}, retries, errInterrupted},
		"refused":                {[]error{no, nil}, 1, no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			_, err := persist(func() ([]string, error) { tries++; return nil, c.answers[tries-1] })
			if tries != c.tries || !errors.Is(err, c.want) {
				t.Errorf("%d tries, error %v", tries, err)
			}
		})
	}
}

func TestManyDevicesAreNamedInAFewWords(t *testing.T) {
	t.Parallel()
	if got := naming([]string{"d", "b", "a", "c", "a", "e"}); got != "a, b, c and 2 more" {
		t.Errorf("%q", got)
	}
	if got := short(strings.Repeat("é", maxMessage)); len(got) > maxMessage || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}
