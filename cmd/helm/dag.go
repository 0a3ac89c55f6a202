// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/initialorder"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/pkg/action"
)

const dagHelp = `
Print the order in which a chart is deployed with --wait=ordered, or in which an
installed release was deployed, and the order of the hooks of each event, including which of
them run in parallel, in charts with runHooksInParallel in Chart.yaml.

    $ helm dag                                   the chart in the current directory
    $ helm dag ./shop -f production.yaml
    $ helm dag shop --repo https://example.com/charts --version 1.2.3
    $ helm dag shop                              the release "shop", latest revision
    $ helm dag shop --revision 3
    $ helm dag ./shop --reasons                  also print what declares each edge
    $ helm dag ./shop -o svg >shop.svg           a picture
    $ helm dag ./shop --diff shop                compared with the release "shop"
    $ helm dag ./shop --diff shop --revision 3   compared with its third revision
    $ helm dag ./shop --init-order >order.yaml   an order file to begin with

The chart is specified as for "helm install", and is rendered without a cluster. A
single word that is not a local file or directory is treated as a release, unless it
ends in .tgz or a flag is given that applies only to charts, such as --values or
--repo. With --release the name is always that of a release.

The graph of a release is built from the data that is stored with it. A revision that
was not deployed with --wait=ordered has no graph.

--output mermaid is for Markdown, dot for Graphviz, and json for programs. In a
picture, charts are boxes, hooks are at the sides, and edges that other edges imply are
omitted. --reasons prints the file and the key that declare each edge; json always
includes them, and svg shows them in tooltips.

--diff marks nodes, resources and edges that are new or removed compared with the
release, and resources that moved to another node. The chart is rendered with the name
of the release and with the values given here, not with the values of the release.

--init-order prints an order file for the chart instead of the graph: a rule for each
chart and each workload, all of them commented out. Edit it, look at the graph with
--order, and deploy with it.

The graph is printed to standard output. Warnings about ignored declarations, and about
resources that refer to others that are deployed later, are printed to standard error.
So are notes about post- hooks of a subchart that run only after all resources, although other
charts depend on the subchart. An order that cannot be satisfied, such as one with a cycle, is
an error.
`

const (
	releaseFlagName = "release"
	outputFlagName  = "output"
	reasonsFlagName = "reasons"
	diffFlagName    = "diff"

	initOrderFlagName = "init-order"
)

// releaseFlags contains the flags of dag that can be used if the argument is a release. All
// other flags apply only to charts.
var releaseFlags = []string{releaseFlagName, revisionFlagName, outputFlagName, reasonsFlagName, initOrderFlagName}

// dagOptions holds the flags that only dag has, and those that it shares with template.
type dagOptions struct {
	dagOutputFlags
	release      bool
	revision     int
	revisionFlag *revisionFlag
	capabilities capabilityFlags
	// chartOnlyFlag is the name of a flag on the command line that applies only to charts,
	// if there is one.
	chartOnlyFlag string
}

