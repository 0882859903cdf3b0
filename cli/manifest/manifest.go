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
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
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
	// JSON of the object. It is only valid until the call returns.
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
	in       *lineReader
	document int
	problems int
	// inside: a JSON value was begun.
	inside bool
}

// Stream reads one input, gzip or not.
func (r *Reader) Stream(name string, in io.Reader) {
	plain, err := Unpack(in)
	if err != nil {
		r.Problem(&Error{Origin{Source: name}, err})
		return
	}
	s := &source{Reader: r, name: name, in: newLineReader(plain)}
	if err := s.read(); err != nil {
		r.Problem(&Error{Origin{Source: name}, err})
	}
}

// Unpack undoes gzip, told by its magic number (RFC 1952, 2.3.1), and skips a byte order mark.
func Unpack(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("looks like gzip but is not: %w", err)
		}
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	}
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
		_, _ = buffered.Discard(3)
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

// object hands one out, if it is one.
func (s *source) object(raw []byte, line int, apiVersion, kind string) error {
	a, k := typeOf(raw)
	if a == "" {
		a = apiVersion
	}
	if k == "" {
		k = kind
	}
	if a == "" || k == "" || !utf8.ValidString(k) {
		return nil
	}
	if err := s.Each(Object{Origin{s.name, s.document, line}, a, k, raw}); err != nil {
		return s.problem(line, err)
	}
	return nil
}
