package manifest

import (
	"bytes"
	"encoding/json"
)

// typeOf reads apiVersion and kind of a valid JSON object and looks no further than it must: in what the API server and
// kubectl write both stand in front.
func typeOf(raw []byte) (apiVersion, kind string) {
	c := cursor{raw: raw}
	c.space()
	if !c.eat('{') {
		return "", ""
	}
	for c.space(); c.at('"'); c.space() {
		key := c.value()
		c.space()
		c.eat(':')
		c.space()
		value := c.value()
		switch {
		case bytes.Equal(key, []byte(`"apiVersion"`)):
			apiVersion = text(value)
		case bytes.Equal(key, []byte(`"kind"`)):
			kind = text(value)
		}
		if apiVersion != "" && kind != "" {
			return apiVersion, kind
		}
		c.space()
		c.eat(',')
	}
	return apiVersion, kind
}

func text(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// cursor walks JSON that is known to be valid.
type cursor struct {
	raw []byte
	pos int
}

func (c *cursor) at(b byte) bool { return c.pos < len(c.raw) && c.raw[c.pos] == b }

func (c *cursor) eat(b byte) bool {
	if !c.at(b) {
		return false
	}
	c.pos++
	return true
}

func (c *cursor) space() {
	for c.pos < len(c.raw) && classOf(c.raw[c.pos]) == space {
		c.pos++
	}
}

// value skips one and returns it.
func (c *cursor) value() []byte {
	start, depth := c.pos, 0
	for c.pos < len(c.raw) {
		switch b := c.raw[c.pos]; b {
		case '"':
			c.string()
			if depth == 0 {
				return c.raw[start:c.pos]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.raw[start:c.pos]
			}
			if b == '}' || b == ']' {
				if depth--; depth == 0 {
					c.pos++
					return c.raw[start:c.pos]
				}
			}
		}
		c.pos++
	}
	return c.raw[start:c.pos]
}

// string passes one over, in strides from quote to quote.
func (c *cursor) string() {
	begin := c.pos
	for c.pos++; ; {
		n := bytes.IndexByte(c.raw[c.pos:], '"')
		if n < 0 {
			c.pos = len(c.raw)
			return
		}
		c.pos += n + 1
		slashes := 0
		for i := c.pos - 2; i > begin && c.raw[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return
		}
	}
}
