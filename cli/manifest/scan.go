package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxValue is the size of one JSON value that has to be held as a whole: an item of a list, or an object that is none.
const maxValue = 128 << 20

// errValueTooBig ends a value that never ends, too: a brace that is missing makes one of all that follows.
var errValueTooBig = fmt.Errorf("one value is larger than %d MiB; is a closing brace missing?", maxValue>>20)

// syntaxError is a mistake in the text.
type syntaxError struct{ what string }

func (e *syntaxError) Error() string { return e.what }

// scanner takes JSON apart without decoding it: it finds where values end. It refuses what can be no JSON as soon as it is
// seen, so that a mistake is told where it is, and leaves the rest to whoever decodes the value.
type scanner struct {
	in  io.Reader
	buf []byte
	// pos of the next byte; of what stands before it nothing is needed any more.
	pos int
	// line of the byte at counted, from 1.
	line    int
	counted int
	err     error
}

func newScanner(in io.Reader) *scanner { return &scanner{in: in, line: 1, buf: make([]byte, 0, 1<<16)} }

// more reads on; false means that there is no more. What stands before pos may be forgotten.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	if s.pos > 0 && len(s.buf) == cap(s.buf) {
		s.count(s.pos)
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos, s.counted = 0, 0
	}
	if len(s.buf) == cap(s.buf) {
		grown := make([]byte, len(s.buf), 2*cap(s.buf))
		copy(grown, s.buf)
		s.buf = grown
	}
	for range 100 {
		n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// count the lines up to a place.
func (s *scanner) count(to int) {
	s.line += bytes.Count(s.buf[s.counted:to], []byte("\n"))
	s.counted = to
}

// here is the line of the next byte.
func (s *scanner) here() int {
	s.count(s.pos)
	return s.line
}

// rest is everything from the next byte on.
func (s *scanner) rest() io.Reader {
	left := bytes.NewReader(s.buf[s.pos:])
	if s.err != nil {
		return io.MultiReader(left, failing{s.err})
	}
	return io.MultiReader(left, s.in)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// peek passes white space over and is the next byte.
func (s *scanner) peek() (byte, error) {
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			if b := s.buf[s.pos]; classOf(b) != space {
				return b, nil
			}
		}
		if !s.more() {
			return 0, s.err
		}
	}
}

// take passes one byte over that must come next.
func (s *scanner) take(want byte) error {
	got, err := s.peek()
	if err != nil {
		return cutOff(err)
	}
	if got != want {
		return &syntaxError{fmt.Sprintf("%q stands where %q is expected", got, want)}
	}
	s.pos++
	return nil
}

// cutOff is the end of the input in the middle of a value.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// key reads a member's name and the colon behind it.
func (s *scanner) key() (string, error) {
	b, err := s.peek()
	if err != nil {
		return "", cutOff(err)
	}
	if b != '"' {
		return "", &syntaxError{fmt.Sprintf("%q stands where the name of a member is expected", b)}
	}
	raw, err := s.value()
	if err != nil {
		return "", err
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", &syntaxError{err.Error()}
	}
	return name, s.take(':')
}

// class of a byte outside strings.
type class byte

const (
	wrong class = iota
	space
	opening
	closing
	separator
	quote
	scalar
)

// classOf is written so that it compiles to a jump table: it is asked for every byte.
func classOf(b byte) class {
	switch b {
	case ' ', '\t', '\r', '\n':
		return space
	case '{', '[':
		return opening
	case '}', ']':
		return closing
	case ',', ':':
		return separator
	case '"':
		return quote
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '-', '.', 'e', 'E', 't', 'r', 'u', 'f', 'a', 'l', 's', 'n':
		return scalar
	default:
		return wrong
	}
}

// value reads the next value as it is written. It is valid until the next call.
func (s *scanner) value() ([]byte, error) {
	first, err := s.peek()
	if err != nil {
		return nil, cutOff(err)
	}
	length := 0
	switch classOf(first) {
	case opening:
		length, err = s.composite()
	case quote:
		length, err = s.text(0)
	case scalar:
		length, err = s.scalar()
	case wrong, space, closing, separator:
		err = s.unexpected(0)
	}
	if err != nil {
		return nil, err
	}
	raw := s.buf[s.pos : s.pos+length]
	s.pos += length
	return raw, nil
}

// unexpected is the error of the byte that stands at behind the next one, which becomes the next one.
func (s *scanner) unexpected(at int) error {
	s.pos += at
	return &syntaxError{fmt.Sprintf("%q is not expected here", s.buf[s.pos])}
}

// grow reads on while a value is at most as long as it may be. The value begins at pos.
func (s *scanner) grow() error {
	if len(s.buf)-s.pos > maxValue {
		s.pos = len(s.buf)
		return errValueTooBig
	}
	if !s.more() {
		s.pos = len(s.buf)
		return cutOff(s.err)
	}
	return nil
}

// composite is the length of the object or array that begins at pos.
func (s *scanner) composite() (length int, err error) {
	depth := 0
	for at := 0; ; {
		for s.pos+at == len(s.buf) {
			if err := s.grow(); err != nil {
				return 0, err
			}
		}
		switch classOf(s.buf[s.pos+at]) {
		case space, separator, scalar:
			at++
		case opening:
			depth++
			at++
		case closing:
			depth--
			at++
			if depth == 0 {
				return at, nil
			}
		case quote:
			if at, err = s.text(at); err != nil {
				return 0, err
			}
		case wrong:
			return 0, s.unexpected(at)
		}
	}
}

// text is where the string ends that begins at behind pos. A line break in it is a mistake, most often a quote that is
// missing.
func (s *scanner) text(at int) (end int, err error) {
	for from := at + 1; ; {
		open := s.buf[s.pos+from:]
		n := bytes.IndexByte(open, '"')
		if n >= 0 {
			open = open[:n]
		}
		if broken := bytes.IndexByte(open, '\n'); broken >= 0 {
			return 0, s.unexpected(from + broken)
		}
		from += len(open)
		if n < 0 {
			if err := s.grow(); err != nil {
				return 0, err
			}
			continue
		}
		if from++; !s.escaped(at, from-1) {
			return from, nil
		}
	}
}

// escaped tells whether the quote that stands at behind pos is part of the string that begins at begin.
func (s *scanner) escaped(begin, at int) bool {
	slashes := 0
	for i := s.pos + at - 1; i > s.pos+begin && s.buf[i] == '\\'; i-- {
		slashes++
	}
	return slashes%2 == 1
}

// scalar is the length of the number or word that begins at pos.
func (s *scanner) scalar() (length int, err error) {
	for at := 0; ; at++ {
		if s.pos+at == len(s.buf) && (at > maxScalar || !s.more()) || classOf(s.buf[s.pos+at]) != scalar {
			if !json.Valid(s.buf[s.pos : s.pos+at]) {
				return 0, s.unexpected(0)
			}
			return at, nil
		}
	}
}

// maxScalar is longer than any number of a manifest.
const maxScalar = 1 << 12
