// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/plugin"
	"sigs.k8s.io/yaml"
)

// These are the files of a plugin that shell completion uses. completion.yaml lists the
// subcommands and flags of the plugin. plugin.complete is a program that suggests words.
const (
	pluginCompletionFile    = "completion.yaml"
	pluginCompletionProgram = "plugin.complete"
)

// pluginWords is the content of completion.yaml, for a plugin or one of its subcommands.
type pluginWords struct {
	Name      string        `json:"name"`
	ValidArgs []string      `json:"validArgs"`
	Flags     []string      `json:"flags"`
	Commands  []pluginWords `json:"commands"`
}

// asksForCompletion reports whether this run of the program completes words or prints a
// completion script. Only then are the subcommands and flags of plugins loaded, so that
// plugins cannot interfere with other commands.
func (a *app) asksForCompletion(root *cobra.Command) bool {
	cmd, _, err := root.Find(a.args)
	// Cobra adds the command that completes words only when it executes, so Find returns
	// the root command here.
	return cmd == root || err == nil && cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// completePlugin adds the subcommands and flags in completion.yaml of the plugin p to cmd,
// and makes plugin.complete suggest words for them.
func (a *app) completePlugin(cmd *cobra.Command, p *plugin.Plugin) {
	words, err := readPluginWords(filepath.Join(p.Dir, pluginCompletionFile))
	if err != nil {
		a.debugf("%s", err)
		words = new(pluginWords)
	}
	words.Name = cmd.Use
	a.addPluginWords(cmd, p, words)
}

func readPluginWords(path string) (*pluginWords, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("file (%s) not provided by plugin. No plugin auto-completion possible", path)
	}
	words := new(pluginWords)
	return words, yaml.Unmarshal(data, words)
}

func (a *app) addPluginWords(cmd *cobra.Command, p *plugin.Plugin, words *pluginWords) {
	if words.Name == "" {
		a.debugf("sub-command name field missing for %s", cmd.CommandPath())
		return
	}
	cmd.Use = words.Name
	cmd.ValidArgs = words.ValidArgs
	addPluginFlags(cmd, words.Flags)
	if words.Commands == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return a.completeByPlugin(cmd, p, args, toComplete)
		}
	}
	for i := range words.Commands {
		sub := &cobra.Command{
			DisableFlagParsing: true, // flags are for the plugin's program
			Run:                func(*cobra.Command, []string) {},
		}
		cmd.AddCommand(sub)
		a.addPluginWords(sub, p, &words.Commands[i])
	}
}

// addPluginFlags adds flags to cmd that are only for completion. names contains long and
// short flags. Cobra has no short flags without a long one, so each short flag is combined
// with any long one.
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

// addPluginFlag adds a flag to cmd. It omits a name or a short form that cmd or helm
// already has, because cobra panics if a flag is defined twice.
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

// completeByPlugin runs plugin.complete with the subcommands and words of the command line.
// The program prints one suggestion per line. A last line such as ":4" is a directive for
// the shell.
func (a *app) completeByPlugin(cmd *cobra.Command, p *plugin.Plugin, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	rest, err := takeGlobalFlags(cmd, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	const helmAndPlugin = 2
	argv := strings.Split(cmd.CommandPath(), " ")[helmAndPlugin:]
	if !p.Metadata.IgnoreFlags {
		argv = append(append(argv, rest...), toComplete)
	}
	program := filepath.Join(p.Dir, pluginCompletionProgram)
	cobra.CompDebugln(fmt.Sprintf("calling %s with args %v", program, argv), a.settings.Debug)
	plugin.SetupPluginEnv(a.settings, p.Metadata.Name, p.Dir)
	var output bytes.Buffer
	call := exec.CommandContext(cmd.Context(), os.ExpandEnv(program), argv...)
	if err := a.runPlugin(cmd.Context(), p.Metadata.Name, call, &output); err != nil {
		cobra.CompDebugln(fmt.Sprintf("Unable to call %s: %v", program, err), a.settings.Debug)
		return nil, cobra.ShellCompDirectiveDefault
	}
	return parseCompletions(output.String())
}

// parseCompletions splits the output of plugin.complete into suggestions and the directive.
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
