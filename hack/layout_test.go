// Package hack holds what builds, checks and documents the product.
package hack

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure are the packages that decide: they get values and give values.
var pure = []string{"inventory", "migration", "addresspool", "gateway", "dnsctl"}

// far is what a pure package may not reach over any number of imports.
var far = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/miekg/dns"}

// near is what a pure package may not import itself.
var near = []string{"net", "net/http", "os", "os/exec", "log", "log/slog", "syscall", "k8s.io/klog/v2", "github.com/go-logr/logr"}

func TestPurePackagesReachNoClientHoweverFar(t *testing.T) {
	t.Parallel()
	for _, name := range pure {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deps := dependencies(t, "offramp.dev/"+name)
			if len(deps) == 0 {
				t.Fatal("go list named no packages")
			}
			for _, d := range deps {
				for _, bad := range far {
					if d == bad || strings.HasPrefix(d, bad+"/") {
						t.Errorf("reaches %s", d)
					}
				}
			}
		})
	}
}

func TestPurePackagesDoNoInputOrOutputLookAtNoClockAndStartNoGoroutine(t *testing.T) {
	t.Parallel()
	for _, name := range pure {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := sources(t, filepath.Join("..", name))
			if len(files) == 0 {
				t.Fatal("no sources")
			}
			for _, f := range files {
				for _, complaint := range impurities(t, f) {
					t.Error(complaint)
				}
			}
		})
	}
}

func TestImpuritiesAreFound(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.go")
	write(t, file, "package x\nimport (\n\"os\"\ntm \"time\"\n)\nfunc f() { go f(); _ = tm.Now(); _ = tm.Since(tm.Time{}); os.Exit(1) }\n")
	if got := impurities(t, file); len(got) != 4 {
		t.Errorf("want os, go, Now and Since, got %v", got)
	}
}

func TestTheImportDirectionsHold(t *testing.T) {
	t.Parallel()
	for from, never := range map[string][]string{
		"offramp.dev/api/v1alpha1": {"offramp.dev/addresspool", "offramp.dev/migration", "k8s.io/client-go"},
		"offramp.dev/inventory":    {"offramp.dev/migration", "offramp.dev/observe"},
		"offramp.dev/migration":    {"offramp.dev/observe", "offramp.dev/controllers"},
		"offramp.dev/observe":      {"offramp.dev/controllers", "offramp.dev/sim", "offramp.dev/cli"},
		"offramp.dev/controllers":  {"offramp.dev/sim", "offramp.dev/cli", "offramp.dev/agent"},
		"offramp.dev/cli":          {"offramp.dev/controllers", "offramp.dev/sim"},
		"offramp.dev/guard":        {"offramp.dev/migration", "k8s.io/client-go", "k8s.io/apiserver"},
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			deps := dependencies(t, from)
			for _, bad := range never {
				if slices.Contains(deps, bad) || slices.ContainsFunc(deps, func(d string) bool { return strings.HasPrefix(d, bad+"/") }) {
					t.Errorf("reaches %s", bad)
				}
			}
		})
	}
}

func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath", pkg)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	var out []string
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p struct{ ImportPath string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.ImportPath)
	}
}

func sources(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// impurities are a file's forbidden imports, looks at the clock and goroutines.
func impurities(t *testing.T, file string) []string {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	clock := ""
	for _, i := range tree.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(near, path) {
			out = append(out, set.Position(i.Pos()).String()+": imports "+path)
		}
		if path == "time" {
			clock = "time"
			if i.Name != nil {
				clock = i.Name.Name
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if what := impure(n, clock); what != "" {
			out = append(out, set.Position(n.Pos()).String()+": "+what)
		}
		return true
	})
	return out
}

func impure(n ast.Node, clock string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if ok && clock != "" && x.Name == clock && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "Tick"}, n.Sel.Name) {
			return "looks at the clock: time." + n.Sel.Name
		}
	}
	return ""
}

func TestPackagesAreNamedAfterTheProblem(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if d.IsDir() && slices.Contains([]string{"util", "utils", "common", "helpers", "types", "internal"}, d.Name()) {
			t.Errorf("%s says nothing: name the package after what it is about", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
