// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// completionFunc is a function that suggests words for shell completion. It returns the words,
// each of which can be followed by a tab and a description, and a directive for the shell.
type completionFunc = cobra.CompletionFunc

// noMoreArguments is a completionFunc that suggests nothing, and tells the user that the
// command takes no more arguments.
func noMoreArguments(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	hint := cobra.AppendActiveHelp(nil, "This command does not take any more arguments (but may accept flags).")
	return hint, cobra.ShellCompDirectiveNoFileComp
}

// completeNothing returns a completionFunc for a command that takes count arguments whose
// values cannot be suggested.
func completeNothing(count int) completionFunc {
	return completeUpTo(count, cobra.NoFileCompletions)
}

// completeFile returns a completionFunc for a command whose only argument is a file or
// directory.
func completeFile() completionFunc {
	return completeUpTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// completeUpTo returns a completionFunc for a command that takes at most count arguments,
// which complete suggests.
func completeUpTo(count int, complete completionFunc) completionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= count {
			return noMoreArguments(cmd, args, word)
		}
		return complete(cmd, args, word)
	}
}

// completeFlag makes complete suggest the values of a flag of cmd.
func completeFlag(cmd *cobra.Command, flag string, complete completionFunc) {
	// This fails only if the flag does not exist or already has a completion, which tests
	// would detect.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
