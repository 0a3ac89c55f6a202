// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartrepo"
)

// repositories reads the repository file. What could be read is returned with
// an error, too.
func (a *app) repositories() (*repo.File, error) {
	return chartrepo.LoadFile(a.settings.RepositoryConfig)
}
