// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/recreation"
)

const recreateFlagName = "recreate"

// addRecreateFlag adds the flag --recreate, which can be given several times and appends to patterns.
func addRecreateFlag(cmd *cobra.Command, patterns *[]string) {
	cmd.Flags().Var(&recreateValue{patterns}, recreateFlagName, "[not in stock Helm] delete and create again this object if it cannot be changed in place; both parts can contain wildcards (can be given several times)")
	_ = cmd.RegisterFlagCompletionFunc(recreateFlagName, cobra.NoFileCompletions) // it fails only if there is no such flag
}

// recreateValue is the value of --recreate. It checks the patterns.
type recreateValue struct{ patterns *[]string }

// String implements pflag.Value.
func (v *recreateValue) String() string {
	if v.patterns == nil {
		return ""
	}
	return strings.Join(*v.patterns, ",")
}

// Type implements pflag.Value.
func (v *recreateValue) Type() string { return "KIND/NAME" }

// Set implements pflag.Value.
func (v *recreateValue) Set(pattern string) error {
	_, err := recreation.ParseRules([]string{pattern})
	*v.patterns = append(*v.patterns, pattern)
	return err
}
