// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartrepo reads the file in which Helm stores the chart repositories that the
// user added, and downloads the indexes of these repositories.
package chartrepo

import (
	"slices"

	"helm.sh/helm/v3/pkg/repo"
)

// LoadFile reads the repository file with this name. It skips empty entries. If it returns
// an error, the result still has the entries that could be read.
func LoadFile(name string) (*repo.File, error) {
	file, err := repo.LoadFile(name)
	file.Repositories = slices.DeleteFunc(file.Repositories, func(entry *repo.Entry) bool { return entry == nil })
	return file, err
}

// Fetch downloads the indexes of repositories in parallel, and returns when all downloads
// have finished. It calls report for each repository in the given order, as soon as the
// result is known.
func Fetch(repositories []*repo.ChartRepository, report func(*repo.ChartRepository, error)) {
	outcomes := make([]chan error, len(repositories))
	for i, r := range repositories {
		outcomes[i] = make(chan error, 1)
		go func() {
			_, err := r.DownloadIndexFile()
			outcomes[i] <- err
		}()
	}
	for i, r := range repositories {
		report(r, <-outcomes[i])
	}
}
