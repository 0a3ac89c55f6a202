// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartrepo reads the file in which "helm repo add" stores chart repositories, and
// downloads the indexes of these repositories.
package chartrepo

import (
	"slices"

	"helm.sh/helm/v3/pkg/repo"
)

// LoadFile reads the repository file at path, and omits empty entries. Even if it returns an
// error, the result is not nil.
func LoadFile(path string) (*repo.File, error) {
	file, err := repo.LoadFile(path)
	file.Repositories = slices.DeleteFunc(file.Repositories, func(entry *repo.Entry) bool { return entry == nil })
	return file, err
}

// Fetch downloads the indexes of repositories in parallel, and waits for all downloads. It
// calls report for each repository with the error of its download, in the order of
// repositories and as early as possible.
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
