// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/pkg/action"
)

// completeReleases suggests the releases in the namespace that are not yet among the
// arguments. It also suggests names that do not begin with the typed word, because some
// shells complete words by other parts of a name.
func (a *app) completeReleases(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	a.readOnlyListedFields(cmd.Context(), a.settings.Namespace())
	client := action.NewList(a.config)
	client.All = true
	client.Limit = 0
	client.SetStateMask()
	releases, err := client.Run()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var choices []cobra.Completion
	for _, rel := range releases {
		if slices.Contains(args, rel.Name) {
			continue
		}
		chart, _ := describeChart(rel.Chart)
		choices = append(choices, cobra.CompletionWithDesc(rel.Name, fmt.Sprintf("%s -> %s", chart, rel.Info.Status)))
	}
	return choices, cobra.ShellCompDirectiveNoFileComp
}

// completeRelease returns a completionFunc for a command whose only argument is a release.
func (a *app) completeRelease() completionFunc { return completeUpTo(1, a.completeReleases) }

// completeRevisions suggests the revisions of the release that is the first argument: their numbers and, if the word
// is the beginning of such names, the names of their ReleaseVersions.
func (a *app) completeRevisions(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	revisions, err := action.NewHistory(a.config).Revisions(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var choices []cobra.Completion
	for _, r := range revisions {
		chart, appVersion := describeChart(r.Release.Chart)
		description := fmt.Sprintf("App: %s, Chart: %s", appVersion, chart)
		choices = append(choices, cobra.CompletionWithDesc(strconv.Itoa(r.Release.Version), description))
		if word != "" && strings.HasPrefix(r.ID, word) {
			choices = append(choices, cobra.CompletionWithDesc(r.ID, description))
		}
	}
	return choices, cobra.ShellCompDirectiveNoFileComp
}

// completeReleaseAnd returns a completionFunc for a command whose first argument is a release,
// and whose second argument is completed by the function second.
func (a *app) completeReleaseAnd(second completionFunc) completionFunc {
	return completeUpTo(2, func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.completeReleases(cmd, args, word)
		}
		return second(cmd, args, word)
	})
}