func newDagCmd(a *app) *cobra.Command {
	in := newInstallActionInput(a)
	var opts dagOptions
	cmd := &cobra.Command{
		Use:   "dag [CHART | RELEASE]",
		Short: "print the order in which a chart is deployed [not in stock Helm]",
		Long:  dagHelp,
		// A plugin of the same name replaces this command.
		Annotations: map[string]string{additionAnnotation: "true"},
		Args:        require.MaximumNArgs(1),
		ValidArgsFunction: completeUpTo(1, func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return a.completeChartOrRelease(cmd, args, word, opts.release || cmd.Flags().Changed(revisionFlagName))
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.release = opts.release || cmd.Flags().Changed(revisionFlagName) && opts.diff == ""
			opts.chartOnlyFlag = chartOnlyFlag(cmd)
			return a.dag(cmd.Context(), in, &opts, args)
		},
	}
	f := cmd.Flags()
	client := in.client
	f.BoolVar(&opts.release, releaseFlagName, false, "the argument is the name of an installed release")
	opts.revisionFlag = a.addRevisionValue(cmd, &opts.revision, "revision of the release, or the name of its ReleaseVersion (default: the latest); implies --release, unless with --diff")
	opts.addFlags(cmd, a)
	f.BoolVar(&client.IsUpgrade, "is-upgrade", false, "render as for an upgrade: .Release.IsUpgrade is true and .Release.IsInstall is false")
	opts.capabilities.add(f)
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "update the chart's dependencies first if any is missing")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not validate values against the chart's JSON schema")
	addOrderFlag(cmd, &client.OrderFile)
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "allow templates to resolve host names")
	a.addScriptFlags(cmd, &client.ScriptOptions)
	addValueFlags(f, &in.values)
	a.addChartPathFlags(cmd, &client.ChartPathOptions, func() int { return 0 })
	a.addPostRendererFlags(f, &client.PostRenderer)
	return cmd
}

// chartOnlyFlag returns the name of a flag on the command line that applies only to charts, or
// "" if there is none.
func chartOnlyFlag(cmd *cobra.Command) string {
	given := ""
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && given == "" && !slices.Contains(releaseFlags, f.Name) {
			given = f.Name
		}
	})
	return given
}

func (a *app) dag(ctx context.Context, in *installActionInput, opts *dagOptions, args []string) error {
	argument := "."
	switch {
	case len(args) > 0:
		argument = args[0]
	case opts.release:
		return fmt.Errorf("--%s and --%s require the name of a release", releaseFlagName, revisionFlagName)
	}
	if opts.initOrder && (opts.diff != "" || opts.reasons || opts.format != graphview.FormatText) {
		return fmt.Errorf("--%s prints an order file and no graph: remove --%s, --%s and --%s", initOrderFlagName, outputFlagName, reasonsFlagName, diffFlagName)
	}
	if err := opts.revisionFlag.resolve(ctx, a, cmp.Or(opts.diff, argument)); err != nil {
		return err
	}
	if opts.diff != "" {
		return a.dagDiff(ctx, in, opts, argument)
	}
	plan, err := a.plan(ctx, in, opts, argument)
	if err != nil {
		return err
	}
	if opts.initOrder {
		return initialorder.Write(a.out, initialorder.Options{Plan: plan.Plan, Hooks: plan.Hooks, Release: cmp.Or(in.client.ReleaseName, argument)})
	}
	return a.showPlan(plan, nil, opts)
}

// plan returns the plan (the deployment graph with its hooks and warnings) of the chart or the
// release that the argument of dag refers to.
func (a *app) plan(ctx context.Context, in *installActionInput, opts *dagOptions, argument string) (*action.Plan, error) {
	switch {
	case opts.release && opts.chartOnlyFlag != "":
		return nil, fmt.Errorf("--%s cannot be used with a release: remove --%s, or remove --%s and --%s",
			opts.chartOnlyFlag, opts.chartOnlyFlag, releaseFlagName, revisionFlagName)
	case opts.release:
		return a.storedPlan(ctx, argument, opts.revision)
	case isChart(argument) || in.client.RepoURL != "":
		return in.plan(ctx, opts, argument)
	case opts.chartOnlyFlag != "":
		return nil, fmt.Errorf("there is no chart at ./%s, and --%s applies only to charts: remove --%s to print the graph of release %q",
			argument, opts.chartOnlyFlag, opts.chartOnlyFlag, argument)
	}
	return a.storedPlanOrNoChart(ctx, argument)
}

// storedPlan returns the plan of a stored revision. It is called if a flag says that the
// argument of dag is a release.
func (a *app) storedPlan(ctx context.Context, name string, revision int) (*action.Plan, error) {
	rel, err := a.revisionInNamespace(ctx, name, revision)
	if err != nil {
		return nil, err
	}
	return a.releasePlan(rel)
}

