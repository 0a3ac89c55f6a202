// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/helmpath"
)

const repoRemoveHelp = `
Remove chart repositories, and delete their cached indexes.

    $ helm repo remove example private
`

func newRepoRemoveCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "remove [REPO1 [REPO2 ...]]",
		Aliases:           []string{"rm"},
		Short:             "remove chart repositories",
		Long:              repoRemoveHelp,
		Args:              require.MinimumNArgs(1),
		ValidArgsFunction: a.completeRepositories,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.removeRepositories(cmd.Context(), args)
		},
	}
}

func (a *app) removeRepositories(ctx context.Context, names []string) error {
	file, err := a.repositories()
	if errors.Is(err, fs.ErrNotExist) || len(file.Repositories) == 0 {
		return errors.New("no repositories configured")
	}
	unlock, err := lockRepositories(ctx, a.settings.RepositoryConfig)
	if err != nil {
		return err
	}
	defer unlock()
	// If only some entries of the file can be read, it must not be overwritten with these.
	if file, err = a.repositories(); err != nil {
		return fmt.Errorf("failed loading file: %s: %w", a.settings.RepositoryConfig, err)
	}
	for _, name := range names {
		if !file.Remove(name) {
			return fmt.Errorf("no repo named %q found", name)
		}
		if err := file.WriteFile(a.settings.RepositoryConfig, repositoryFileMode); err != nil {
			return err
		}
		if err := deleteCachedIndex(a.settings.RepositoryCache, name); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%q has been removed from your repositories\n", name)
	}
	return nil
}

// deleteCachedIndex deletes the cached index of a chart repository, and the cached list of its
// charts. It ignores errors about the list, which only shell completion uses.
func deleteCachedIndex(cache, name string) error {
	_ = os.Remove(filepath.Join(cache, helmpath.CacheChartsFile(name)))
	err := os.Remove(filepath.Join(cache, helmpath.CacheIndexFile(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
