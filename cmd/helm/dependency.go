// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/dependency"
	"github.com/ordered-helm/helm/pkg/action"
)

const dependencyHelp = `
List, update or rebuild the charts that a chart depends on.

A chart declares its dependencies in Chart.yaml, and contains them as archives or
directories in its charts directory:

    dependencies:
      - name: database
        version: ^2.1.0
        repository: https://charts.example.com
      - name: cache
        version: 1.4.2
        repository: oci://registry.example.com/charts
      - name: queue
        version: ">=1"
        repository: file://../queue

A repository is a URL, the name of a repository that was added ("@name" or
"alias:name"), a registry, or a directory; without one, the dependency must already be in
the charts directory. With "depends-on", a dependency names others that are deployed
before it: see "helm dag".

Charts of the format helm.sh/v3 also declare libraries, of which they use only the named
templates. Libraries are in the library directory.
`

const dependencyListHelp = `
Print the dependencies and libraries of a chart, and which of them it contains.

    $ helm dependency list ./shop
    $ helm dependency list shop-1.2.0.tgz
`

const dependencyUpdateHelp = `
Download the newest versions of a chart's dependencies that Chart.yaml allows into its
charts directory, and remove outdated ones. The versions are written to Chart.lock, from
which "helm dependency build" downloads the same versions again. Of a library, the newest
version is downloaded that the chart and all its subcharts allow.

    $ helm dependency update ./shop
    $ helm dependency update ./shop --skip-refresh
`

const dependencyBuildHelp = `
Download the versions of a chart's dependencies that are listed in Chart.lock into its
charts directory. Without that file, this is the same as "helm dependency update".

    $ helm dependency build ./shop
`

func newDependencyCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dependency update|build|list",
		Aliases: []string{"dep", "dependencies"},
		Short:   "list and download the charts that a chart depends on",
		Long:    dependencyHelp,
		Args:    require.NoArgs,
	}
	cmd.AddCommand(newDependencyListCmd(a), newDependencyUpdateCmd(a), newDependencyBuildCmd(a))
	return cmd
}

func newDependencyListCmd(a *app) *cobra.Command {
	client := action.NewDependency()
	cmd := &cobra.Command{
		Use:     "list CHART",
		Aliases: []string{"ls"},
		Short:   "list a chart's dependencies",
		Long:    dependencyListHelp,
		Args:    require.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return client.List(chartDirectory(args), a.out)
		},
	}
	cmd.Flags().UintVar(&client.ColumnWidth, "max-col-width", client.ColumnWidth, "maximum width of columns, in characters")
	return cmd
}

func newDependencyUpdateCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update CHART",
		Aliases: []string{"up"},
		Short:   "download the newest dependencies that Chart.yaml allows",
		Long:    dependencyUpdateHelp,
	}
	return newDependencyFetchCmd(a, cmd, downloader.VerifyAlways, (*dependency.Manager).Update)
}

func newDependencyBuildCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build CHART",
		Short: "download the dependencies that Chart.lock lists",
		Long:  dependencyBuildHelp,
	}
	return newDependencyFetchCmd(a, cmd, downloader.VerifyIfPossible, func(m *dependency.Manager, ctx context.Context) error {
		err := m.Build(ctx)
		if _, unknown := errors.AsType[downloader.ErrRepoNotFound](err); unknown {
			return fmt.Errorf("%w. Please add the missing repos via 'helm repo add'", err)
		}
		return err
	})
}

// newDependencyFetchCmd adds flags to cmd, and makes cmd call fetch, which downloads
// dependencies. strategy says which signatures are verified if --verify is set.
func newDependencyFetchCmd(a *app, cmd *cobra.Command, strategy downloader.VerificationStrategy, fetch func(*dependency.Manager, context.Context) error) *cobra.Command {
	var (
		o                   registryOptions
		keyring             string
		verify, skipRefresh bool
	)
	cmd.Args = require.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		manager, err := a.dependencyManager(cmd.Context(), o, keyring)
		if err != nil {
			return err
		}
		manager.ChartPath, manager.SkipUpdate = chartDirectory(args), skipRefresh
		if verify {
			manager.Verify = strategy
		}
		return fetch(manager, cmd.Context())
	}
	f := cmd.Flags()
	f.BoolVar(&verify, "verify", false, "verify the signatures of downloaded packages")
	f.StringVar(&keyring, "keyring", defaultKeyring(), "file with the public keys for verifying signatures")
	f.BoolVar(&skipRefresh, "skip-refresh", false, "use the cached repository indexes without refreshing them")
	addRegistryFlags(f, &o)
	return cmd
}

// chartDirectory returns the first argument, or the current directory if there is none.
func chartDirectory(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return filepath.Clean(args[0])
}

// dependencyManager returns a manager that downloads dependencies. The caller must set its
// field ChartPath.
func (a *app) dependencyManager(ctx context.Context, o registryOptions, keyring string) (*dependency.Manager, error) {
	registryClient, err := a.registryClient(o)
	if err != nil {
		return nil, err
	}
	return a.dependenciesOf(ctx, "", keyring, registryClient), nil
}

// dependenciesOf returns a manager that downloads the dependencies of the chart at
// chartPath.
func (a *app) dependenciesOf(ctx context.Context, chartPath, keyring string, registryClient *registry.Client) *dependency.Manager {
	return &dependency.Manager{
		Out:              a.out,
		ChartPath:        chartPath,
		Keyring:          keyring,
		Getters:          a.getters(ctx),
		RegistryClient:   registryClient,
		RepositoryConfig: a.settings.RepositoryConfig,
		RepositoryCache:  a.settings.RepositoryCache,
		Debug:            a.settings.Debug,
	}
}