// revisionInNamespace is like the method revision, but its error names the namespace if the
// revision does not exist.
func (a *app) revisionInNamespace(ctx context.Context, name string, revision int) (*release.Release, error) {
	rel, err := a.revision(ctx, name, revision)
	switch {
	case err == nil:
		return rel, nil
	case !errors.Is(err, driver.ErrReleaseNotFound):
		return nil, err
	case revision > 0:
		return nil, fmt.Errorf("revision %d of release %q not found in namespace %q: %w", revision, name, a.settings.Namespace(), err)
	default:
		return nil, fmt.Errorf("release %q not found in namespace %q: %w", name, a.settings.Namespace(), err)
	}
}

// storedPlanOrNoChart returns the plan of the last revision of a release. The argument of dag
// can also be meant as a chart, so the errors say that no such chart exists either.
func (a *app) storedPlanOrNoChart(ctx context.Context, name string) (*action.Plan, error) {
	rel, err := a.revision(ctx, name, 0)
	switch {
	case err == nil:
		return a.releasePlan(rel)
	case errors.Is(err, driver.ErrReleaseNotFound):
		return nil, fmt.Errorf("neither a chart at ./%s nor a release %q found in namespace %q", name, name, a.settings.Namespace())
	default:
		return nil, fmt.Errorf("there is no chart at ./%s, and reading release %q failed: %w", name, name, err)
	}
}

// releasePlan returns the plan that is stored with a revision. It warns if the revision was
// not deployed in that order. This is possible because stock Helm, if it rolls a release
// back, copies the order record of the earlier revision, but does not follow the order.
func (a *app) releasePlan(rel *release.Release) (*action.Plan, error) {
	plan, err := action.ReleasePlan(rel)
	switch {
	case err != nil:
		return nil, err
	case plan == nil:
		return nil, fmt.Errorf("revision %d of release %q was not deployed in order and has no graph: "+
			"\"helm dag CHART\" prints the graph of a chart, and \"helm upgrade %s CHART --wait=ordered\" deploys in that order",
			rel.Version, rel.Name, rel.Name)
	}
	// There cannot be an error, because ReleasePlan has read the same record.
	if state, _ := orderrecord.StateOf(rel); state == orderrecord.Ignored {
		a.warnf("revision %d of release %q was not deployed in this order, because the program that rolled it back does not support ordering; only an uninstall follows it", rel.Version, rel.Name)
	}
	return plan, nil
}

// isChart reports whether an argument of dag must be a chart: it is an existing file or
// directory, or it looks like a path rather than a release name.
func isChart(argument string) bool {
	if strings.HasPrefix(argument, ".") || strings.HasSuffix(argument, ".tgz") || strings.ContainsAny(argument, `/\`) {
		return true
	}
	_, err := os.Stat(argument)
	return err == nil
}

// plan returns the plan of the chart that reference refers to. It renders the chart without a
// cluster.
func (in *installActionInput) plan(ctx context.Context, opts *dagOptions, reference string) (*action.Plan, error) {
	client := in.client
	if err := opts.capabilities.apply(client); err != nil {
		return nil, err
	}
	if err := in.app.setRegistry(&client.ChartPathOptions, client.SetRegistryClient); err != nil {
		return nil, err
	}
	client.ClientOnly = true
	client.DryRun = true
	client.DryRunOption = "client"
	client.Replace = true // do not check whether the release name is in use
	client.ReleaseName = cmp.Or(opts.diff, "release-name")
	client.OnEvent = progress.NewWarnings(in.app.errOut).Event // what scripts print
	loaded, err := in.load(ctx, []string{reference})
	if err != nil {
		return nil, err
	}
	if opts.diff != "" {
		return client.PlanRevision(ctx, loaded.chart, loaded.values, opts.renderedAs)
	}
	return client.Plan(ctx, loaded.chart, loaded.values)
}
