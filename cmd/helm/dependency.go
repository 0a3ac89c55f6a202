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
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/dependency"
	"github.com/ordered-helm/helm/pkg/action"
)

const dependencyHelp = `
List, update or rebuild the charts that a chart depends on.

A chart names its dependencies in Chart.yaml, and has them as archives or
folders in its charts folder:

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

A repository is a URL, the name of one that was added ("@name" or "alias:name"),
a registry, or a folder; without one the dependency is in the charts folder
already. With "depends-on" an entry says which of the others come before it:
see "helm dag".
`

const dependencyListHelp = `
Print what a chart depends on, and how much of it is in its charts folder.

    $ helm dependency list ./shop
    $ helm dependency list shop-1.2.0.tgz
`

const dependencyUpdateHelp = `
Fetch the newest versions of a chart's dependencies that Chart.yaml allows into
its charts folder, and take older ones out. The versions are written into
Chart.lock, from which "helm dependency build" fetches the same again.

    $ helm dependency update ./shop
    $ helm dependency update ./shop --skip-refresh
`

const dependencyBuildHelp = `
Fetch the versions of a chart's dependencies that its Chart.lock names into its
charts folder. Without that file, do what "helm dependency update" does.

    $ helm dependency build ./shop
`

func newDependencyCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dependency update|build|list",
		Aliases: []string{"dep", "dependencies"},
		Short:   "list and fetch the charts that a chart depends on",
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
			return client.List(chartFolder(args), a.out)
		},
	}
	cmd.Flags().UintVar(&client.ColumnWidth, "max-col-width", client.ColumnWidth, "width in characters at which columns are cut off")
	return cmd
}

func newDependencyUpdateCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update CHART",
		Aliases: []string{"up"},
		Short:   "fetch the newest dependencies that Chart.yaml allows",
		Long:    dependencyUpdateHelp,
	}
	return newDependencyFetchCmd(a, cmd, downloader.VerifyAlways, (*dependency.Manager).Update)
}

func newDependencyBuildCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build CHART",
		Short: "fetch the dependencies that Chart.lock names",
		Long:  dependencyBuildHelp,
	}
	return newDependencyFetchCmd(a, cmd, downloader.VerifyIfPossible, func(m *dependency.Manager, ctx context.Context) error {
		err := m.Build(ctx)
		if unknown := (downloader.ErrRepoNotFound{}); errors.As(err, &unknown) {
			return fmt.Errorf("%w. Please add the missing repos via 'helm repo add'", err)
		}
		return err
	})
}

// newDependencyFetchCmd makes of cmd a command that fetches dependencies; verify is
// what --verify means to it.
func newDependencyFetchCmd(a *app, cmd *cobra.Command, verify downloader.VerificationStrategy, fetch func(*dependency.Manager, context.Context) error) *cobra.Command {
	var (
		o                   registryOptions
		keyring             string
		verified, asTheyAre bool
	)
	cmd.Args = require.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		manager, err := a.dependencyManager(o, keyring)
		if err != nil {
			return err
		}
		manager.ChartPath, manager.SkipUpdate = chartFolder(args), asTheyAre
		if verified {
			manager.Verify = verify
		}
		return fetch(manager, cmd.Context())
	}
	f := cmd.Flags()
	f.BoolVar(&verified, "verify", false, "check the signatures of what is fetched")
	f.StringVar(&keyring, "keyring", defaultKeyring(), "file with the public keys that signatures are checked with")
	f.BoolVar(&asTheyAre, "skip-refresh", false, "use the cached indexes of repositories as they are")
	addRegistryFlags(f, &o)
	return cmd
}

// chartFolder is the chart that a command names, or the current folder.
func chartFolder(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return filepath.Clean(args[0])
}

// dependencyManager looks after the dependencies of a chart that is still to be named.
func (a *app) dependencyManager(o registryOptions, keyring string) (*dependency.Manager, error) {
	registryClient, err := a.registryClient(o)
	if err != nil {
		return nil, fmt.Errorf("missing registry client: %w", err)
	}
	return a.dependenciesOf("", keyring, registryClient), nil
}

// dependenciesOf looks after the dependencies of a chart by the settings.
func (a *app) dependenciesOf(chartPath, keyring string, registryClient *registry.Client) *dependency.Manager {
	return &dependency.Manager{
		Out:              a.out,
		ChartPath:        chartPath,
		Keyring:          keyring,
		Getters:          getter.All(a.settings),
		RegistryClient:   registryClient,
		RepositoryConfig: a.settings.RepositoryConfig,
		RepositoryCache:  a.settings.RepositoryCache,
		Debug:            a.settings.Debug,
	}
}
