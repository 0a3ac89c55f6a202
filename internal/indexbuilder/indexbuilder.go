// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package indexbuilder creates the index of a chart repository from the chart archives in a
// directory. In contrast to Helm, it accepts every Chart.yaml that package chartloader
// accepts, and reports which archives it skips. The index contains only the fields that stock
// Helm knows, because stock Helm rejects an index with other fields.
package indexbuilder

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"

	"helm.sh/helm/v3/pkg/provenance"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// SkippedArchive describes a chart archive that is not in the index because it could not be
// loaded.
type SkippedArchive struct {
	// Path is the path of the archive, relative to the indexed directory.
	Path string
	// Reason is the error that occurred when the archive was loaded.
	Reason error
}

// FromDirectory creates an index of the chart archives (*.tgz) in the directory dir and in its
// immediate subdirectories. The index is not sorted. base is the URL of the repository. If
// it is empty, the URLs in the index are relative.
func FromDirectory(dir, base string) (*repo.IndexFile, []SkippedArchive, error) {
	archives, err := findArchives(dir)
	if err != nil {
		return nil, nil, err
	}
	index := repo.NewIndexFile()
	var skipped []SkippedArchive
	for _, name := range archives {
		chart, err := chartloader.Load(filepath.Join(dir, name))
		if err != nil {
			skipped = append(skipped, SkippedArchive{Path: name, Reason: err})
			continue
		}
		digest, err := provenance.DigestFile(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		subdirectory, file := filepath.Split(name)
		if err := index.MustAdd(chart.Metadata, file, joinURL(base, filepath.Dir(subdirectory)), digest); err != nil {
			return nil, nil, fmt.Errorf("failed adding to %s to index: %w", file, err) // the same text as in Helm
		}
	}
	return index, skipped, nil
}

// findArchives returns the paths of the chart archives in dir, followed by those in its
// immediate subdirectories. The paths are relative to dir.
func findArchives(dir string) ([]string, error) {
	var archives []string
	for _, pattern := range []string{"*.tgz", filepath.Join("*", "*.tgz")} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			relative, err := filepath.Rel(dir, name)
			if err != nil {
				return nil, err
			}
			archives = append(archives, relative)
		}
	}
	return archives, nil
}

// joinURL appends a relative directory to the URL base. For the directory ".", it appends
// nothing.
func joinURL(base, dir string) string {
	if dir == "." {
		dir = ""
	}
	dir = filepath.ToSlash(dir)
	u, err := url.Parse(base)
	if err != nil {
		return path.Join(base, dir)
	}
	u.Path = path.Join(u.Path, dir)
	return u.String()
}
