// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartrepo"
)

const repoUpdateHelp = `
Download the indexes of chart repositories: of all configured ones, or of the given
ones. Searches and installations use the downloaded indexes.

    $ helm repo update
    $ helm repo update example private

If a repository cannot be reached, its previous index is kept. The command then fails only
with --fail-on-repo-update-fail.
`

func newRepoUpdateCmd(a *app) *cobra.Command {
	var (
		timeout time.Duration
		strict  bool
	)
	cmd := &cobra.Command{
		Use:               "update [REPO1 [REPO2 ...]]",
		Aliases:           []string{"up"},
		Short:             "download the indexes of chart repositories",
		Long:              repoUpdateHelp,
		Args:              require.MinimumNArgs(0),
		ValidArgsFunction: a.completeRepositories,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.updateRepositories(cmd.Context(), args, timeout, strict)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", defaultFetchTimeout, "time to wait for the download of an index")
	f.BoolVar(&strict, "fail-on-repo-update-fail", false, "fail if any repository could not be updated")
	return cmd
}

// updateRepositories downloads the indexes of the named chart repositories, or of all
// configured ones if names is empty. If a download fails, it returns an error only if strict
// is true.
func (a *app) updateRepositories(ctx context.Context, names []string, timeout time.Duration, strict bool) error {
	entries, err := a.entriesToUpdate(names)
	if err != nil {
		return err
	}
	var repositories []*repo.ChartRepository
	for _, entry := range entries {
		r, err := a.openRepository(ctx, entry, timeout)
		if err != nil {
			return err
		}
		repositories = append(repositories, r)
	}
	fmt.Fprintln(a.out, "Hang tight while we grab the latest from your chart repositories...")
	if failed := a.fetchIndexes(repositories); len(failed) > 0 && strict {
		return fmt.Errorf("Failed to update the following repositories: %s", failed) //nolint:staticcheck // Helm's message
	}
	fmt.Fprintln(a.out, "Update Complete. ⎈Happy Helming!⎈")
	return nil
}

// entriesToUpdate returns the configured repositories with the given names, or all configured
// ones if names is empty.
func (a *app) entriesToUpdate(names []string) ([]*repo.Entry, error) {
	file, err := a.repositories()
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(file.Repositories) == 0:
		return nil, errors.New("no repositories found. You must add one before updating")
	case err != nil:
		return nil, fmt.Errorf("failed loading file: %s: %w", a.settings.RepositoryConfig, err)
	case len(names) == 0:
		return file.Repositories, nil
	}
	for _, name := range names {
		if !file.Has(name) {
			return nil, fmt.Errorf("no repositories found matching '%s'.  Nothing will be updated", name)
		}
	}
	return slices.DeleteFunc(file.Repositories, func(entry *repo.Entry) bool {
		return !slices.Contains(names, entry.Name)
	}), nil
}

// fetchIndexes downloads the indexes, prints a line for each repository, and returns the
// URLs of the repositories whose download failed.
func (a *app) fetchIndexes(repositories []*repo.ChartRepository) (failed []string) {
	chartrepo.Fetch(repositories, func(r *repo.ChartRepository, err error) {
		if err != nil {
			fmt.Fprintf(a.out, "...Unable to get an update from the %q chart repository (%s):\n\t%s\n", r.Config.Name, r.Config.URL, err)
			failed = append(failed, r.Config.URL)
			return
		}
		fmt.Fprintf(a.out, "...Successfully got an update from the %q chart repository\n", r.Config.Name)
	})
	return failed
}
