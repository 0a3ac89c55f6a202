// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"bytes"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// LoadDir loads a chart from a directory, except files that its .helmignore excludes. It
// follows symbolic links, as Helm does.
func LoadDir(dir string) (*chart.Chart, error) {
	files, err := DirFiles(dir)
	if err != nil {
		return nil, err
	}
	return LoadFiles(files)
}

// DirFiles returns the files that LoadDir would load, with their original content.
func DirFiles(dir string) ([]*BufferedFile, error) {
	top, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	rules, err := ignoreRules(top)
	if err != nil {
		return nil, err
	}
	r := directoryReader{root: top, rules: rules}
	if err := r.walk(top); err != nil {
		return nil, err
	}
	return r.files, nil
}

func ignoreRules(top string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	name := filepath.Join(top, ignore.HelmIgnore)
	if _, err := os.Stat(name); err == nil {
		if rules, err = ignore.ParseFile(name); err != nil {
			return nil, err
		}
	}
	rules.AddDefaults()
	return rules, nil
}

// directoryReader reads the files of a chart directory, sorted by name.
type directoryReader struct {
	root  string
	rules *ignore.Rules
	files []*BufferedFile
	// linkTargets lists the directories to which the symbolic links in the current path
	// led. They are used to find cycles.
	linkTargets []string
}

func (r *directoryReader) walk(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return r.followLink(path)
	}
	if r.ignores(path, info) {
		return nil
	}
	return r.add(path, path, info)
}

// relativeName returns the path of a file within the chart, with slashes.
func (r *directoryReader) relativeName(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, r.root+string(filepath.Separator)))
}

func (r *directoryReader) ignores(path string, info fs.FileInfo) bool {
	return path != r.root && r.rules.Ignore(r.relativeName(path), info)
}

// followLink reads the target of the symbolic link at path. In the chart, the target has
// the path of the link.
func (r *directoryReader) followLink(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("follow the symbolic link %s: %w", path, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if path != r.root {
		log.Printf("found symbolic link in path: %s resolves to %s. Contents of linked file included and used", path, target)
	}
	if r.ignores(path, info) {
		return nil
	}
	if info.IsDir() {
		for _, l := range append(r.linkTargets, filepath.Dir(path)) {
			if target == l || strings.HasPrefix(l, target+string(filepath.Separator)) {
				return fmt.Errorf("the symbolic link %s points to %s, which contains it: a chart cannot contain itself", path, target)
			}
		}
		r.linkTargets = append(r.linkTargets, target)
		defer func() { r.linkTargets = r.linkTargets[:len(r.linkTargets)-1] }()
	}
	return r.add(path, target, info)
}

// add reads target, a file or directory. path is target itself or a symbolic link to it,
// and determines the name in the chart.
func (r *directoryReader) add(path, target string, info fs.FileInfo) error {
	if !info.IsDir() {
		return r.read(path, r.relativeName(path), info)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.walk(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (r *directoryReader) read(path, name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("cannot load irregular file %s as it has file mode type bits set", path)
	}
	if info.Size() > helmloader.MaxDecompressedFileSize {
		return fmt.Errorf("chart file %q is larger than the maximum file size %d", info.Name(), helmloader.MaxDecompressedFileSize)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("error reading %s: %w", name, err)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark
	r.files = append(r.files, &BufferedFile{Name: name, Data: data})
	return nil
}
