// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"
)

const pluginHelp = `
Install, list, update and uninstall plugins: additional commands for helm.

    $ helm plugin install https://example.com/helm-hello
    $ helm hello

Plugins are stored in the directory $HELM_PLUGINS. With HELM_NO_PLUGINS=1 they are
disabled.
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

// findPlugin returns the plugin with the given name, or nil.
func findPlugin(plugins []*plugin.Plugin, name string) *plugin.Plugin {
	i := slices.IndexFunc(plugins, func(p *plugin.Plugin) bool { return p.Metadata.Name == name })
	if i < 0 {
		return nil
	}
	return plugins[i]
}

// runPluginHook runs the command that the plugin p declares for an event, such as its
// installation. If it declares none, runPluginHook does nothing.
func (a *app) runPluginHook(ctx context.Context, p *plugin.Plugin, event string) error {
	// SetupPluginEnv sets variables in the environment of this process. The arguments of
	// the command can refer to them.
	plugin.SetupPluginEnv(a.settings, p.Metadata.Name, p.Dir)

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
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("plugin %s hook for %q exited with error", event, p.Metadata.Name)
	}
	return err
}

// forEachPlugin calls do for each of the named plugins, and returns all errors together.
// Error messages contain verb, as in "uninstall"; success messages contain done, as in
// "Uninstalled".
func (a *app) forEachPlugin(names []string, verb, done string, do func(*plugin.Plugin) error) error {
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
		fmt.Fprintf(a.out, "%s plugin: %s\n", done, name)
	}
	return errors.Join(failures...)
}

// pluginNames returns a check of the arguments: there must be at least one plugin name.
// verb is part of the error message.
func pluginNames(verb string) cobra.PositionalArgs {
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
