// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/plugin"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/luaplugin"
)

const (
	// pluginCompletionFile is the file of a plugin that lists its subcommands and flags.
	pluginCompletionFile = "completion.yaml"
	// pluginCompletionProgram is the program of a plugin that suggests words.
	pluginCompletionProgram = "plugin.complete"
)

// pluginCompletion describes the subcommands and flags of a plugin, or of one of its
// subcommands. It is the content of completion.yaml.
type pluginCompletion struct {
	Name      string             `json:"name"`
	ValidArgs []string           `json:"validArgs"`
	Flags     []string           `json:"flags"`
	Commands  []pluginCompletion `json:"commands"`
}

// asksForCompletion reports whether this run of the program suggests words to a shell, or
// prints a completion script. Only these runs load the subcommands and flags of plugins, so
// that they cannot interfere with other commands.
func (a *app) asksForCompletion(root *cobra.Command) bool {
	cmd, _, err := root.Find(a.args)
	// Cobra has not added the command that suggests words yet, so Find returns the root
	// command for it.
	return cmd == root || err == nil && cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// completePlugin sets the completion for cmd, the command of the plugin p. It adds the
// subcommands and flags that completion.yaml lists, and makes plugin.complete suggest words
// for them.
func (a *app) completePlugin(cmd *cobra.Command, p *plugin.Plugin) {
	completion, err := readPluginCompletion(filepath.Join(p.Dir, pluginCompletionFile))
	if err != nil {
		a.debugf("%s", err)
		completion = new(pluginCompletion)
	}
	completion.Name = cmd.Use
	a.addPluginCompletion(cmd, p, completion)
}

func readPluginCompletion(path string) (*pluginCompletion, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("file (%s) not provided by plugin. No plugin auto-completion possible", path)
	}
	completion := new(pluginCompletion)
	return completion, yaml.Unmarshal(data, completion)
}

func (a *app) addPluginCompletion(cmd *cobra.Command, p *plugin.Plugin, completion *pluginCompletion) {
	if completion.Name == "" {
		a.debugf("sub-command name field missing for %s", cmd.CommandPath())
		return
	}
	cmd.Use = completion.Name
	cmd.ValidArgs = completion.ValidArgs
	addPluginFlags(cmd, completion.Flags)
	if completion.Commands == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return a.completeByPlugin(cmd, p, args, toComplete)
		}
	}
	for i := range completion.Commands {
		sub := &cobra.Command{
			DisableFlagParsing: true, // flags are for the plugin's program
			Run:                func(*cobra.Command, []string) {},
		}
		cmd.AddCommand(sub)
		a.addPluginCompletion(sub, p, &completion.Commands[i])
	}
}

// addPluginFlags adds flags to cmd, so that completion suggests them. names contains the
// names of long flags and, with one letter, of short flags. As a short flag must belong to a
// long one in cobra, they are paired arbitrarily.
func addPluginFlags(cmd *cobra.Command, names []string) {
	var long, short []string
	for _, name := range names {
		if len(name) == 1 {
			short = append(short, name)
		} else {
			long = append(long, name)
		}
	}
	for i := range max(len(long), len(short)) {
		switch {
		case i >= len(short):
			addPluginFlag(cmd, long[i], "")
		case i >= len(long):
			addPluginFlag(cmd, short[i], short[i])
		default:
			addPluginFlag(cmd, long[i], short[i])
		}
	}
}

// addPluginFlag adds a flag to cmd. It omits the flag, or only its shorthand, if cmd or a
// global flag already uses that name, because cobra panics if a flag is defined twice.
func addPluginFlag(cmd *cobra.Command, name, shorthand string) {
	f := cmd.Flags()
	if f.Lookup(name) != nil {
		return
	}
	const helpName, helpShorthand = "help", "h"
	taken := func(flags *pflag.FlagSet) bool { return shorthand != "" && flags.ShorthandLookup(shorthand) != nil }
	if taken(f) || taken(cmd.Root().PersistentFlags()) || shorthand == helpShorthand && name != helpName {
		shorthand = ""
	}
	f.BoolP(name, shorthand, false, "")
}

// completeByPlugin runs plugin.complete with the words of the command line, and returns the
// words that it suggests.
func (a *app) completeByPlugin(cmd *cobra.Command, p *plugin.Plugin, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	rest, err := parseGlobalFlags(cmd, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	const helmAndPlugin = 2
	argv := strings.Split(cmd.CommandPath(), " ")[helmAndPlugin:]
	if !p.Metadata.IgnoreFlags {
		argv = append(append(argv, rest...), toComplete)
	}
	program := filepath.Join(p.Dir, pluginCompletionProgram)
	if luaplugin.HasFile(p.Dir, pluginCompletionProgram+".lua") {
		program += ".lua"
	}
	cobra.CompDebugln(fmt.Sprintf("calling %s with args %v", program, argv), a.settings.Debug)
	plugin.SetupPluginEnv(a.settings, p.Metadata.Name, p.Dir)
	var output bytes.Buffer
	if err := a.runPluginProgram(cmd.Context(), p, os.ExpandEnv(program), argv, &output); err != nil {
		cobra.CompDebugln(fmt.Sprintf("Unable to call %s: %v", program, err), a.settings.Debug)
		return nil, cobra.ShellCompDirectiveDefault
	}
	return parseCompletions(output.String())
}

// parseCompletions parses the output of plugin.complete: one suggested word per line and, on
// an optional last line such as ":4", a directive for the shell.
func parseCompletions(output string) ([]string, cobra.ShellCompDirective) {
	var completions []string
	for line := range strings.SplitSeq(output, "\n") {
		if line != "" {
			completions = append(completions, line)
		}
	}
	if len(completions) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	last := len(completions) - 1
	if number, ok := strings.CutPrefix(completions[last], ":"); ok {
		if directive, err := strconv.Atoi(number); err == nil {
			return completions[:last], cobra.ShellCompDirective(directive)
		}
	}
	return completions, cobra.ShellCompDirectiveDefault
}
