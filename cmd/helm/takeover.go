// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/pkg/action"
)

const takeoverFlagName = "takeover"

func addTakeoverFlag(cmd *cobra.Command, takeover *action.Takeover) {
	choice[action.Takeover]{
		name: takeoverFlagName, kind: "auto|never|force",
		usage: "[not in Helm] what to do with a release on which another helm works, or did until it died: \"auto\" takes it over if that one is dead for sure, \"never\" does not, \"force\" also takes over one of which it is not recorded who works on it, as of stock Helm",
		words: action.Takeovers(),
		meanings: []string{
			"take a release over if its holder is dead", "take no release over", "also if it is not recorded who holds it",
		},
	}.add(cmd, takeover)
}
