// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/pkg/action"
)

const takeoverFlagName = "takeover"

// takeoverFlag is the value of --takeover.
type takeoverFlag action.Takeover

func addTakeoverFlag(f *pflag.FlagSet, takeover *action.Takeover) {
	*takeover = action.TakeoverAuto
	f.Var((*takeoverFlag)(takeover), takeoverFlagName, "[not in Helm] what to do with a release on which another helm works, or did until it died: \"auto\" takes it over if that one is dead for sure, \"never\" does not, \"force\" also takes over one of which it is not recorded who works on it, as of stock Helm")
}

func (v *takeoverFlag) Type() string { return "auto|never|force" }

func (v *takeoverFlag) String() string { return string(*v) }

func (v *takeoverFlag) Set(s string) error {
	if !slices.Contains(action.Takeovers(), action.Takeover(s)) {
		return fmt.Errorf("must be auto, never or force, not %q", s)
	}
	*v = takeoverFlag(s)
	return nil
}

// completeTakeover lists the values of --takeover.
func completeTakeover(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc("auto", "take a release over if its holder is dead"),
		cobra.CompletionWithDesc("force", "also if it is not recorded who holds it"),
		cobra.CompletionWithDesc("never", "take no release over"),
	}, cobra.ShellCompDirectiveNoFileComp
}
