// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/terminal"
)

const pluginListHelp = `
List the installed plugins and their versions.
`

func newPluginListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Aliases:           []string{"ls"},
		Short:             "list the installed plugins",
		Long:              pluginListHelp,
		ValidArgsFunction: completeNoMore,
		RunE: func(*cobra.Command, []string) error {
			a.debugf("pluginDirs: %s", a.settings.PluginsDirectory)
			plugins, err := plugin.FindPlugins(a.settings.PluginsDirectory)
			if err != nil {
				return err
			}
			table := uitable.New()
			table.AddRow("NAME", "VERSION", "DESCRIPTION")
			for _, p := range plugins {
				table.AddRow(p.Metadata.Name, terminal.Sanitize(p.Metadata.Version), terminal.Sanitize(p.Metadata.Description))
			}
			_, err = fmt.Fprintln(a.out, table)
			return err
		},
	}
}
