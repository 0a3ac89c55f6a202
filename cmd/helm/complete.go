// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// completion is how cobra is told what a word may be: the choices, each with a
// description after a tab, and what the shell does with them.
type completion = cobra.CompletionFunc

// completeNoMore is for commands that take no arguments, or no more of them.
func completeNoMore(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	hint := cobra.AppendActiveHelp(nil, "This command does not take any more arguments (but may accept flags).")
	return hint, cobra.ShellCompDirectiveNoFileComp
}

// completeNothing is for commands whose arguments, so many of them, are for the
// user to make up.
func completeNothing(arguments int) completion {
	return upTo(arguments, cobra.NoFileCompletions)
}

// completeFile is for commands whose only argument is a file or folder.
func completeFile() completion {
	return upTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// upTo completes so many arguments, and no more.
func upTo(arguments int, complete completion) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return completeNoMore(cmd, args, word)
		}
		return complete(cmd, args, word)
	}
}

// completeFlag completes the value of a flag. Only a flag that does not exist or
// is completed already is refused, which tests see.
func completeFlag(cmd *cobra.Command, flag string, complete completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
