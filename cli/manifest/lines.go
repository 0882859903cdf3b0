package manifest

import (
	"bytes"
	"io"
	"sort"
)

// lineReader tells the line of an offset. It remembers the line breaks of what was read but not yet asked for.
type lineReader struct {
	in io.Reader
	// held was read by firstByte and is handed out first.
	held []byte
	// offset of the next byte to hand out; lines before the first remembered break.
	offset int64
	before int
	breaks []int64
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: in} }

// firstByte is the first that is not white space; what was skipped is still handed out later.
func (l *lineReader) firstByte() (byte, error) {
	chunk := make([]byte, 512)
	for {
		if at := bytes.IndexFunc(l.held, func(r rune) bool { return r != ' ' && r != '\t' && r != '\r' && r != '\n' }); at >= 0 {
			return l.held[at], nil
		}
		n, err := l.in.Read(chunk)
		l.held = append(l.held, chunk[:n]...)
		if n == 0 && err != nil {
			return 0, err
		}
	}
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.next(p)
	for i, rest := 0, p[:n]; ; {
		at := bytes.IndexByte(rest[i:], '\n')
		if at < 0 {
			break
		}
		i += at + 1
		l.breaks = append(l.breaks, l.offset+int64(i))
	}
	l.offset += int64(n)
	return n, err
}

func (l *lineReader) next(p []byte) (int, error) {
	if len(l.held) == 0 {
		return l.in.Read(p)
	}
	n := copy(p, l.held)
	l.held = l.held[n:]
	return n, nil
}

// line of the byte at offset, from 1. Offsets must not go back: what lies before is forgotten.
func (l *lineReader) line(offset int64) int {
	passed := sort.Search(len(l.breaks), func(i int) bool { return l.breaks[i] > offset })
	l.before += passed
	l.breaks = append(l.breaks[:0], l.breaks[passed:]...)
	return l.before + 1
}
