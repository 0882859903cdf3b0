package manifest

import "bytes"

// lastApplied is the annotation in which kubectl keeps the whole object once more.
const lastApplied = `"kubectl.kubernetes.io/last-applied-configuration"`

// WithoutHistory appends an object's JSON to dst without what tools remember in its metadata: managedFields and what kubectl
// applied last. In a cluster that may be most of an object.
func WithoutHistory(dst, raw []byte) []byte {
	metadata := member(raw, span{0, len(raw)}, `"metadata"`)
	fields := member(raw, metadata, `"managedFields"`)
	applied := member(raw, member(raw, metadata, `"annotations"`), lastApplied)
	if fields.from > applied.from {
		fields, applied = applied, fields
	}
	from := 0
	for _, cut := range []span{fields, applied} {
		if cut.from < cut.to && cut.from >= from {
			dst = append(append(dst, raw[from:cut.from]...), "null"...)
			from = cut.to
		}
	}
	return append(dst, raw[from:]...)
}

// span is a part of a text.
type span struct{ from, to int }

// member is the value of an object's member, whose name stands in quotes; empty where there is none.
func member(raw []byte, object span, name string) span {
	c := cursor{raw: raw[:object.to], pos: object.from}
	c.space()
	if !c.eat('{') {
		return span{}
	}
	for c.space(); c.at('"'); c.space() {
		key := c.value()
		c.space()
		c.eat(':')
		c.space()
		from := c.pos
		c.value()
		if bytes.Equal(key, []byte(name)) {
			return span{from, c.pos}
		}
		c.space()
		c.eat(',')
	}
	return span{}
}
