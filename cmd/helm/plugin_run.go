// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/luaplugin"
)

// pluginExitError is the error of a plugin that exited with a code other than 0. The program
// then exits with the same code.
type pluginExitError struct {
	name string
	code int
}

func (e *pluginExitError) Error() string { return fmt.Sprintf("plugin %q exited with error", e.name) }

// exitCode returns the exit code of the program if a command returns err.
func exitCode(err error) int {
	if failed, ok := errors.AsType[*pluginExitError](err); ok {
		return failed.code
	}
	if plan, ok := errors.AsType[*silentExitError](err); ok {
		return plan.code
	}
	return 1
}

// additionAnnotation is set on commands that stock Helm does not have.
const additionAnnotation = "ordered-helm/addition"

// pluginCommandsDisabled reports whether plugins add no commands.
func pluginCommandsDisabled() bool { return os.Getenv("HELM_NO_PLUGINS") == "1" }

// addPlugins adds a command for each installed plugin. A plugin does not replace a command
// of stock Helm, but does replace a command that only Ordered Helm has, so that users can
// continue to use a plugin of that name.
func (a *app) addPlugins(root *cobra.Command) {
	if pluginCommandsDisabled() {
		return
	}
	var err error
	if a.plugins, err = plugin.FindPlugins(a.settings.PluginsDirectory); err != nil {
		fmt.Fprintf(a.errOut, "failed to load plugins: %s\n", err)
		return
	}
	for _, p := range a.plugins {
		if c, _, err := root.Find([]string{p.Metadata.Name}); err == nil && c.Annotations[additionAnnotation] != "" {
			root.RemoveCommand(c)
		}
		cmd := a.newPluginRunCmd(p)
		root.AddCommand(cmd)
		if a.asksForCompletion(root) {
			a.completePlugin(cmd, p)
		}
	}
}

// newPluginRunCmd returns the command that runs a plugin.
func (a *app) newPluginRunCmd(p *plugin.Plugin) *cobra.Command {
	metadata := p.Metadata
	if metadata.Usage == "" {
		metadata.Usage = fmt.Sprintf("the %q plugin", metadata.Name)
	}
	return &cobra.Command{
		Use:                metadata.Name,
		Short:              metadata.Usage,
		Long:               metadata.Description,
		DisableFlagParsing: true, // flags are for the plugin
		RunE: func(cmd *cobra.Command, args []string) error {
			rest, err := parseGlobalFlags(cmd, args)
			if err != nil {
				return err
			}
			// SetupPluginEnv sets variables in the environment of this process, to which the
			// command of the plugin can refer.
			plugin.SetupPluginEnv(a.settings, metadata.Name, p.Dir)
			program, argv, err := p.PrepareCommand(rest)
			if err != nil {
				fmt.Fprint(a.errOut, err.Error())
				return &pluginExitError{name: metadata.Name, code: 1}
			}
			return a.runPluginProgram(cmd.Context(), p, os.ExpandEnv(program), argv, a.out)
		},
	}
}

// runPluginProgram runs a program of a plugin, with arguments. out receives its standard output.
func (a *app) runPluginProgram(ctx context.Context, p *plugin.Plugin, program string, arguments []string, out io.Writer) error {
	switch script, err := luaplugin.Script(p.Dir, program); {
	case err != nil:
		return err
	case script != "":
		return a.runLuaProgram(ctx, p.Metadata.Name, a.luaProgram(p, script, arguments, out))
	}
	return a.runPlugin(ctx, p.Metadata.Name, exec.CommandContext(ctx, program, arguments...), out)
}

// runPlugin runs a program of the plugin with the given name. out receives its standard
// output.
func (a *app) runPlugin(ctx context.Context, name string, program *exec.Cmd, out io.Writer) error {
	program.Env = os.Environ()
	for key, value := range a.settings.EnvVars() {
		program.Env = append(program.Env, key+"="+value)
	}
	program.Stdin, program.Stdout, program.Stderr = a.in, out, a.errOut
	err := runForwarding(ctx, program)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &pluginExitError{name: name, code: exit.ExitCode()}
	}
	return err
}

// runForwarding runs a program, and forwards SIGTERM to it. A second SIGTERM ends this
// process. SIGINT needs no forwarding, because the terminal sends it to both processes.
func runForwarding(ctx context.Context, program *exec.Cmd) error {
	terminated, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	if err := program.Start(); err != nil {
		return err
	}
	stopForwarding := context.AfterFunc(terminated, func() {
		stop()
		// The error is ignored, because the program may already have ended.
		_ = program.Process.Signal(syscall.SIGTERM)
	})
	defer stopForwarding()
	return program.Wait()
}

// globalFlags contains the global flags that have a value. Even after the name of a plugin,
// they are flags of helm and are not passed to the plugin.
var globalFlags = []string{
	"--kube-context", "--namespace", "-n", "--kubeconfig", "--kube-apiserver", "--kube-token", "--kube-as-user",
	"--kube-as-group", "--kube-ca-file", "--registry-config", "--repository-cache", "--repository-config",
	"--kube-insecure-skip-tls-verify", "--kube-tls-server-name",
}

// parseGlobalFlags parses the global flags in args, which are the arguments of the plugin
// command cmd. It returns the other arguments, which are for the plugin.
func parseGlobalFlags(cmd *cobra.Command, args []string) ([]string, error) {
	own, rest := splitGlobalFlags(args)
	return rest, cmd.Parent().ParseFlags(own)
}

// splitGlobalFlags splits args into the global flags, with their values, and all other
// arguments.
func splitGlobalFlags(args []string) (own, rest []string) {
	rest = []string{}
	for i := 0; i < len(args); i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--debug", hasValue && slices.Contains(globalFlags, name):
			own = append(own, args[i])
		case slices.Contains(globalFlags, args[i]):
			own = append(own, args[i])
			if i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		default:
			rest = append(rest, args[i])
		}
	}
	return own, rest
}
