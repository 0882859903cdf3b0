package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestCounting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		err  error
		want ring
	}{
		"a test with subtests is counted by its subtests": {
			in: lines(`{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"run","Package":"p","Test":"A/b/c"}`,
				`{"Action":"pass","Package":"p","Test":"A/b/c"}`, `{"Action":"pass","Package":"p","Test":"A"}`),
			want: ring{Passed: 1},
		},
		"a skipped test is counted apart": {
			in:   lines(`{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"skip","Package":"p","Test":"A"}`),
			want: ring{Skipped: 1, Faults: "skip: p A\n"},
		},
		"a package without tests is no skipped test": {in: lines(`{"Action":"skip","Package":"p"}`)},
		"a failed test is counted once": {
			in: lines(`{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"fail","Package":"p","Test":"A"}`,
				`{"Action":"fail","Package":"p"}`),
			err: errors.New("exit 1"), want: ring{Failed: 1, Faults: "fail: p A\n"},
		},
		"a package that does not compile is a failure": {
			in:  lines(`{"Action":"build-fail","ImportPath":"p"}`, `{"Action":"fail","Package":"p"}`),
			err: errors.New("exit 1"), want: ring{Failed: 1, Faults: "fail: p\n"},
		},
		"a test that never ends is a failure": {
			in: lines(`{"Action":"run","Package":"p","Test":"A"}`), err: errors.New("exit 1"), want: ring{Failed: 1, Faults: "fail: p A\n"},
		},
		"a test that fails though its subtests pass is named": {
			in: lines(`{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"run","Package":"p","Test":"A/b"}`,
				`{"Action":"pass","Package":"p","Test":"A/b"}`, `{"Action":"fail","Package":"p","Test":"A"}`),
			err: errors.New("exit 1"), want: ring{Passed: 1, Failed: 1, Faults: "fail: p A\n"},
		},
		"a command that fails without a test is a failure": {in: "what is this\n", err: errors.New("exit 1"), want: ring{Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter := newCounter(&bytes.Buffer{})
			counter.read(strings.NewReader(c.in))
			if got := counter.ring("", c.err); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheOutputOfAFailureIsShownAndThatOfASuccessIsNot(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := newCounter(&out)
	c.read(strings.NewReader(lines(`{"Action":"output","Package":"p","Test":"A","Output":"quiet\n"}`, `{"Action":"pass","Package":"p","Test":"A"}`,
		`{"Action":"output","Package":"p","Test":"B","Output":"loud\n"}`, `{"Action":"fail","Package":"p","Test":"B"}`)))
	if out.String() != "loud\n" {
		t.Errorf("shown: %q", out.String())
	}
}

func TestTheSum(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rings []ring
		want  string
		fails bool
		asked []string
	}{
		"all good":                               {rings: []ring{{Name: "a", Passed: 2}, {Name: "b", Passed: 3}}, want: "5 passed, 0 failed"},
		"a skipped test fails":                   {rings: []ring{{Name: "a", Passed: 2, Skipped: 1}}, want: "2 passed, 1 failed", fails: true},
		"a ring without tests fails":             {rings: []ring{{Name: "a", Passed: 2}, {Name: "b"}}, want: "2 passed, 1 failed", fails: true},
		"a failure is not hidden by what passes": {rings: []ring{{Name: "a", Passed: 2, Failed: 4}}, want: "2 passed, 4 failed", fails: true},
		"what failed is named again":             {rings: []ring{{Name: "a", Failed: 1, Faults: "fail: p A\n"}, {Name: "b", Passed: 1}}, want: "fail: p A\n1 passed, 1 failed", fails: true},
		"a ring that was asked for and did not run fails": {
			rings: []ring{{Name: "a", Passed: 2}}, asked: []string{"a", "b"}, want: "fail: b: did not run\n2 passed, 1 failed", fails: true,
		},
		"a ring that was asked for and ran is good": {rings: []ring{{Name: "a", Passed: 2}}, asked: []string{"a"}, want: "2 passed, 0 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "results")
			for _, r := range c.rings {
				if err := r.store(file); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			err := run(append([]string{"-results", file, "-total", "--"}, c.asked...), &out)
			if !strings.HasSuffix(out.String(), "\n"+c.want+"\n") || (err != nil) != c.fails {
				t.Errorf("the end is no %q, error %v: %s", c.want, err, out.String())
			}
		})
	}
}

func TestARingIsRunAndCounted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results")
	var out bytes.Buffer
	if err := run([]string{"-results", file, "-ring", "x", "-command", "--", "true"}, &out); err != nil {
		t.Error(err)
	}
	if err := run([]string{"-results", file, "-ring", "y", "-command", "--", "false"}, &out); err == nil {
		t.Error("a command that fails passed")
	}
	if err := run([]string{"-results", file, "-ring", "z", "--", "true"}, &out); err == nil || !strings.Contains(err.Error(), "no tests ran") {
		t.Errorf("a ring without tests passed: %v", err)
	}
}
