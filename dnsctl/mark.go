package dnsctl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// markLabel is the label before a name under which our mark lies.
const markLabel = "_offramp"

// maxOwner is the longest name of an API object (RFC 1123 subdomain).
const maxOwner = 253

// ErrNotOurMark says that a text is no mark of ours: another holder's, or malformed. It is never touched.
var ErrNotOurMark = errors.New("not a mark of Offramp")

// MarkName is where our mark of name lies: _offramp.<name>.
func MarkName(name string) string { return markLabel + "." + fold(name) }

// IsZero tells whether there is no mark.
func (m Mark) IsZero() bool { return m.Owner == "" && m.Sequence == 0 && m.Until.IsZero() }

// Same compares owner and sequence, not the lease.
func (m Mark) Same(o Mark) bool { return m.Owner == o.Owner && m.Sequence == o.Sequence }

// Equal compares what is written of two marks; the lease counts in whole seconds.
func (m Mark) Equal(o Mark) bool { return m.Same(o) && m.Until.Unix() == o.Until.Unix() }

// EncodeMark gives the text of a mark: heritage=offramp,v=1,owner=<record>,seq=<n>,until=<RFC3339, UTC, seconds>.
// It refuses a mark that ParseMark would not read back.
func EncodeMark(m Mark) (string, error) {
	if !validOwner(m.Owner) {
		return "", fmt.Errorf("mark owner %q: want the name of a MigrationRecord (lower-case letters, digits, '-', '.')", m.Owner)
	}
	if m.Sequence < 0 {
		return "", fmt.Errorf("mark of %s: sequence %d is negative", m.Owner, m.Sequence)
	}
	until := m.Until.UTC()
	if y := until.Year(); y < 1970 || y > 9999 {
		return "", fmt.Errorf("mark of %s: lease ends in year %d", m.Owner, y)
	}
	return fmt.Sprintf("heritage=offramp,v=1,owner=%s,seq=%d,until=%s", m.Owner, m.Sequence, until.Format(time.RFC3339)), nil
}

// ParseMark reads a text that EncodeMark has written, byte for byte; anything else is ErrNotOurMark. It is so strict
// because the text is a prerequisite of the next write: what cannot be written again must not be taken for ours.
func ParseMark(text string) (Mark, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 5 || fields[0] != "heritage=offramp" || fields[1] != "v=1" {
		return Mark{}, ErrNotOurMark
	}
	owner, okOwner := strings.CutPrefix(fields[2], "owner=")
	seq, okSeq := strings.CutPrefix(fields[3], "seq=")
	until, okUntil := strings.CutPrefix(fields[4], "until=")
	n, errSeq := strconv.Atoi(seq)
	t, errUntil := time.Parse(time.RFC3339, until)
	if !okOwner || !okSeq || !okUntil || errSeq != nil || errUntil != nil {
		return Mark{}, ErrNotOurMark
	}
	m := Mark{Owner: owner, Sequence: n, Until: t.UTC()}
	if again, err := EncodeMark(m); err != nil || again != text {
		return Mark{}, ErrNotOurMark
	}
	return m, nil
}

// validOwner is the character set of an API object's name; it keeps commas and quotes out of the text.
func validOwner(s string) bool {
	if s == "" || len(s) > maxOwner {
		return false
	}
	for _, c := range []byte(s) {
		if !lowerAlnum(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}
