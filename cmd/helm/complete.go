// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// completion is a cobra completion function. It returns the choices, each with a
// description after a tab, and a directive for the shell.
type completion = cobra.CompletionFunc

// completeNoMore is for commands that take no arguments, or no further ones.
func completeNoMore(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	hint := cobra.AppendActiveHelp(nil, "This command does not take any more arguments (but may accept flags).")
	return hint, cobra.ShellCompDirectiveNoFileComp
}

// completeNothing is for commands that take this number of arguments, if Helm cannot
// suggest any values for them.
func completeNothing(arguments int) completion {
	return upTo(arguments, cobra.NoFileCompletions)
}

// completeFile is for commands whose only argument is a file or directory.
func completeFile() completion {
	return upTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// upTo completes at most this number of arguments.
func upTo(arguments int, complete completion) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return completeNoMore(cmd, args, word)
		}
		return complete(cmd, args, word)
	}
}

// completeFlag completes the value of a flag. It fails only if the flag does not exist or
// already has a completion, and tests detect both.
func completeFlag(cmd *cobra.Command, flag string, complete completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
