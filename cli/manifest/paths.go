package manifest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Paths reads files, directories (recursively, in lexical order, files named like manifests) and "-" for stdin. It ends
// early only with the context.
func (r *Reader) Paths(ctx context.Context, paths []string, stdin io.Reader) error {
	for _, path := range paths {
		if path == "-" {
			r.Stream("stdin", stdin)
		} else {
			r.path(ctx, path)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading manifests: %w", err)
		}
	}
	return nil
}

func (r *Reader) path(ctx context.Context, root string) {
	info, err := os.Stat(root)
	if err != nil {
		r.Problem(&Error{Origin{Source: root}, err})
		return
	}
	if !info.IsDir() {
		r.file(root)
		return
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			r.Problem(&Error{Origin{Source: path}, err})
		} else if !entry.IsDir() && isManifest(path) && isFile(path) {
			r.file(path)
		}
		return ctx.Err()
	})
	if err != nil && ctx.Err() == nil {
		r.Problem(&Error{Origin{Source: root}, err})
	}
}

// isManifest goes by the name, as kubectl does in directories.
func isManifest(path string) bool {
	switch filepath.Ext(strings.TrimSuffix(path, ".gz")) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

// isFile follows links to files, not to directories: a link may lead in a circle.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (r *Reader) file(path string) {
	file, err := os.Open(path)
	if err != nil {
		r.Problem(&Error{Origin{Source: path}, err})
		return
	}
	defer func() { _ = file.Close() }()
	r.Stream(path, file)
}
