package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// places tells where objects of the input stand. Each file is searched once for each field, not once for each object.
type places struct {
	of    *collection
	found map[fieldOf]*fieldLines
}

// fieldOf is a field of any object of one file.
type fieldOf struct{ source, key string }

// fieldLines are the lines of one file that set a field, and those that begin a document.
type fieldLines struct{ hits, marks []int }

const (
	// longestLine that is searched for a field.
	longestLine = 1 << 20
	// mostSearches bounds how often files are read again.
	mostSearches = 1000
)

func newPlaces(c *collection) *places { return &places{c, map[fieldOf]*fieldLines{}} }

// place is where an object of the input stands: the line of the field itself where that can be told, else of its document.
func (p *places) place(object, field string) *location {
	at, found := p.of.origin(object)
	if !found {
		return nil
	}
	out := &location{at.Source, at.Document, max(at.Line, 1)}
	if line := p.lines(fieldOf{at.Source, lastKey(field)}).within(out.Line); line > 0 {
		out.Line = line
	}
	return out
}

func (p *places) lines(f fieldOf) *fieldLines {
	known, ok := p.found[f]
	if !ok && len(p.found) < mostSearches {
		known = searchField(f)
		p.found[f] = known
	}
	return known
}

// searchField reads a YAML file. What cannot be read has no lines: the reader of manifests tells what is wrong with it.
func searchField(f fieldOf) *fieldLines {
	out := &fieldLines{}
	if ext := filepath.Ext(f.source); f.key == "" || ext != ".yaml" && ext != ".yml" {
		return out
	}
	file, err := os.Open(filepath.Clean(f.source))
	if err != nil {
		return out
	}
	defer func() { _ = file.Close() }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, longestLine)
	for n := 1; scanner.Scan(); n++ {
		text := scanner.Text()
		switch {
		case strings.HasPrefix(text, "---"):
			out.marks = append(out.marks, n)
		case strings.Contains(text, f.key+":") || strings.Contains(text, f.key+`"`):
			out.hits = append(out.hits, n)
		}
	}
	return out
}

// within is the one line of the document begun at line from; 0 where there is none or more than one, which a document with
// several objects has.
func (l *fieldLines) within(from int) int {
	if l == nil {
		return 0
	}
	first := sort.SearchInts(l.hits, from)
	end := sort.SearchInts(l.marks, from+1)
	if first == len(l.hits) || end < len(l.marks) && l.hits[first] > l.marks[end] {
		return 0
	}
	if next := first + 1; next < len(l.hits) && (end == len(l.marks) || l.hits[next] < l.marks[end]) {
		return 0
	}
	return l.hits[first]
}

// lastKey of a path such as spec.listeners[0].externalIPs.
func lastKey(field string) string {
	key := field[strings.LastIndexByte(field, '.')+1:]
	key, _, _ = strings.Cut(key, "[")
	return key
}
