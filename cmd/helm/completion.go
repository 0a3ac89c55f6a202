// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
)

const completionHelp = `
Print a script that makes a shell complete helm's commands, flags, releases, charts and
versions. "helm completion SHELL --help" explains how to load it.
`

const completionBashHelp = `
Print the completion script for bash.

For the current shell:

    source <(helm completion bash)

For every new shell, on Linux and on macOS:

    helm completion bash > /etc/bash_completion.d/helm
    helm completion bash > /usr/local/etc/bash_completion.d/helm

The script requires the package bash-completion.
`

const completionZshHelp = `
Print the completion script for zsh.

For the current shell:

    source <(helm completion zsh)

For every new shell:

    helm completion zsh > "${fpath[1]}/_helm"
`

const completionFishHelp = `
Print the completion script for fish.

For the current shell:

    helm completion fish | source

For every new shell:

    helm completion fish > ~/.config/fish/completions/helm.fish
`

const completionPowershellHelp = `
Print the completion script for PowerShell.

For the current shell:

    helm completion powershell | Out-String | Invoke-Expression

For every new shell, add that line to your profile.
`

// shell describes a shell for which "helm completion" prints a script.
type shell struct {
	name, help string
	// write prints the script. program is the name of the executable. descriptions says
	// whether completion shows descriptions of the suggested words.
	write func(root *cobra.Command, out io.Writer, program string, descriptions bool) error
}

func newCompletionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion",
		Short: "print the completion script of a shell",
		Long:  completionHelp,
		Args:  require.NoArgs,
	}
	for _, sh := range []shell{
		{"bash", completionBashHelp, writeBashCompletion},
		{"zsh", completionZshHelp, writeZshCompletion},
		{"fish", completionFishHelp, writeFishCompletion},
		{"powershell", completionPowershellHelp, writePowershellCompletion},
	} {
		cmd.AddCommand(newShellCompletionCmd(a, sh))
	}
	return cmd
}

func newShellCompletionCmd(a *app, sh shell) *cobra.Command {
	var noDescriptions bool
	cmd := &cobra.Command{
		Use:               sh.name,
		Short:             "print the completion script for " + sh.name,
		Long:              sh.help,
		Args:              require.NoArgs,
		ValidArgsFunction: noMoreArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sh.write(cmd.Root(), a.out, filepath.Base(os.Args[0]), !noDescriptions)
		},
	}
	cmd.Flags().BoolVar(&noDescriptions, "no-descriptions", false, "complete without descriptions")
	return cmd
}

// writeBashCompletion prints the script for bash. By default, the script completes only the
// command "helm". If program has another name, lines are appended that also complete that
// name, as in Helm.
func writeBashCompletion(root *cobra.Command, out io.Writer, program string, descriptions bool) error {
	if err := root.GenBashCompletionV2(out, descriptions); err != nil || program == root.Name() {
		return err
	}
	_, err := fmt.Fprintf(out, `
# Hook the command used to generate the completion script
# to the helm completion function to handle the case where
# the user renamed the helm binary
if [[ $(type -t compopt) = "builtin" ]]; then
    complete -o default -F __start_helm %[1]s
else
    complete -o default -o nospace -F __start_helm %[1]s
fi
`, program)
	return err
}

func writeZshCompletion(root *cobra.Command, out io.Writer, program string, descriptions bool) error {
	generate := root.GenZshCompletion
	if !descriptions {
		generate = root.GenZshCompletionNoDesc
	}
	if err := generate(out); err != nil {
		return err
	}
	if program != root.Name() {
		if _, err := fmt.Fprintf(out, `
# Hook the command used to generate the completion script
# to the helm completion function to handle the case where
# the user renamed the helm binary
compdef _helm %[1]s
`, program); err != nil {
			return err
		}
	}
	// This line is needed if the script is sourced instead of being found in $fpath.
	_, err := io.WriteString(out, "compdef _helm helm")
	return err
}

func writeFishCompletion(root *cobra.Command, out io.Writer, _ string, descriptions bool) error {
	return root.GenFishCompletion(out, descriptions)
}

func writePowershellCompletion(root *cobra.Command, out io.Writer, _ string, descriptions bool) error {
	if descriptions {
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return root.GenPowerShellCompletion(out)
}
