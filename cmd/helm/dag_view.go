// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/pkg/action"
)

// dagView contains the flags that say how to print a graph.
type dagView struct {
	format  graphview.Format
	reasons bool
	// diff is the release that the chart is compared with; empty for no comparison.
	diff string
	// comparedWith is the revision of the release in diff.
	comparedWith int
}

func (v *dagView) addFlags(cmd *cobra.Command, a *app) {
	outputChoice("how the graph is printed", graphview.Formats()).add(cmd, &v.format)
	f := cmd.Flags()
	f.BoolVar(&v.reasons, reasonsFlagName, false, "print the file and the key that declare each edge")
	f.StringVar(&v.diff, diffFlagName, "", "name of a release: mark the differences from the graph of that release")
	completeFlag(cmd, diffFlagName, a.completeReleases)
}

// dagDiff prints the plan of a chart and how it differs from the plan of the release in
// opts.diff.
func (a *app) dagDiff(ctx context.Context, in *installInput, opts *dagOptions, reference string) error {
	if opts.release {
		return fmt.Errorf("--%s compares a chart with a release: remove --%s", diffFlagName, releaseFlagName)
	}
	rel, err := a.revisionInNamespace(opts.diff, opts.revision)
	if err != nil {
		return err
	}
	before, err := a.releasePlan(rel)
	if err != nil {
		return err
	}
	opts.comparedWith = rel.Version
	plan, err := in.plan(ctx, opts, reference)
	if err != nil {
		return err
	}
	return a.showPlan(plan, &graphview.Before{Plan: before.Plan, Release: rel.Name, Revision: rel.Version}, opts)
}

// showPlan prints a plan to standard output, and its warnings to standard error. If before
// is not nil, it also prints the differences from that plan.
func (a *app) showPlan(plan *action.Plan, before *graphview.Before, opts *dagOptions) error {
	printer := progress.NewWarnings(a.errOut)
	for _, warning := range plan.Warnings {
		printer.Event(action.Event{Type: action.EventWarning, Message: warning.String()})
	}
	for _, need := range plan.Unmet {
		printer.Event(action.Event{Type: action.EventWarning, Message: need.String()})
	}
	view := graphview.View{Plan: plan.Plan, Hooks: plan.Hooks, Reasons: opts.reasons, Before: before}
	return view.Write(a.out, opts.format)
}
