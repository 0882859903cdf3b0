package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// maxDocument is the size of one YAML document; it is parsed as a whole, and a parsed tree is many times its text.
const maxDocument = 128 << 20

// errTooBig names the way out.
var errTooBig = fmt.Errorf("is larger than %d MiB; write it as JSON, which is read as a stream", maxDocument>>20)

// readYAML reads a file from its begin.
func (s *source) readYAML() error {
	return s.yaml(bufio.NewReaderSize(s.in, 1<<16), 1)
}

// skipTo passes over the rest of a broken document; line is the number of the next line.
func (s *source) skipTo(in *bufio.Reader, line int) error {
	for ; ; line++ {
		text, err := readLine(in)
		if isMarker(text) {
			return s.yaml(in, line+1)
		}
		if err != nil {
			return eofIsFine(err)
		}
	}
}

// yaml splits at the document markers (YAML 1.2, 9.1.2) and reads document by document; first is the number of the next line.
func (s *source) yaml(in *bufio.Reader, first int) error {
	var doc bytes.Buffer
	start, tooBig := first, false
	for n := first; ; n++ {
		line, err := readLine(in)
		end := isMarker(line)
		if !end {
			if tooBig = tooBig || doc.Len()+len(line) > maxDocument; !tooBig {
				doc.Write(line)
			}
			if err == nil {
				continue
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return s.cut(start, n, err)
		}
		if derr := s.yamlDocument(doc.Bytes(), start, tooBig); derr != nil || err != nil {
			return derr
		}
		doc.Reset()
		doc.Write(afterMarker(line))
		start, tooBig = n, false
	}
}

// cut tells that the input ends inside a document, which is not used then: half an object would be another one.
func (s *source) cut(start, line int, err error) error {
	s.document++
	return s.problem(line, fmt.Errorf("the document that begins at line %d is cut off and was not used: %w", start, err))
}

// readLine reads one with its line break.
func readLine(in *bufio.Reader) ([]byte, error) { return in.ReadBytes('\n') }

func eofIsFine(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// isMarker tells "---" and "..." at the begin of a line.
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// afterMarker is what stands on the marker's line; the line break stays, so that line numbers stay right.
func afterMarker(line []byte) []byte {
	if line[0] == '.' {
		return []byte("\n")
	}
	return bytes.TrimLeft(line[3:], " \t")
}

// yamlDocument reads one document, if there is anything in it.
func (s *source) yamlDocument(doc []byte, line int, tooBig bool) error {
	if !tooBig && blank(doc) {
		return nil
	}
	s.document++
	if tooBig {
		return s.problem(line, errTooBig)
	}
	raw, err := s.toJSON(doc, line)
	if err != nil {
		return s.problem(line, s.explain(doc, line, err))
	}
	return s.converted(raw, line)
}

// toJSON takes what can be understood, and tells what is wrong with it: a key that stands there twice, or bytes that are no
// UTF-8.
func (s *source) toJSON(doc []byte, line int) ([]byte, error) {
	text := doc
	if !utf8.Valid(doc) {
		at := line + bytes.Count(doc[:len(validPrefix(doc))], []byte("\n"))
		if err := s.problem(at, errNotUTF8); err != nil {
			return nil, err
		}
		text = bytes.ToValidUTF8(doc, []byte("\uFFFD"))
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil || bytes.Contains(text, []byte("<<:")) {
		return raw, err // the strict reader takes a key that overrides a merged one for one that stands there twice
	}
	if _, err = yaml.YAMLToJSONStrict(text); err == nil {
		return raw, nil
	}
	return raw, s.problem(line, fmt.Errorf("%w; the last one was read", s.explainStrict(text, line, err)))
}

func validPrefix(doc []byte) []byte {
	rest := doc
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		rest = rest[size:]
	}
	return doc[:len(doc)-len(rest)]
}

// explainStrict is explain for what only a strict reader refuses.
func (s *source) explainStrict(doc []byte, line int, err error) error {
	padded := append(bytes.Repeat([]byte("\n"), max(line-1, 0)), doc...)
	if _, again := yaml.YAMLToJSONStrict(padded); again != nil {
		return again
	}
	return err
}

// blank tells whether only comments, directives and white space stand there.
func blank(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// explain parses again behind as many line breaks as stand before the document, so that the parser's own line number is
// the file's, and names the way out of the most common mistake.
func (s *source) explain(doc []byte, line int, err error) error {
	padded := append(bytes.Repeat([]byte("\n"), max(line-1, 0)), doc...)
	if _, again := yaml.YAMLToJSON(padded); again != nil {
		err = again
	}
	if bytes.Contains(doc, []byte("{{")) {
		return fmt.Errorf("%w (it looks like a template: render it first, for example with helm template)", err)
	}
	return err
}

// converted hands out the objects of a document that is JSON by now.
func (s *source) converted(raw []byte, line int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	switch raw[0] {
	case '[':
		return s.nested(raw, line, "", "")
	case '{':
		return s.object(raw, line, "", "")
	default:
		return s.problem(line, errors.New("is a single value, not an object"))
	}
}
