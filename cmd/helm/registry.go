// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const registryHelp = `
Log in to or out of OCI registries.

    $ helm registry login example.com --username anna
    $ helm registry logout example.com
`

const registryLogoutHelp = `
Delete the stored credentials for a registry.

    $ helm registry logout example.com
`

func newRegistryCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "log in to or out of a registry",
		Long:  registryHelp,
	}
	cmd.AddCommand(newRegistryLoginCmd(a), newRegistryLogoutCmd(a))
	return cmd
}

func newRegistryLogoutCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "logout [host]",
		Short:             "delete the stored credentials for a registry",
		Long:              registryLogoutHelp,
		Args:              require.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			return action.NewRegistryLogout(a.config).Run(a.out, args[0])
		},
	}
}
