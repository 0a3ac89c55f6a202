// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package repoindex creates the index of a chart repository from the chart archives in a
// directory. Unlike Helm, it accepts each Chart.yaml that package chartloader accepts, and
// reports which archives it leaves out. The index has only the fields that Helm knows,
// because Helm rejects an index with others.
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

// Skipped describes a chart archive that is not in the index because it could not be
// loaded.
type Skipped struct {
	// Path is the path of the archive, relative to the indexed directory.
	Path string
	// Reason is the error that occurred when the archive was loaded.
	Reason error
}

// Directory creates an index of the archives (*.tgz) in a directory and in its immediate
// subdirectories. The index is not sorted. base is the URL of the repository. If it is
// empty, the URLs in the index are relative.
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

// find returns the archives in a directory, followed by those in its immediate
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

// join appends a relative directory to a URL. It appends nothing for the directory ".".
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
