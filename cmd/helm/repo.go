// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartrepo"
)

const repoHelp = `
Manage the chart repositories that are configured by name, and create the index of a
repository of your own.

    $ helm repo add example https://example.com/charts
    $ helm repo list
    $ helm repo update
    $ helm search repo example/
    $ helm repo remove example

The repositories are stored in $HELM_REPOSITORY_CONFIG, and their indexes in
$HELM_REPOSITORY_CACHE.
`

// defaultFetchTimeout is the timeout for downloading the index of a repository, if
// --timeout is not set.
const defaultFetchTimeout = getter.DefaultHTTPTimeout * time.Second

// repositoryFileMode is the mode of the repository file. Other users must not read the
// passwords in it.
const repositoryFileMode = 0o600

func newRepoCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo add|remove|list|index|update [ARGS]",
		Short: "add, list, update, remove and index chart repositories",
		Long:  repoHelp,
		Args:  require.NoArgs,
	}
	cmd.AddCommand(
		newRepoAddCmd(a),
		newRepoIndexCmd(a),
		newRepoListCmd(a),
		newRepoRemoveCmd(a),
		newRepoUpdateCmd(a),
	)
	return cmd
}

// openRepository returns a client for the repository that entry describes. timeout limits
// the download of the index.
func (a *app) openRepository(entry *repo.Entry, timeout time.Duration) (*repo.ChartRepository, error) {
	r, err := repo.NewChartRepository(entry, getter.All(a.settings, getter.WithTimeout(timeout)))
	if err != nil {
		return nil, err
	}
	if a.settings.RepositoryCache != "" {
		r.CachePath = a.settings.RepositoryCache
	}
	return r, nil
}

// repositories reads the repository file. If it returns an error, it also returns the
// entries that it could read.
func (a *app) repositories() (*repo.File, error) {
	return chartrepo.LoadFile(a.settings.RepositoryConfig)
}
