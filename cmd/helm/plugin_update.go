// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"
	"helm.sh/helm/v3/pkg/plugin/installer"
)

const pluginUpdateHelp = `
Update plugins that were installed from a version control system.

    $ helm plugin update hello
`

func newPluginUpdateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "update <plugin>...",
		Aliases:           []string{"up"},
		Short:             "update plugins",
		Long:              pluginUpdateHelp,
		Args:              pluginNames("update"),
		ValidArgsFunction: a.completePluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			installer.Debug = a.settings.Debug
			return a.forEachPlugin(args, "update", "Updated", func(p *plugin.Plugin) error {
				return a.updatePlugin(cmd.Context(), p)
			})
		},
	}
}

func (a *app) updatePlugin(ctx context.Context, p *plugin.Plugin) error {
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	source, err := installer.FindSource(dir)
	if err != nil {
		return err
	}
	if err := installer.Update(source); err != nil {
		return err
	}
	a.debugf("loading plugin from %s", source.Path())
	updated, err := plugin.LoadDir(source.Path())
	if err != nil {
		return err
	}
	return a.runPluginHook(ctx, updated, plugin.Update)
}
