// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"
)

const pluginUninstallHelp = `
Uninstall plugins.

    $ helm plugin uninstall hello

A plugin can have a hook that runs after its directory is deleted.
`

func newPluginUninstallCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "uninstall <plugin>...",
		Aliases:           []string{"rm", "remove"},
		Short:             "uninstall plugins",
		Long:              pluginUninstallHelp,
		Args:              pluginNames("uninstall"),
		ValidArgsFunction: a.completePluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forEachPlugin(args, "uninstall", "Uninstalled", func(p *plugin.Plugin) error {
				// For a plugin that was installed from a directory, this removes only the
				// link.
				if err := os.RemoveAll(p.Dir); err != nil {
					return err
				}
				return a.runPluginHook(cmd.Context(), p, plugin.Delete)
			})
		},
	}
}
