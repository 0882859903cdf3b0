package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// counter counts the tests that have no subtests, and keeps the output of each until it is known to be good.
type counter struct {
	out     io.Writer
	result  map[string]string
	parents map[string]bool
	output  map[string]*bytes.Buffer
	// broken are packages that failed without a failing test: they did not compile, panicked or ran out of time.
	broken map[string]bool
	failed map[string]bool
}

func newCounter(out io.Writer) *counter {
	return &counter{
		out: out, result: map[string]string{}, parents: map[string]bool{}, output: map[string]*bytes.Buffer{},
		broken: map[string]bool{}, failed: map[string]bool{},
	}
}

// read takes all events; a line that is none is passed on.
func (c *counter) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				_, _ = c.out.Write(line)
			} else {
				c.take(e)
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *counter) take(e event) {
	pkg := e.Package
	if pkg == "" {
		pkg = e.ImportPath
	}
	key := pkg + "\x00" + e.Test
	switch e.Action {
	case "output", "build-output":
		c.keep(key, e.Output)
	case "run":
		c.open(pkg, e.Test)
	case "pass", "skip":
		c.close(key, e)
	case "fail", "build-fail":
		fmt.Fprint(c.out, c.text(key))
		c.close(key, e)
	}
}

// open notes that the tests above this one are no leaves. A test that never ends counts as failed.
func (c *counter) open(pkg, test string) {
	c.result[pkg+"\x00"+test] = "fail"
	for i := strings.LastIndexByte(test, '/'); i > 0; i = strings.LastIndexByte(test[:i], '/') {
		c.parents[pkg+"\x00"+test[:i]] = true
	}
}

func (c *counter) close(key string, e event) {
	delete(c.output, key)
	switch {
	case e.Test != "":
		c.result[key] = e.Action
		if e.Action == "fail" {
			c.failed[e.Package] = true
		}
		if e.Action == "skip" {
			fmt.Fprintf(c.out, "skipped: %s %s\n", e.Package, e.Test)
		}
	case e.Action == "fail" && e.Package != "" && !c.failed[e.Package]:
		c.broken[e.Package] = true
	}
}

func (c *counter) keep(key, text string) {
	b := c.output[key]
	if b == nil {
		b = &bytes.Buffer{}
		c.output[key] = b
	}
	b.WriteString(text)
}

func (c *counter) text(key string) string {
	if b := c.output[key]; b != nil {
		return b.String()
	}
	return ""
}

// ring is the count. A command that failed for a reason that no test shows is one failure more.
func (c *counter) ring(name string, err error) ring {
	r := ring{Name: name, Failed: len(c.broken)}
	var faults, above []string
	for pkg := range c.broken {
		faults = append(faults, fault("fail", pkg))
	}
	for key, result := range c.result {
		switch {
		case result == "pass" && c.parents[key]:
		case result == "pass":
			r.Passed++
		case result == "skip":
			r.Skipped++
			faults = append(faults, fault(result, key))
		case c.parents[key]:
			above = append(above, fault(result, key))
		default:
			r.Failed++
			faults = append(faults, fault(result, key))
		}
	}
	if err != nil && r.Failed == 0 {
		r.Failed = 1
		faults = append(faults, above...)
	}
	slices.Sort(faults)
	r.Faults = strings.Join(faults, "")
	return r
}

// fault is the line that names a test.
func fault(result, key string) string {
	return result + ": " + strings.TrimSpace(strings.ReplaceAll(key, "\x00", " ")) + "\n"
}
