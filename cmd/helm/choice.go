// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice describes a flag whose value must be one of several words.
type choice[T ~string] struct {
	name, shorthand, usage string
	// kind is the type of the value in the help text.
	kind  string
	words []T
	// meanings contains a description of each word, in the order of words, for shell
	// completion.
	meanings []string
}

// add adds the flag to cmd and stores its value in value. The default is the first word.
func (c choice[T]) add(cmd *cobra.Command, value *T) {
	*value = c.words[0]
	cmd.Flags().VarP(&choiceValue[T]{choice: c, value: value}, c.name, c.shorthand, c.usage)
	completions := make([]cobra.Completion, len(c.words))
	for i, word := range c.words {
		completions[i] = string(word)
		if i < len(c.meanings) {
			completions[i] = cobra.CompletionWithDesc(string(word), c.meanings[i])
		}
	}
	completeFlag(cmd, c.name, cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

// list returns the words, separated for a usage text or an error message.
func (c choice[T]) list() string {
	words := make([]string, len(c.words))
	for i, word := range c.words {
		words[i] = string(word)
	}
	return strings.Join(words, ", ")
}

// choiceValue implements pflag.Value for a choice.
type choiceValue[T ~string] struct {
	choice[T]
	value *T
}

func (v *choiceValue[T]) Type() string   { return v.kind }
func (v *choiceValue[T]) String() string { return string(*v.value) }

func (v *choiceValue[T]) Set(text string) error {
	if !slices.Contains(v.words, T(text)) {
		return fmt.Errorf("must be one of: %s", v.list())
	}
	*v.value = T(text)
	return nil
}

// outputChoice returns the flag --output for a command whose formats differ from those of
// other commands. The usage text is what, followed by the formats.
func outputChoice[T ~string](what string, formats []T, meanings ...string) choice[T] {
	c := choice[T]{name: "output", shorthand: "o", kind: "format", words: formats, meanings: meanings}
	c.usage = what + ": " + c.list()
	return c
}
