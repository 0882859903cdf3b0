package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"offramp.dev/cli/manifest"
)

// skipped is a file of a tree that was passed over.
type skipped struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// withoutTemplates replaces directories that hold unrendered templates by the files that can be read, and tells what it
// passes over. What is named itself is read whatever it is: whoever names a file wants to hear what is wrong with it.
func (a *app) withoutTemplates(paths []string) (out []string, passed []skipped) {
	for _, path := range paths {
		files, templates := treeOf(path)
		if len(templates) == 0 {
			out = append(out, path)
			continue
		}
		out, passed = append(out, files...), append(passed, templates...)
	}
	for _, s := range passed {
		a.say("Passed over: %s: %s.", oneLine(s.File), s.Why)
	}
	return out, passed
}

// treeOf splits the manifests below a directory. What cannot be walked is left to the reader, which tells what is wrong.
func treeOf(root string) (files []string, templates []skipped) {
	if info, err := os.Stat(root); root == "-" || err != nil || !info.IsDir() {
		return nil, nil
	}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			files = append(files, path)
		case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(strings.TrimSuffix(path, ".gz"))):
		case !isRegular(path): // As in every directory: a link may lead in a circle, and a pipe may never end.
		case isTemplate(path):
			templates = append(templates, skipped{path, templateText(path)})
		default:
			files = append(files, path)
		}
		return nil
	})
	return files, templates
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// largestTemplate that is looked for; a longer file is data, and is read as a stream.
const largestTemplate = 1 << 20

// isTemplate tells a template from a manifest that holds template text as data: only the former cannot be read.
func isTemplate(path string) bool {
	info, err := os.Stat(path)
	if ext := filepath.Ext(path); err != nil || info.Size() > largestTemplate || ext != ".yaml" && ext != ".yml" {
		return false
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil || !bytes.Contains(text, []byte("{{")) && !bytes.Contains(text, []byte("{%")) {
		return false
	}
	broken := false
	reader := manifest.Reader{
		Each:    func(manifest.Object) error { return nil },
		Problem: func(*manifest.Error) { broken = true },
	}
	reader.Stream(path, bytes.NewReader(text))
	return broken
}

// templateText says what to do, and whether the template knows the field.
func templateText(path string) string {
	out := "looks like a template: render it first (helm template, kustomize build) and give what comes out"
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return out
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if bytes.Contains(line, []byte("externalIPs")) {
			return out + fmt.Sprintf("; it names externalIPs in line %d", i+1)
		}
	}
	return out
}
