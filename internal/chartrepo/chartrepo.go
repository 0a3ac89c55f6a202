// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartrepo reads the file of chart repositories and fetches their indexes.
package chartrepo

import (
	"slices"

	"helm.sh/helm/v3/pkg/repo"
)

// LoadFile reads a repository file, without empty entries. If it returns an error, it also
// returns the entries that it could read.
func LoadFile(name string) (*repo.File, error) {
	file, err := repo.LoadFile(name)
	file.Repositories = slices.DeleteFunc(file.Repositories, func(entry *repo.Entry) bool { return entry == nil })
	return file, err
}

// Fetch fetches the indexes of repositories in parallel. It reports the result of each, in
// the order of the repositories, as soon as it is known. It returns when all requests have
// finished.
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
