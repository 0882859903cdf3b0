// Package manifest reads Kubernetes objects from files, directories and streams: multi-document YAML, JSON, lists and
// arrays of either, gzip or not. JSON is read as a stream, so that a list of any length costs the memory of one item.
//
// It promises that one bad document never hides the good ones around it: each is reported with file, document number and
// line. It refuses to guess: what is no object (a values file, a kustomization without a kind) is skipped, what is no
// YAML is an error.
package manifest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// Origin is where a document stands.
type Origin struct {
	// Source is the file's path, or "stdin".
	Source string
	// Document counts from 1, as separated by "---" (YAML) or as values follow one another (JSON).
	Document int
	// Line of the document's first line, or of what is wrong, from 1.
	Line int
}

// String is "svc.yaml: document 3, line 41".
func (o Origin) String() string {
	return fmt.Sprintf("%s: document %d, line %d", o.Source, o.Document, o.Line)
}

// Object is one object as it was written.
type Object struct {
	Origin
	APIVersion, Kind string
	// JSON of the object. It is only valid until the call returns. Its braces match; whether it is JSON in every detail
	// is found by whoever decodes it.
	JSON []byte
}

// Error is what is wrong with one document or one file.
type Error struct {
	Origin
	Err error
}

// Error names file, document and line.
func (e *Error) Error() string {
	if e.Document == 0 {
		return fmt.Sprintf("%s: %v", e.Source, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Origin, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reader hands out what it reads.
type Reader struct {
	// Each is called for every object, in the order of the input. An error of it is reported at the object's place.
	Each func(Object) error
	// Problem is called for everything that could not be read. Reading goes on behind it.
	Problem func(*Error)
}

// maxProblems of one source; a file that is no manifest at all is not worth a thousand lines.
const maxProblems = 100

// errTooMany ends the reading of a source.
var errTooMany = errors.New("too many problems, the rest of this input was not read")

// source is the state of reading one input.
type source struct {
	*Reader
	name     string
	in       *headReader
	document int
	problems int
	// inside: a JSON value was begun.
	inside bool
	// nesting of lists.
	nesting int
}

// Stream reads one input, gzip or not.
func (r *Reader) Stream(name string, in io.Reader) {
	plain, err := Unpack(in)
	if err != nil {
		r.Problem(&Error{Origin{Source: name}, err})
		return
	}
	s := &source{Reader: r, name: name, in: &headReader{in: plain}}
	if err := s.read(); err != nil {
		r.Problem(&Error{Origin{Source: name}, err})
	}
}

// Unpack undoes gzip, told by its magic number (RFC 1952, 2.3.1), skips a byte order mark, and turns UTF-16, which some
// shells write into files, into UTF-8.
func Unpack(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("looks like gzip but is not: %w", err)
		}
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	}
	begin, _ := buffered.Peek(4)
	switch {
	case bytes.HasPrefix(begin, []byte("\uFEFF")):
		_, _ = buffered.Discard(len("\uFEFF"))
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}), bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(buffered), nil
	case len(begin) == 4 && bytes.Count(begin, []byte{0}) == 2:
		return nil, errors.New("looks like UTF-16 without a byte order mark; write it as UTF-8, for example with iconv -f utf-16le -t utf-8")
	}
	return buffered, nil
}

// read chooses by the first character: JSON is a stream of values, everything else YAML.
func (s *source) read() error {
	first, err := s.in.firstByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	case first == '{' || first == '[':
		return s.readJSON()
	default:
		return s.readYAML()
	}
}

// problem reports one at a line.
func (s *source) problem(line int, err error) error {
	if s.problems++; s.problems > maxProblems {
		return errTooMany
	}
	s.Problem(&Error{Origin{s.name, s.document, line}, err})
	return nil
}

// maxNesting of lists in lists.
const maxNesting = 16

// errNotUTF8 names the way out.
var errNotUTF8 = errors.New("holds bytes that are no UTF-8, read as \uFFFD; write it as UTF-8, for example with iconv -f latin1 -t utf-8")

// object hands one out, if it is one, and the items one by one, if it is a list.
func (s *source) object(raw []byte, line int, apiVersion, kind string) error {
	a, k := typeOf(raw)
	if a == "" {
		a = apiVersion
	}
	if k == "" {
		k = kind
	}
	if a == "" || k == "" || !utf8.ValidString(k) {
		return s.noObject(raw, line)
	}
	if element, isList := strings.CutSuffix(k, "List"); isList {
		if items, hasItems := itemsOf(raw); hasItems {
			return s.nested(items, line, a, element)
		}
	}
	if !utf8.Valid(raw) {
		if err := s.problem(line, errNotUTF8); err != nil {
			return err
		}
	}
	if err := s.Each(Object{Origin{s.name, s.document, line}, a, k, raw}); err != nil {
		return s.problem(line, err)
	}
	return nil
}

// noObject tells what only looks like none because it is broken.
func (s *source) noObject(raw []byte, line int) error {
	var checked json.RawMessage
	if err := json.Unmarshal(raw, &checked); err != nil {
		return s.problem(line, fmt.Errorf("not JSON: %w", err))
	}
	return nil
}

// itemsOf are the items of a list.
func itemsOf(raw []byte) (items json.RawMessage, isList bool) {
	var list struct {
		Items json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false
	}
	return list.Items, len(list.Items) > 0 && list.Items[0] == '['
}

// nested hands out the items of a list that lies in another.
func (s *source) nested(raw json.RawMessage, line int, apiVersion, kind string) error {
	if s.nesting++; s.nesting > maxNesting {
		s.nesting--
		return s.problem(line, fmt.Errorf("lists are nested more than %d deep; what lies deeper was not read", maxNesting))
	}
	defer func() { s.nesting-- }()
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return s.problem(line, err)
	}
	for _, item := range items {
		if err := s.object(item, line, apiVersion, kind); err != nil {
			return err
		}
	}
	return nil
}
