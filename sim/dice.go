package sim

import (
	"hash/fnv"
	"strconv"
)

// dice is the only source of chance in a rehearsal: the same seed, the same rehearsal. It is no cryptography.
type dice struct{ state uint64 }

func newDice(seed int64) *dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatInt(seed, 10))) // a hash takes everything
	return &dice{h.Sum64()}
}

// IntN is a number from 0 to n-1 (SplitMix64).
func (d *dice) IntN(n int) int {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z^z>>31)>>33) % max(n, 1)
}
