package manifest

import (
	"bytes"
	"io"
)

// headReader can look at the first character without taking it away.
type headReader struct {
	in io.Reader
	// held was read by firstByte and is handed out first.
	held []byte
}

// firstByte is the first that is not white space; what was skipped is still handed out later.
func (h *headReader) firstByte() (byte, error) {
	chunk := make([]byte, 512)
	for {
		if at := bytes.IndexFunc(h.held, func(r rune) bool { return r != ' ' && r != '\t' && r != '\r' && r != '\n' }); at >= 0 {
			return h.held[at], nil
		}
		n, err := h.in.Read(chunk)
		h.held = append(h.held, chunk[:n]...)
		if n == 0 && err != nil {
			return 0, err
		}
	}
}

// Read implements io.Reader.
func (h *headReader) Read(p []byte) (int, error) {
	if len(h.held) == 0 {
		return h.in.Read(p)
	}
	n := copy(p, h.held)
	h.held = h.held[n:]
	return n, nil
}
