// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// completion is a function that suggests words for shell completion. It returns the words,
// each with a description after a tab, and a directive for the shell.
type completion = cobra.CompletionFunc

// completeNoMore says that the command takes no more arguments. It suggests nothing.
func completeNoMore(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	hint := cobra.AppendActiveHelp(nil, "This command does not take any more arguments (but may accept flags).")
	return hint, cobra.ShellCompDirectiveNoFileComp
}

// completeNothing suggests nothing for the given number of arguments, because their values
// cannot be known. After these it says that the command takes no more.
func completeNothing(arguments int) completion {
	return upTo(arguments, cobra.NoFileCompletions)
}

// completeFile completes the only argument of a command, which is a file or directory.
func completeFile() completion {
	return upTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// upTo calls complete for the given number of arguments. After these it says that the
// command takes no more.
func upTo(arguments int, complete completion) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return completeNoMore(cmd, args, word)
		}
		return complete(cmd, args, word)
	}
}

// completeFlag sets the completion for the value of a flag of cmd. It fails only if the
// flag does not exist or already has a completion; tests would detect both, so the error is
// ignored.
func completeFlag(cmd *cobra.Command, flag string, complete completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
