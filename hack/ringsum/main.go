// Command ringsum runs one ring of tests, counts what it did, and sums the rings up.
//
//	ringsum -results FILE -ring NAME -- go test -json ...   runs and counts tests
//	ringsum -results FILE -ring NAME -command -- CMD ...    runs a command that counts as one test
//	ringsum -results FILE -total -- NAME ...                prints a line per ring and, last, "N passed, N failed"
//
// A skipped test is a failure, and so are a ring without tests and one that the total was told of and that did not run: a
// check that did not run checks nothing. The total repeats the names of what failed, for whoever sees no more than the end.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ringsum:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("ringsum", flag.ContinueOnError)
	results := fs.String("results", "", "File that the rings of one run share.")
	name := fs.String("ring", "", "Name of the ring to run.")
	command := fs.Bool("command", false, "The command is no go test: it counts as one test.")
	total := fs.Bool("total", false, "Print the sum of all rings.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *results == "" || (*name == "") != *total {
		return errors.New("needs -results, and either -ring or -total")
	}
	if *total {
		return sumUp(*results, fs.Args(), out)
	}
	from := time.Now()
	r := runRing(*name, *command, fs.Args(), out)
	r.Seconds = int(time.Since(from).Seconds())
	fmt.Fprintln(out, r)
	return errors.Join(r.store(*results), r.err())
}

// runRing runs the command and counts. What the command writes to its stderr is passed on.
func runRing(name string, command bool, argv []string, out io.Writer) ring {
	if len(argv) == 0 {
		return ring{Name: name, Failed: 1}
	}
	fmt.Fprintf(out, "=== ring %s: %s\n", name, strings.Join(short(argv), " "))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if command {
		cmd.Stdout = out
		return ofCommand(name, cmd.Run())
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return ring{Name: name, Failed: 1}
	}
	c := newCounter(out)
	c.read(pipe)
	return c.ring(name, cmd.Wait())
}

func ofCommand(name string, err error) ring {
	if err != nil {
		return ring{Name: name, Failed: 1, Faults: fault("fail", name+": "+err.Error())}
	}
	return ring{Name: name, Passed: 1}
}

// short is a command line that fits on a screen.
func short(argv []string) []string {
	if len(argv) <= 12 {
		return argv
	}
	return append(append([]string{}, argv[:10]...), fmt.Sprintf("... (%d more)", len(argv)-10))
}

// ring is the result of one ring.
type ring struct {
	Name                    string
	Passed, Failed, Skipped int
	// Seconds is how long it took.
	Seconds int
	// Faults names what failed or was skipped, one a line.
	Faults string
}

func (r ring) String() string {
	return fmt.Sprintf("ring %-12s %6d passed %4d failed %4d skipped %6d s", r.Name, r.Passed, r.Failed, r.Skipped, r.Seconds)
}

func (r ring) err() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("ring %s: %d failed", r.Name, r.Failed)
	case r.Skipped > 0:
		return fmt.Errorf("ring %s: %d skipped, and a skipped test checks nothing", r.Name, r.Skipped)
	case r.Passed == 0:
		return fmt.Errorf("ring %s: no tests ran", r.Name)
	}
	return nil
}

func (r ring) store(file string) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return json.NewEncoder(f).Encode(r)
}

// sumUp prints the rings and the sum; a skipped test, an empty ring and one that is missing count as failed.
func sumUp(file string, wanted []string, out io.Writer) error {
	rings, err := load(file)
	if err != nil {
		return err
	}
	var passed, failed int
	var faults strings.Builder
	fmt.Fprintln(out)
	for _, r := range append(rings, missing(wanted, rings)...) {
		fmt.Fprintln(out, r)
		passed, failed = passed+r.Passed, failed+r.Failed+r.Skipped
		if r.Passed+r.Failed+r.Skipped == 0 {
			failed++
		}
		faults.WriteString(r.Faults)
	}
	fmt.Fprintf(out, "\n%s%d passed, %d failed\n", faults.String(), passed, failed)
	if failed > 0 || passed == 0 {
		return fmt.Errorf("%d failed", failed)
	}
	return nil
}

func load(file string) ([]ring, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rings []ring
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var r ring
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		rings = append(rings, r)
	}
	return rings, nil
}

// missing are the rings that were to run and left no result.
func missing(wanted []string, ran []ring) []ring {
	var out []ring
	for _, name := range wanted {
		if !slices.ContainsFunc(ran, func(r ring) bool { return r.Name == name }) {
			out = append(out, ring{Name: name, Faults: fault("fail", name+": did not run")})
		}
	}
	return out
}
