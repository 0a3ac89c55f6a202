// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
)

const envHelp = `
Print all settings that helm takes from the environment, or a single one.

    $ helm env
    $ helm env HELM_CACHE_HOME
`

func newEnvCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "print the settings that helm takes from the environment",
		Long:  envHelp,
		Args:  require.MaximumNArgs(1),
		ValidArgsFunction: completeUpTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return slices.Sorted(maps.Keys(a.environment())), cobra.ShellCompDirectiveNoFileComp
		}),
		Run: func(_ *cobra.Command, args []string) {
			variables := a.environment()
			if len(args) > 0 {
				fmt.Fprintln(a.out, variables[args[0]])
				return
			}
			for _, name := range slices.Sorted(maps.Keys(variables)) {
				fmt.Fprintf(a.out, "%s=\"%s\"\n", name, variables[name])
			}
		},
	}
}

// environment returns the settings that helm env prints: those of stock Helm, and $HELM_WAIT,
// which changes what --wait means.
func (a *app) environment() map[string]string {
	variables := a.settings.EnvVars()
	variables[waitEnv] = os.Getenv(waitEnv)
	return variables
}
