// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
)

const registryHelp = `
Log in to or out of OCI registries.

    $ helm registry login example.com --username anna
    $ helm registry logout example.com
`

func newRegistryCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "log in to or out of a registry",
		Long:  registryHelp,
	}
	cmd.AddCommand(
		newRegistryLoginCmd(a),
		newRegistryLogoutCmd(a),
	)
	return cmd
}
