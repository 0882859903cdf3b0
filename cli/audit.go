package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"offramp.dev/cli/manifest"
	"offramp.dev/inventory"
)

// The bounds of what one audit log may cost: lines are the API server's, but what stands in them is whoever's.
const (
	// maxAuditLine in bytes; a request body is at most 3 MiB, and an event holds two.
	maxAuditLine = 16 << 20
	// maxAuditProblems of one file that are told.
	maxAuditProblems = 20
	// maxAudited is how many addresses of writes are kept.
	maxAudited = 500_000
)

// audit reads who wrote externalIPs from the API server's audit log.
type audit struct {
	// problem is told what is wrong with one line, or (line 0) with the file.
	problem func(manifest.Origin, error)
	writes  map[string]*auditedSpan
	// writers of Services, and those of whose requests the log holds no body.
	requests, bodiless int
	// kept addresses, and writes that were left out because there were too many.
	kept, dropped int
}

// auditedSpan is the first and the last of the same writes: a client that tries without end costs no more than two.
type auditedSpan struct{ first, last inventory.Audited }

// readAudit adds what the audit logs say. Lines that cannot be read are told, and the rest counts.
func (a *app) readAudit(ctx context.Context, c *collection, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	log := &audit{writes: map[string]*auditedSpan{}, problem: func(at manifest.Origin, err error) {
		c.failed = true
		a.say("error: %s", oneLine(auditPlace(at)+": "+err.Error()))
	}}
	for _, path := range paths {
		if path == "-" {
			log.stream("stdin", a.In)
		} else {
			log.path(path)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading audit logs: %w", err)
		}
	}
	c.Audited = log.audited()
	c.Unseen = append(c.Unseen, log.unseen()...)
	return nil
}

func auditPlace(at manifest.Origin) string {
	if at.Line == 0 {
		return at.Source
	}
	return fmt.Sprintf("%s: line %d", at.Source, at.Line)
}

// path reads a file, or every file of a directory, as rotation leaves them.
func (l *audit) path(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		l.file(path)
		return
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			l.file(filepath.Join(path, entry.Name()))
		}
	}
}

func (l *audit) file(path string) {
	file, err := os.Open(path)
	if err != nil {
		l.problem(manifest.Origin{Source: path}, err)
		return
	}
	defer func() { _ = file.Close() }()
	l.stream(path, file)
}

// stream reads one log line by line.
func (l *audit) stream(name string, in io.Reader) {
	plain, err := manifest.Unpack(in)
	if err != nil {
		l.problem(manifest.Origin{Source: name}, err)
		return
	}
	buffered, problems := bufio.NewReaderSize(plain, 1<<16), 0
	tell := func(line int, err error) {
		if problems++; problems <= maxAuditProblems {
			l.problem(manifest.Origin{Source: name, Line: line}, err)
		}
	}
	for n := 1; ; n++ {
		line, err := auditLine(buffered)
		if text := bytes.TrimSpace(line); len(text) > 0 && !isCut(err) {
			if bad := l.line(text); bad != nil {
				tell(n, bad)
			}
		}
		if err != nil && !errors.Is(err, errLongLine) {
			l.end(name, n, problems, err)
			return
		}
		if err != nil {
			tell(n, err)
		}
	}
}

// isCut tells that what was read is not the whole line.
func isCut(err error) bool { return err != nil && !errors.Is(err, io.EOF) }

// end says why reading ended, if not at the end, and how much was not told.
func (l *audit) end(name string, line, problems int, err error) {
	if more := problems - maxAuditProblems; more > 0 {
		l.problem(manifest.Origin{Source: name}, fmt.Errorf("%d more lines cannot be read; is it an audit log, one event a line?", more))
	}
	if isCut(err) {
		l.problem(manifest.Origin{Source: name, Line: line}, fmt.Errorf("cannot be read any further, what stands before was used: %w", err))
	}
}

// errLongLine passes one line over.
var errLongLine = fmt.Errorf("is longer than %d MiB, and was passed over", maxAuditLine>>20)

// auditLine reads one line. Of one that is too long nothing is returned but the error.
func auditLine(in *bufio.Reader) ([]byte, error) {
	var whole []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(whole)+len(part) > maxAuditLine; tooLong {
			whole = nil
		} else {
			whole = append(whole, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		default:
			return whole, err
		}
	}
}

// keep notes one write. Of equal ones the first and the last stand.
func (l *audit) keep(w inventory.Audited) {
	key := fmt.Sprintf("%s\x00%s\x00%t\x00%s", w.Service, w.User, w.Denied, strings.Join(w.Addresses, "\x00"))
	span, known := l.writes[key]
	if !known && l.kept+len(w.Addresses) > maxAudited {
		l.dropped++
		return
	}
	if !known {
		l.kept += len(w.Addresses)
		l.writes[key] = &auditedSpan{w, w}
		return
	}
	if w.At.Before(span.first.At) {
		span.first = w
	}
	if w.At.After(span.last.At) {
		span.last = w
	}
}

// audited are the writes in the order of time; those of one moment in the order of Service and user.
func (l *audit) audited() []inventory.Audited {
	out := []inventory.Audited{}
	for _, span := range l.writes {
		out = append(out, span.first)
		if !span.last.At.Equal(span.first.At) {
			out = append(out, span.last)
		}
	}
	slices.SortFunc(out, func(a, b inventory.Audited) int {
		if order := a.At.Compare(b.At); order != 0 {
			return order
		}
		return strings.Compare(a.Service+"\x00"+a.User+"\x00"+strings.Join(a.Addresses, ","), b.Service+"\x00"+b.User+"\x00"+strings.Join(b.Addresses, ","))
	})
	return out
}

// unseen says what the log cannot tell.
func (l *audit) unseen() []inventory.Unseen {
	var out []inventory.Unseen
	if l.bodiless > 0 {
		out = append(out, inventory.Unseen{Kind: "Audit log", Why: fmt.Sprintf(
			"%d of %d requests that wrote a Service stand there without a body (level Metadata, cut, or refused before it was read), "+
				"so which addresses they wrote cannot be told", l.bodiless, l.requests)})
	}
	if l.dropped > 0 {
		out = append(out, inventory.Unseen{Kind: "Audit log", Why: fmt.Sprintf(
			"it holds writes of more than %d addresses, and the last %d writes were left out", maxAudited, l.dropped)})
	}
	return out
}
