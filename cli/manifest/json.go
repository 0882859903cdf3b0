package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readJSON reads value after value. Behind a line "---" YAML may follow; behind a mistake it must, because nothing else
// marks where the next document begins.
func (s *source) readJSON() error {
	in := newScanner(s.in)
	for {
		s.document++
		s.inside = false
		err := s.value(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if isSyntax(err) {
			return s.leaveJSON(in, err)
		}
		if err != nil {
			return err
		}
	}
}

// leaveJSON goes on as YAML: at once where a marker follows, behind the next marker where the JSON is broken.
func (s *source) leaveJSON(in *scanner, cause error) error {
	line, rest := in.here(), bufio.NewReaderSize(in.rest(), 1<<16)
	skipped, found := marker(rest)
	if found && !s.inside {
		s.document--
		return s.yaml(rest, line+skipped)
	}
	if err := s.problem(line+skipped, fmt.Errorf("not JSON: %w", cause)); err != nil {
		return err
	}
	return s.skipTo(rest, line+skipped)
}

// isSyntax tells a mistake in the text from an error of reading or of the caller.
func isSyntax(err error) bool {
	var syntax *syntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errValueTooBig)
}

// marker skips white space, says how many lines that was, and whether "---" comes next.
func marker(in *bufio.Reader) (lines int, found bool) {
	for {
		next, err := in.Peek(1)
		if err != nil {
			return lines, false
		}
		if strings.IndexByte(" \t\r\n", next[0]) < 0 {
			dashes, _ := in.Peek(3)
			return lines, string(dashes) == "---"
		}
		if next[0] == '\n' {
			lines++
		}
		_, _ = in.Discard(1)
	}
}

// value reads one top-level value: an object, a list whose items are handed out one by one, or an array of objects.
func (s *source) value(in *scanner) error {
	first, err := in.peek()
	if err != nil {
		return err
	}
	line := in.here()
	switch first {
	case '{':
		s.inside = true
		return s.members(in, line)
	case '[':
		s.inside = true
		_, err := s.items(in, "", "")
		return err
	default:
		raw, err := in.value()
		if err != nil {
			return err
		}
		return s.problem(line, fmt.Errorf("is the single value %.40s, not an object", raw))
	}
}

// each calls read before every part of an object or array, which ends with end.
func each(in *scanner, begin, end byte, read func() error) error {
	if err := in.take(begin); err != nil {
		return err
	}
	for first := true; ; first = false {
		next, err := in.peek()
		if err != nil {
			return cutOff(err)
		}
		if next == end {
			return in.take(end)
		}
		if !first {
			if err := in.take(','); err != nil {
				return err
			}
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// members reads an object. It is put together again only if it turns out to be no list.
func (s *source) members(in *scanner, line int) error {
	whole := bytes.NewBufferString("{")
	list := false
	var apiVersion, kind string
	var nameless []item
	err := each(in, '{', '}', func() error {
		key, err := in.key()
		if err != nil {
			return err
		}
		next, err := in.peek()
		if err != nil {
			return cutOff(err)
		}
		if key == "items" && next == '[' && listKind(kind) {
			list = true
			more, err := s.items(in, apiVersion, strings.TrimSuffix(kind, "List"))
			nameless = append(nameless, more...)
			return err
		}
		raw, err := in.value()
		if err != nil {
			return err
		}
		remember(key, raw, &apiVersion, &kind)
		appendMember(whole, key, raw)
		return nil
	})
	if err != nil {
		return err
	}
	if list {
		return s.named(nameless, apiVersion, strings.TrimSuffix(kind, "List"))
	}
	whole.WriteByte('}')
	return s.object(whole.Bytes(), line, "", "")
}

// item has no kind of its own; the kind of its list stands behind it in the text.
type item struct {
	raw  []byte
	line int
}

func (s *source) named(items []item, apiVersion, kind string) error {
	for _, i := range items {
		if err := s.object(i.raw, i.line, apiVersion, kind); err != nil {
			return err
		}
	}
	return nil
}

// listKind tells whether "items" are objects. kubectl writes the kind of a List behind its items, the API server before.
func listKind(kind string) bool { return kind == "" || strings.HasSuffix(kind, "List") }

// items reads an array of objects and returns those whose kind is not known yet.
func (s *source) items(in *scanner, apiVersion, kind string) (nameless []item, err error) {
	err = each(in, '[', ']', func() error {
		if _, err := in.peek(); err != nil {
			return cutOff(err)
		}
		line := in.here()
		raw, err := in.value()
		if err != nil {
			return err
		}
		if _, own := typeOf(raw); own == "" && kind == "" {
			nameless = append(nameless, item{bytes.Clone(raw), line})
			return nil
		}
		return s.object(raw, line, apiVersion, kind)
	})
	return nameless, err
}

func remember(key string, raw []byte, apiVersion, kind *string) {
	switch key {
	case "apiVersion":
		_ = json.Unmarshal(raw, apiVersion)
	case "kind":
		_ = json.Unmarshal(raw, kind)
	}
}

func appendMember(whole *bytes.Buffer, key string, raw []byte) {
	if whole.Len() > 1 {
		whole.WriteByte(',')
	}
	name, _ := json.Marshal(key)
	whole.Write(name)
	whole.WriteByte(':')
	whole.Write(raw)
}
