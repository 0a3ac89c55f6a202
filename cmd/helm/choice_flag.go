// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choiceFlag describes a flag whose value must be one of several choices.
type choiceFlag[T ~string] struct {
	name, shorthand, usage string
	// typeName is the type of the value in the help text.
	typeName string
	choices  []T
	// descriptions contains a description of each choice, in the same order, for shell
	// completion. It can be empty.
	descriptions []string
}

// add adds the flag to cmd, and stores its value in value. The default is the first choice.
func (c choiceFlag[T]) add(cmd *cobra.Command, value *T) {
	*value = c.choices[0]
	cmd.Flags().VarP(&choiceValue[T]{choiceFlag: c, value: value}, c.name, c.shorthand, c.usage)
	completions := make([]cobra.Completion, len(c.choices))
	for i, choice := range c.choices {
		completions[i] = string(choice)
		if i < len(c.descriptions) {
			completions[i] = cobra.CompletionWithDesc(string(choice), c.descriptions[i])
		}
	}
	completeFlag(cmd, c.name, cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

// list returns the choices, separated by commas.
func (c choiceFlag[T]) list() string {
	names := make([]string, len(c.choices))
	for i, choice := range c.choices {
		names[i] = string(choice)
	}
	return strings.Join(names, ", ")
}

// choiceValue implements pflag.Value for a choiceFlag.
type choiceValue[T ~string] struct {
	choiceFlag[T]
	value *T
}

func (v *choiceValue[T]) Type() string   { return v.typeName }
func (v *choiceValue[T]) String() string { return string(*v.value) }

func (v *choiceValue[T]) Set(text string) error {
	if !slices.Contains(v.choices, T(text)) {
		return fmt.Errorf("must be one of: %s", v.list())
	}
	*v.value = T(text)
	return nil
}

// outputChoiceFlag returns the flag --output for a command that has formats other than Helm's
// table, json and yaml. The usage text consists of usage and the list of formats.
func outputChoiceFlag[T ~string](usage string, formats []T, descriptions ...string) choiceFlag[T] {
	c := choiceFlag[T]{name: "output", shorthand: "o", typeName: "format", choices: formats, descriptions: descriptions}
	c.usage = usage + ": " + c.list()
	return c
}
