// Command runcwrap runs runc with what this machine may give. Where CAP_SYS_RESOURCE is missing from the bounding set, an
// engine that asks for every capability (docker run --privileged) and a negative OOM score fails; this wrapper takes both
// requests out of the OCI documents before runc reads them. Everything else is passed on as it came.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	runc    = "/usr/sbin/runc"
	missing = "CAP_SYS_RESOURCE"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "runcwrap:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if slices.Contains(args, "create") || slices.Contains(args, "run") {
		if dir := option(args, "--bundle", "-b"); dir != "" {
			if err := edit(filepath.Join(dir, "config.json"), bundle); err != nil {
				return err
			}
		}
	}
	if file := option(args, "--process", "-p"); slices.Contains(args, "exec") && file != "" {
		if err := edit(file, relieve); err != nil {
			return err
		}
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// option is the value of a flag in either spelling, "" where it is not given.
func option(args []string, names ...string) string {
	for i, a := range args {
		for _, n := range names {
			if a == n && i+1 < len(args) {
				return args[i+1]
			}
			if v, ok := strings.CutPrefix(a, n+"="); ok {
				return v
			}
		}
	}
	return ""
}

func edit(file string, change func(map[string]any)) error {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	change(doc)
	if text, err = json.Marshal(doc); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o600)
}

func bundle(doc map[string]any) {
	if process, ok := doc["process"].(map[string]any); ok {
		relieve(process)
	}
}

// relieve drops the capability from every set of a process and lifts a negative OOM score to 0.
func relieve(process map[string]any) {
	if score, ok := process["oomScoreAdj"].(float64); ok && score < 0 {
		process["oomScoreAdj"] = 0
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, set := range sets {
		if list, ok := set.([]any); ok {
			sets[name] = slices.DeleteFunc(list, func(c any) bool { return c == missing })
		}
	}
}
