// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package repoindex makes the index of a chart repository from a folder of
// packages. Unlike Helm's it lists charts whose Chart.yaml only our loader
// accepts, and tells which packages it left out. What it writes holds Helm's own
// fields alone: Helm refuses an index with any other.
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

// Skipped is a package that no loader can load.
type Skipped struct {
	// Path is that of the package, from the indexed folder on.
	Path string
	// Reason is what the loader says.
	Reason error
}

// Directory indexes the packages (*.tgz) of a folder and of the folders in it,
// unsorted. Their URLs begin with base; they are relative if it is empty.
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
			return nil, nil, fmt.Errorf("failed adding to %s to index: %w", file, err) // Helm's words
		}
	}
	return index, skipped, nil
}

// find lists the packages of a folder and of the folders in it, from that folder
// on: those of the folder itself first.
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

// join puts a folder behind a URL. "." adds nothing to a URL, and is no URL by
// itself.
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
