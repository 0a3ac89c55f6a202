// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
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

// defaultFetchTimeout is the default timeout for downloading the index of a chart repository.
const defaultFetchTimeout = getter.DefaultHTTPTimeout * time.Second

// repositoryFileMode is the file mode of the repository file. It can contain passwords, so
// other users must not be able to read it.
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

// openRepository returns a client for the chart repository that entry describes. timeout
// limits how long the download of the index can take.
func (a *app) openRepository(ctx context.Context, entry *repo.Entry, timeout time.Duration) (*repo.ChartRepository, error) {
	r, err := repo.NewChartRepository(entry, a.getters(ctx, getter.WithTimeout(timeout)))
	if err != nil {
		return nil, err
	}
	if a.settings.RepositoryCache != "" {
		r.CachePath = a.settings.RepositoryCache
	}
	return r, nil
}

// repositories reads the repository file, which lists the configured chart repositories. In
// case of an error, it also returns the entries that could be read.
func (a *app) repositories() (*repo.File, error) {
	return chartrepo.LoadFile(a.settings.RepositoryConfig)
}

// retiredRepositories contains Helm's first public chart repositories, with the names under
// which they were usually added. They have moved from host to replacement.
var retiredRepositories = []struct{ name, host, replacement string }{
	{"stable", "kubernetes-charts.storage.googleapis.com", "https://charts.helm.sh/stable"},
	{"incubator", "kubernetes-charts-incubator.storage.googleapis.com", "https://charts.helm.sh/incubator"},
}

// rejectRetiredRepository returns an error if address is the URL of a retired repository. The
// error message contains the new URL.
func rejectRetiredRepository(address string) error {
	for _, r := range retiredRepositories {
		if strings.Contains(address, "//"+r.host) {
			return fmt.Errorf("repo %q is no longer available; try %q instead", address, r.replacement)
		}
	}
	return nil
}

// warnOfRetiredRepositories warns if the repository file contains a retired repository under
// its usual name. If the file cannot be read, it does nothing: commands that need the file
// report the error.
func (a *app) warnOfRetiredRepositories() {
	file, err := a.repositories()
	if err != nil {
		return
	}
	for _, r := range retiredRepositories {
		if entry := file.Get(r.name); entry != nil && strings.Contains(entry.URL, r.host) {
			a.warnf("%q is deprecated for %q and will be deleted Nov. 13, 2020.", r.host, r.name)
			a.warnf("You should switch to %q via:", r.replacement)
			a.warnf("helm repo add %q %q --force-update", r.name, r.replacement)
		}
	}
}
