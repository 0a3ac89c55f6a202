// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/pkg/action"
)

// dagOutputFlags holds the flags that say how dag prints a graph.
type dagOutputFlags struct {
	format  graphview.Format
	reasons bool
	// initOrder prints an order file instead of the graph.
	initOrder bool
	// diff is the name of the release that the chart is compared with, if any.
	diff string
	// renderedAs is the revision for which the chart is rendered: the one for which the manifest
	// of the compared revision was rendered.
	renderedAs int
}

func (v *dagOutputFlags) addFlags(cmd *cobra.Command, a *app) {
	outputChoiceFlag("how the graph is printed", graphview.Formats()).add(cmd, &v.format)
	f := cmd.Flags()
	f.BoolVar(&v.reasons, reasonsFlagName, false, "print the file and the key that declare each edge")
	f.BoolVar(&v.initOrder, initOrderFlagName, false, "print an order file for the chart to begin with, in which all rules are commented out, instead of the graph")
	f.StringVar(&v.diff, diffFlagName, "", "name of a release: mark the differences from the graph of that release")
	completeFlag(cmd, diffFlagName, a.completeReleases)
}

// dagDiff prints the deployment graph of the chart that reference refers to, and marks how it
// differs from the graph of the release in opts.diff.
func (a *app) dagDiff(ctx context.Context, in *installActionInput, opts *dagOptions, reference string) error {
	if opts.release {
		return fmt.Errorf("--%s compares a chart with a release: remove --%s", diffFlagName, releaseFlagName)
	}
	if chartutil.ValidateReleaseName(opts.diff) != nil {
		return fmt.Errorf("--%s: %q is not the name of a release: use helm dag CHART --%s RELEASE", diffFlagName, opts.diff, diffFlagName)
	}
	rel, err := a.revisionInNamespace(ctx, opts.diff, opts.revision)
	if err != nil {
		return err
	}
	before, err := a.releasePlan(rel)
	if err != nil {
		return err
	}
	if opts.renderedAs, err = a.renderedAs(rel); err != nil {
		return err
	}
	plan, err := in.plan(ctx, opts, reference)
	if err != nil {
		return err
	}
	return a.showPlan(plan, &graphview.RevisionPlan{Plan: before.Plan, Release: rel.Name, Revision: rel.Version}, opts)
}

// renderedAs returns the revision for which the manifest of rel was rendered. This is an earlier
// revision if rel is a rollback, which copies the manifest. Names in the manifest can contain the
// number of that revision. If it is no longer in the history, renderedAs returns the oldest
// revision with the same manifest.
func (a *app) renderedAs(rel *release.Release) (int, error) {
	revisions, err := a.config.Releases.History(rel.Name)
	if err != nil {
		return 0, err
	}
	rendered := rel.Version
	for _, r := range revisions {
		if r.Manifest == rel.Manifest {
			rendered = min(rendered, r.Version)
		}
	}
	return rendered, nil
}

// showPlan prints a deployment graph to standard output, and its warnings and notes to standard error.
// If before is not nil, it marks the differences from that graph.
func (a *app) showPlan(plan *action.Plan, before *graphview.RevisionPlan, opts *dagOptions) error {
	printer := progress.NewWarnings(a.errOut)
	for _, warning := range plan.Warnings {
		printer.Event(action.Event{Type: action.EventWarning, Message: warning.String()})
	}
	for _, need := range plan.Unmet {
		printer.Event(action.Event{Type: action.EventWarning, Message: need.String()})
	}
	for _, note := range plan.Notes {
		a.notef("%s", note)
	}
	view := graphview.View{Plan: plan.Plan, Hooks: plan.Hooks, Reasons: opts.reasons, CompareWith: before}
	return view.Write(a.out, opts.format)
}
