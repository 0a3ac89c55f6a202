// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package repoindex creates the index of a chart repository from a directory of packages.
// Unlike Helm, it includes charts whose Chart.yaml only the loader of Ordered Helm accepts,
// and reports the packages that it omits. The index contains only Helm's own fields,
// because Helm rejects an index with other fields.
package repoindex

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"

	"helm.sh/helm/v3/pkg/provenance"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Skipped is a package that could not be loaded.
type Skipped struct {
	// Path is the path of the package, relative to the indexed directory.
	Path string
	// Reason is the error of the loader.
	Reason error
}

// Directory indexes the packages (*.tgz) of a directory and its immediate subdirectories.
// The index is not sorted. The URLs begin with base. If base is empty, they are relative.
func Directory(folder, base string) (*repo.IndexFile, []Skipped, error) {
	packages, err := find(folder)
	if err != nil {
		return nil, nil, err
	}
	index := repo.NewIndexFile()
	var skipped []Skipped
	for _, name := range packages {
		chart, err := chartloader.Load(filepath.Join(folder, name))
		if err != nil {
			skipped = append(skipped, Skipped{Path: name, Reason: err})
			continue
		}
		digest, err := provenance.DigestFile(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		within, file := filepath.Split(name)
		if err := index.MustAdd(chart.Metadata, file, join(base, filepath.Dir(within)), digest); err != nil {
			return nil, nil, fmt.Errorf("failed adding to %s to index: %w", file, err) // the same text as in Helm
		}
	}
	return index, skipped, nil
}

// find returns the packages of a directory, followed by those of its immediate
// subdirectories. The paths are relative to the directory.
func find(folder string) ([]string, error) {
	var packages []string
	for _, pattern := range []string{"*.tgz", filepath.Join("*", "*.tgz")} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			relative, err := filepath.Rel(folder, name)
			if err != nil {
				return nil, err
			}
			packages = append(packages, relative)
		}
	}
	return packages, nil
}

// join appends the path of a directory to a URL. For the directory ".", it appends nothing.
func join(base, folder string) string {
	if folder == "." {
		folder = ""
	}
	folder = filepath.ToSlash(folder)
	u, err := url.Parse(base)
	if err != nil {
		return path.Join(base, folder)
	}
	u.Path = path.Join(u.Path, folder)
	return u.String()
}
