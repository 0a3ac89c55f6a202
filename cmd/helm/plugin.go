// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"
	"helm.sh/helm/v3/pkg/plugin/installer"

	"github.com/ordered-helm/helm/internal/luaplugin"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const pluginHelp = `
Install, list, update and uninstall plugins: additional commands for helm.

    $ helm plugin install https://example.com/helm-hello
    $ helm hello

Plugins are stored in the directory $HELM_PLUGINS. With HELM_NO_PLUGINS=1 they are
disabled.
`

const pluginListHelp = `
List the installed plugins and their versions.
`

const pluginUninstallHelp = `
Uninstall plugins.

    $ helm plugin uninstall hello

A plugin can have a hook that runs after its directory is deleted.
`

const pluginUpdateHelp = `
Update plugins that were installed from a version control system.

    $ helm plugin update hello
`

func newPluginCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "install, list, update or uninstall plugins",
		Long:  pluginHelp,
	}
	cmd.AddCommand(
		newPluginInstallCmd(a),
		newPluginListCmd(a),
		newPluginUninstallCmd(a),
		newPluginUpdateCmd(a),
	)
	return cmd
}

func newPluginListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Aliases:           []string{"ls"},
		Short:             "list the installed plugins",
		Long:              pluginListHelp,
		ValidArgsFunction: noMoreArguments,
		RunE: func(*cobra.Command, []string) error {
			a.debugf("pluginDirs: %s", a.settings.PluginsDirectory)
			plugins, err := plugin.FindPlugins(a.settings.PluginsDirectory)
			if err != nil {
				return err
			}
			table := uitable.New()
			table.AddRow("NAME", "VERSION", "DESCRIPTION")
			for _, p := range plugins {
				table.AddRow(p.Metadata.Name, terminalsafe.Sanitize(p.Metadata.Version), terminalsafe.Sanitize(p.Metadata.Description))
			}
			_, err = fmt.Fprintln(a.out, table)
			return err
		},
	}
}

func newPluginUninstallCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "uninstall <plugin>...",
		Aliases:           []string{"rm", "remove"},
		Short:             "uninstall plugins",
		Long:              pluginUninstallHelp,
		Args:              requirePluginNames("uninstall"),
		ValidArgsFunction: a.completePluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forEachPlugin(args, "uninstall", "Uninstalled", func(p *plugin.Plugin) error {
				return a.uninstallPlugin(cmd.Context(), p)
			})
		},
	}
}

// uninstallPlugin deletes a plugin, and then runs its hook. A hook that cannot be prepared, such as a
// missing script, does not prevent that.
func (a *app) uninstallPlugin(ctx context.Context, p *plugin.Plugin) error {
	runHook, hookErr := a.preparePluginHook(p, plugin.Delete)
	// A plugin that was installed from a directory is a link. Only the link is removed.
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	if hookErr != nil {
		return hookErr
	}
	return runHook(ctx)
}

func newPluginUpdateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "update <plugin>...",
		Aliases:           []string{"up"},
		Short:             "update plugins",
		Long:              pluginUpdateHelp,
		Args:              requirePluginNames("update"),
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

// findPlugin returns the plugin with the given name, or nil if there is none.
func findPlugin(plugins []*plugin.Plugin, name string) *plugin.Plugin {
	i := slices.IndexFunc(plugins, func(p *plugin.Plugin) bool { return p.Metadata.Name == name })
	if i < 0 {
		return nil
	}
	return plugins[i]
}

// runPluginHook runs the command that the plugin p declares for an event, such as
// plugin.Install. It does nothing if the plugin declares none.
func (a *app) runPluginHook(ctx context.Context, p *plugin.Plugin, event string) error {
	run, err := a.preparePluginHook(p, event)
	if err != nil {
		return err
	}
	return run(ctx)
}

// preparePluginHook returns a function that does what runPluginHook does. If the hook is a Lua script, the
// function works even if the directory of the plugin has been deleted.
func (a *app) preparePluginHook(p *plugin.Plugin, event string) (func(context.Context) error, error) {
	// SetupPluginEnv sets variables in the environment of this process, to which the command
	// can refer.
	plugin.SetupPluginEnv(a.settings, p.Metadata.Name, p.Dir)

	script, args, err := luaplugin.HookScript(p, event)
	if err != nil {
		return nil, err
	}
	if script == "" {
		return func(ctx context.Context) error { return a.runPluginHookProgram(ctx, p, event) }, nil
	}
	program := a.luaProgram(p, script, args, a.out)
	if err := program.Read(); err != nil {
		return nil, fmt.Errorf("the %s hook of plugin %q cannot be read: %w", event, p.Metadata.Name, err)
	}
	return func(ctx context.Context) error {
		a.debugf("running %s hook: %s %s", event, script, args)
		err := a.runLuaProgram(ctx, p.Metadata.Name, program)
		if _, failed := errors.AsType[*pluginExitError](err); failed {
			return pluginHookError(p, event)
		}
		return err
	}, nil
}

func (a *app) runPluginHookProgram(ctx context.Context, p *plugin.Plugin, event string) error {
	commands, expand := p.Metadata.PlatformHooks[event], true
	if script := p.Metadata.Hooks[event]; len(commands) == 0 && script != "" {
		commands, expand = []plugin.PlatformCommand{{Command: "sh", Args: []string{"-c", script}}}, false
	}
	program, args, err := plugin.PrepareCommands(commands, expand, nil)
	if err != nil {
		return nil //nolint:nilerr // there is no hook for this event or this platform
	}
	hook := exec.CommandContext(ctx, program, args...)
	hook.Stdout, hook.Stderr = a.out, a.errOut
	a.debugf("running %s hook: %s", event, hook)
	err = runForwarding(ctx, hook)
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return pluginHookError(p, event)
	}
	return err
}

func pluginHookError(p *plugin.Plugin, event string) error {
	return fmt.Errorf("plugin %s hook for %q exited with error", event, p.Metadata.Name)
}

// forEachPlugin calls do for each of the named plugins, prints which calls succeeded, and
// returns the errors of the others. The messages contain verb, such as "uninstall", and
// participle, such as "Uninstalled".
func (a *app) forEachPlugin(names []string, verb, participle string, do func(*plugin.Plugin) error) error {
	a.debugf("loading installed plugins from %s", a.settings.PluginsDirectory)
	plugins, err := plugin.FindPlugins(a.settings.PluginsDirectory)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		p := findPlugin(plugins, name)
		if p == nil {
			failures = append(failures, fmt.Errorf("Plugin: %s not found", name)) //nolint:staticcheck // Helm's message
			continue
		}
		if err := do(p); err != nil {
			failures = append(failures, fmt.Errorf("Failed to %s plugin %s, got error (%w)", verb, name, err)) //nolint:staticcheck // Helm's message
			continue
		}
		fmt.Fprintf(a.out, "%s plugin: %s\n", participle, name)
	}
	return errors.Join(failures...)
}

// requirePluginNames returns a check that there is at least one argument. The error message
// contains verb, such as "update".
func requirePluginNames(verb string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("please provide plugin name to %s", verb)
		}
		return nil
	}
}

// completePluginNames suggests the installed plugins that are not yet among the arguments.
func (a *app) completePluginNames(_ *cobra.Command, named []string, _ string) ([]string, cobra.ShellCompDirective) {
	plugins, err := plugin.FindPlugins(a.settings.PluginsDirectory)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range plugins {
		if !slices.Contains(named, p.Metadata.Name) {
			names = append(names, p.Metadata.Name+"\t"+p.Metadata.Usage)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
