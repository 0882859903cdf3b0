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
	dec := json.NewDecoder(s.in)
	for {
		s.document++
		s.inside = false
		err := s.value(dec)
		if errors.Is(err, io.EOF) {
			if !s.inside {
				return nil
			}
			err = io.ErrUnexpectedEOF // the decoder calls it the end, wherever it comes
		}
		if isSyntax(err) {
			return s.leaveJSON(dec, err)
		}
		if err != nil {
			return err
		}
	}
}

// leaveJSON goes on as YAML: at once where a marker follows, behind the next marker where the JSON is broken.
func (s *source) leaveJSON(dec *json.Decoder, cause error) error {
	line, rest := s.in.line(dec.InputOffset()), s.rest(dec)
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
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rest is everything behind the decoder's last whole token.
func (s *source) rest(dec *json.Decoder) *bufio.Reader {
	return bufio.NewReaderSize(io.MultiReader(dec.Buffered(), s.in), 1<<16)
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
func (s *source) value(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	s.inside = true
	line := s.in.line(dec.InputOffset())
	switch token {
	case json.Delim('{'):
		return s.members(dec, line)
	case json.Delim('['):
		_, err := s.items(dec, "", "")
		return err
	default:
		return s.problem(line, fmt.Errorf("is a %T, not an object", token))
	}
}

// members reads an object behind its brace. It is put together again only if it turns out to be no list.
func (s *source) members(dec *json.Decoder, line int) error {
	whole := bytes.NewBufferString("{")
	list := false
	var apiVersion, kind string
	var nameless []item
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key == "items" && s.arrayNext(dec) && listKind(kind) {
			list = true
			if nameless, err = s.list(dec, apiVersion, kind); err != nil {
				return err
			}
			continue
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		remember(key, raw, &apiVersion, &kind)
		appendMember(whole, key, raw)
	}
	if _, err := dec.Token(); err != nil {
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
	raw  json.RawMessage
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

// arrayNext tells whether the value that follows is an array. Decoder.More has read past the colon by then.
func (s *source) arrayNext(dec *json.Decoder) bool {
	buffered, _ := io.ReadAll(io.LimitReader(dec.Buffered(), 64))
	return bytes.HasPrefix(bytes.TrimLeft(buffered, ": \t\r\n"), []byte("["))
}

// listKind tells whether "items" are objects. kubectl writes the kind of a List behind its items, the API server before.
func listKind(kind string) bool { return kind == "" || strings.HasSuffix(kind, "List") }

func (s *source) list(dec *json.Decoder, apiVersion, kind string) ([]item, error) {
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	return s.items(dec, apiVersion, strings.TrimSuffix(kind, "List"))
}

// items reads an array behind its bracket and returns those whose kind is not known yet.
func (s *source) items(dec *json.Decoder, apiVersion, kind string) (nameless []item, err error) {
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		line := s.in.line(dec.InputOffset() - int64(len(raw)))
		if _, own := typeOf(raw); own == "" && kind == "" {
			nameless = append(nameless, item{raw, line})
			continue
		}
		if err := s.object(raw, line, apiVersion, kind); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return nameless, err
}

func remember(key json.Token, raw []byte, apiVersion, kind *string) {
	switch key {
	case "apiVersion":
		_ = json.Unmarshal(raw, apiVersion)
	case "kind":
		_ = json.Unmarshal(raw, kind)
	}
}

func appendMember(whole *bytes.Buffer, key json.Token, raw []byte) {
	if whole.Len() > 1 {
		whole.WriteByte(',')
	}
	name, _ := json.Marshal(key)
	whole.Write(name)
	whole.WriteByte(':')
	whole.Write(raw)
}
