package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// place is where an object of the input stands: the line of the field itself where that can be told, else of its document.
func (c *collection) place(object, field string) *location {
	at, found := c.origin(object)
	if !found {
		return nil
	}
	out := &location{at.Source, at.Document, max(at.Line, 1)}
	if line := lineOf(at.Source, out.Line, field); line > 0 {
		out.Line = line
	}
	return out
}

// longestLine that is searched for a field.
const longestLine = 1 << 20

// lineOf finds the one line of a YAML document, begun at line from, that sets the field; 0 where there is none or more than
// one, which one document with several objects has.
func lineOf(source string, from int, field string) int {
	key := lastKey(field)
	if ext := filepath.Ext(source); key == "" || ext != ".yaml" && ext != ".yml" {
		return 0
	}
	file, err := os.Open(filepath.Clean(source))
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	found, scanner := 0, bufio.NewScanner(file)
	scanner.Buffer(nil, longestLine)
	for n := 1; scanner.Scan(); n++ {
		text := scanner.Text()
		switch {
		case n < from:
		case n > from && strings.HasPrefix(text, "---"):
			return found
		case !strings.Contains(text, key+":") && !strings.Contains(text, key+`"`):
		case found > 0:
			return 0
		default:
			found = n
		}
	}
	return found
}

// lastKey of a path such as spec.listeners[0].externalIPs.
func lastKey(field string) string {
	key := field[strings.LastIndexByte(field, '.')+1:]
	key, _, _ = strings.Cut(key, "[")
	return key
}
