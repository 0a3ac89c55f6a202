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
		usage: "[not in Helm] what to do if the release is locked by another operation: \"auto\" takes over the release if the lock holder is no longer alive, \"never\" does not, \"force\" also takes over a release whose record names no lock holder, such as one of stock Helm",
		words: action.Takeovers(),
		meanings: []string{
			"take over the release if the lock holder is no longer alive", "never take over the release", "also if the record names no lock holder",
		},
	}.add(cmd, takeover)
}
