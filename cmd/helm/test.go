// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/pkg/action"
)

const testHelp = `
Run the tests of a release: the hooks for the event "test" of its charts. Tests of
charts with runHooksInParallel run in parallel; "helm dag" shows which.

    $ helm test shop
    $ helm test shop --filter name=smoke,name=login --logs
    $ helm test shop --filter '!name=slow' --timeout 1m

Only the tests that --filter selects are run. If a test fails, Helm prints the cause. With
--logs, it also prints the logs of all tests that ran. $HELM_MAX_PARALLEL_HOOKS limits how many tests
run in parallel.
`

// testActionInput holds the flags of test, and the test action, whose options they set.
type testActionInput struct {
	client   *action.ReleaseTesting
	filters  []string
	logs     bool
	progress progressFlags
}

func newTestCmd(a *app) *cobra.Command {
	in := &testActionInput{client: action.NewReleaseTesting(a.config)}
	cmd := &cobra.Command{
		Use:               "test [RELEASE]",
		Short:             "run the tests of a release",
		Long:              testHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.test(cmd.Context(), in, args[0])
		},
	}
	f := cmd.Flags()
	f.DurationVar(&in.client.Timeout, "timeout", defaultTimeout, "time to wait for any individual test")
	f.BoolVar(&in.logs, "logs", false, "print the logs of the pods of the tests after all have run")
	f.StringSliceVar(&in.filters, "filter", nil, "names of tests to run: name=test1,name=test2; or not to run: '!name=test1'")
	addProgressFlags(cmd, &in.progress)
	f.BoolVar(&in.client.HideNotes, "hide-notes", false, "do not print the notes of the chart")
	return cmd
}

// test runs the tests of the release with the given name. A signal to the process cancels
// them. The release is printed even if a test fails.
func (a *app) test(ctx context.Context, in *testActionInput, name string) error {
	client := in.client
	var err error
	if client.MaxParallelHooks, err = maxParallelHooks(); err != nil {
		return err
	}
	view, err := a.newView(&in.progress)
	if err != nil {
		return err
	}
	defer view.close()
	client.Namespace = a.settings.Namespace()
	in.readFilters()
	ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, cancelMessages{
		release: name, canceled: fmt.Sprintf("Test of release %s has been cancelled.", name),
		remainingWork: "the results of the tests are recorded",
	})
	rel, failure := client.RunWithContext(ctx, name)
	view.closeDisplay()
	if rel == nil {
		return failure
	}
	if !in.logs { // otherwise, a signal must still cancel the requests for logs
		view.end()
	}
	printer := &releasePrinter{release: in.sortedForPrinting(rel), details: a.settings.Debug, hideNotes: client.HideNotes}
	a.warnIfNotPrinted(output.Table.Write(a.out, printer))
	if in.logs {
		fmt.Fprintln(a.out)
		failure = errors.Join(failure, client.GetPodLogsWithContext(ctx, a.out, rel))
	}
	return failure
}

// readFilters sets the filters of the action from the values of --filter. As in Helm, values
// of other forms than name=NAME and !name=NAME are ignored.
func (in *testActionInput) readFilters() {
	not := regexp.MustCompile(`^!\s?name=`)
	for _, filter := range in.filters {
		if name, found := strings.CutPrefix(filter, "name="); found {
			in.client.Filters[action.IncludeNameFilter] = append(in.client.Filters[action.IncludeNameFilter], name)
		} else if prefix := not.FindString(filter); prefix != "" {
			in.client.Filters[action.ExcludeNameFilter] = append(in.client.Filters[action.ExcludeNameFilter], strings.TrimPrefix(filter, prefix))
		}
	}
}

// sortedForPrinting returns a copy of rel with its hooks in the order in which Helm prints
// them: hooks that a filter excludes come first, and hooks that the filters select come
// last.
func (in *testActionInput) sortedForPrinting(rel *release.Release) *release.Release {
	printed := *rel
	printed.Hooks = slices.Clone(rel.Hooks)
	place := func(h *release.Hook) int {
		switch {
		case in.client.Picks(h):
			return 2
		case slices.Contains(in.client.Filters[action.ExcludeNameFilter], h.Name):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(printed.Hooks, func(a, b *release.Hook) int { return place(a) - place(b) })
	return &printed
}

// isTest reports whether a hook is a test.
func isTest(h *release.Hook) bool {
	return len(hookorder.ForEvent([]*release.Hook{h}, release.HookTest)) > 0
}
