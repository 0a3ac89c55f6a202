// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/plugin"
	"helm.sh/helm/v3/pkg/postrender"

	"github.com/ordered-helm/helm/internal/chartdownload"
	"github.com/ordered-helm/helm/internal/clusterscript"
	"github.com/ordered-helm/helm/internal/luaplugin"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/pkg/action"
)

// luaProgram returns a Lua script of a plugin as a program. out receives its standard output.
func (a *app) luaProgram(p *plugin.Plugin, file string, arguments []string, out io.Writer) *luaplugin.Program {
	program := &luaplugin.Program{
		Owner: fmt.Sprintf("plugin %q", p.Metadata.Name), File: file, Arguments: arguments, Environment: os.Environ(),
		Stdin: a.in, Stdout: out, Stderr: a.errOut,
		Log:     func(line string) { a.debugf("%s", line) },
		Cluster: clusterscript.Functions(a.settings.RESTClientGetter()),
	}
	for key, value := range a.settings.EnvVars() {
		program.Environment = append(program.Environment, key+"="+value)
	}
	return program
}

// runLuaProgram runs a Lua script of the plugin with the given name until it ends, or until this
// process receives SIGINT or SIGTERM. A later signal ends this process.
func (a *app) runLuaProgram(ctx context.Context, name string, program *luaplugin.Program) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	stopWaiting := context.AfterFunc(ctx, func() { time.AfterFunc(duplicateSignalTime, stop) })
	defer stopWaiting()
	err := program.Run(ctx)
	if exit, exited := errors.AsType[*luasandbox.ExitError](err); exited {
		return &pluginExitError{name: name, code: exit.Code}
	}
	return err
}

// downloaders returns the downloaders of the installed plugins. As in stock Helm, they can be used even
// if the commands of plugins are disabled.
func (a *app) downloaders() luaplugin.Downloaders {
	plugins := a.plugins
	if pluginCommandsDisabled() {
		plugins, _ = plugin.FindPlugins(a.settings.PluginsDirectory) // Helm ignores the error, too
	}
	return luaplugin.Downloaders{
		Settings: a.settings, Plugins: plugins, Stderr: a.errOut,
		Log:     func(line string) { a.debugf("%s", line) },
		Cluster: clusterscript.Functions(a.settings.RESTClientGetter()),
	}
}

// getters returns Helm's getters and those of plugins. They stop downloaders that are Lua scripts
// when ctx ends.
func (a *app) getters(ctx context.Context, options ...getter.Option) getter.Providers {
	if d := a.downloaders(); d.HaveScripts() {
		return d.Getters(ctx, options...)
	}
	return getter.All(a.settings, options...)
}

// locateOrDownload returns the path of the chart that reference refers to.
func (a *app) locateOrDownload(ctx context.Context, from *action.ChartPathOptions, reference string) (string, error) {
	if !a.downloaders().HaveScripts() {
		return from.LocateChart(reference, a.settings)
	}
	registry, err := a.registryClientFor(from)
	if err != nil {
		return "", err
	}
	return chartdownload.Locate(reference, chartdownload.Options{
		Chart: *from, Settings: a.settings, Getters: a.getters(ctx), Registry: registry, Out: a.out,
	})
}

// pullChart downloads a chart, and returns the text that the command prints.
func (a *app) pullChart(ctx context.Context, client *action.Pull, reference string) (string, error) {
	if !a.downloaders().HaveScripts() {
		return client.Run(reference)
	}
	registry, err := a.registryClientFor(&client.ChartPathOptions)
	if err != nil {
		return "", err
	}
	return client.RunWithClients(reference, action.PullClients{Getters: a.getters(ctx), Registry: registry})
}

// postRenderer returns the post-renderer with this path or name: a program, a Lua script that names no
// interpreter, or an installed plugin whose program is a Lua script.
func (a *app) postRenderer(name string, arguments []string) (postrender.PostRenderer, error) {
	program, err := postrender.NewExec(name, arguments...)
	if luaplugin.IsPostRenderer(name) && (err != nil || !luaplugin.NamesInterpreter(name)) {
		return &luaplugin.PostRenderer{Program: func() (*luaplugin.Program, error) {
			return &luaplugin.Program{Owner: "post-renderer", File: name, Arguments: arguments, Cluster: clusterscript.Functions(a.settings.RESTClientGetter())}, nil
		}}, nil
	}
	if p := findPlugin(a.plugins, name); err != nil && p != nil && luaplugin.IsPlugin(p.Dir) {
		return &luaplugin.PostRenderer{Program: func() (*luaplugin.Program, error) {
			return a.pluginPostRenderer(p, arguments)
		}}, nil
	}
	return program, err
}

// pluginPostRenderer returns the program of a plugin, which must be a Lua script.
func (a *app) pluginPostRenderer(p *plugin.Plugin, arguments []string) (*luaplugin.Program, error) {
	plugin.SetupPluginEnv(a.settings, p.Metadata.Name, p.Dir)
	command, words, err := p.PrepareCommand(arguments)
	if err != nil {
		return nil, err
	}
	script, err := luaplugin.Script(p.Dir, command)
	if err == nil && script == "" {
		err = fmt.Errorf("plugin %q cannot be a post-renderer: its program %s is not a Lua script", p.Metadata.Name, command)
	}
	if err != nil {
		return nil, err
	}
	return a.luaProgram(p, script, words, nil), nil
}
