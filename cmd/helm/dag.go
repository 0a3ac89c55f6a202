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

	"github.com/ordered-helm/helm/pkg/action"
)

const dagHelp = `
Print the order in which a chart deploys with --wait=ordered, or in which an
installed release was deployed, and the order of the hooks of each event.

    $ helm dag                                   the chart in the current directory
    $ helm dag ./shop -f production.yaml
    $ helm dag shop --repo https://example.com/charts --version 1.2.3
    $ helm dag shop                              the release "shop", latest revision
    $ helm dag shop --revision 3
    $ helm dag ./shop --reasons                  also what declares each edge
    $ helm dag ./shop -o svg >shop.svg           a picture
    $ helm dag ./shop --diff shop                compared with the release "shop"
    $ helm dag ./shop --diff shop --revision 3   compared with its third revision

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

The graph is printed to standard output. Warnings are printed to standard error: about
declarations that are ignored, and about resources that need something that is deployed
later. An order that cannot be satisfied, such as one with a cycle, is an error.
`

const (
	releaseFlagName  = "release"
	revisionFlagName = "revision"
	outputFlagName   = "output"
	reasonsFlagName  = "reasons"
	diffFlagName     = "diff"
)

// releaseFlags contains the names of the flags that can be used with a release. All other
// flags of dag apply only to charts.
var releaseFlags = []string{releaseFlagName, revisionFlagName, outputFlagName, reasonsFlagName}

// dagOptions contains the flags of dag that do not apply to other commands.
type dagOptions struct {
	dagView
	release      bool
	revision     int
	capabilities capabilityFlags
	// chartOnlyFlag is the name of a flag that was set and applies only to charts. It is
	// empty if no such flag was set.
	chartOnlyFlag string
}

func newDagCmd(a *app) *cobra.Command {
	in := &installInput{app: a, client: action.NewInstall(a.config)}
	var opts dagOptions
	cmd := &cobra.Command{
		Use:   "dag [CHART | RELEASE]",
		Short: "print the order in which a chart deploys [not in stock Helm]",
		Long:  dagHelp,
		// A plugin with this name replaces the command.
		Annotations: map[string]string{additionAnnotation: "true"},
		Args:        require.MaximumNArgs(1),
		ValidArgsFunction: upTo(1, func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return a.completeChartOrRelease(cmd, args, word, opts.release || cmd.Flags().Changed("revision"))
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.release = opts.release || cmd.Flags().Changed("revision") && opts.diff == ""
			opts.chartOnlyFlag = chartOnlyFlag(cmd)
			return a.dag(cmd.Context(), in, &opts, args)
		},
	}
	f := cmd.Flags()
	client := in.client
	f.BoolVar(&opts.release, releaseFlagName, false, "the argument is the name of an installed release")
	f.IntVar(&opts.revision, revisionFlagName, 0, "revision of the release (default: the latest); implies --release, unless with --diff")
	opts.addFlags(cmd, a)
	f.BoolVar(&client.IsUpgrade, "is-upgrade", false, "render as for an upgrade: .Release.IsUpgrade is true and .Release.IsInstall is false")
	opts.capabilities.add(f)
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "update the chart's dependencies first if any is missing")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not validate values against the chart's JSON schema")
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "allow templates to resolve host names")
	addValueFlags(f, &in.values)
	a.addChartPathFlags(cmd, &client.ChartPathOptions, func() int { return 0 })
	addPostRendererFlags(f, &client.PostRenderer)
	completeFlag(cmd, "revision", a.completeRevisions)
	return cmd
}

// chartOnlyFlag returns the name of a flag that was set on the command line and applies only
// to charts, or "" if there is none.
func chartOnlyFlag(cmd *cobra.Command) string {
	given := ""
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && given == "" && !slices.Contains(releaseFlags, f.Name) {
			given = f.Name
		}
	})
	return given
}

func (a *app) dag(ctx context.Context, in *installInput, opts *dagOptions, args []string) error {
	argument := "."
	switch {
	case len(args) > 0:
		argument = args[0]
	case opts.release:
		return fmt.Errorf("--%s and --%s require the name of a release", releaseFlagName, revisionFlagName)
	}
	if opts.diff != "" {
		return a.dagDiff(ctx, in, opts, argument)
	}
	plan, err := a.plan(ctx, in, opts, argument)
	if err != nil {
		return err
	}
	return a.showPlan(plan, nil, opts)
}

// plan returns the plan of the chart or the release that the argument of dag refers to.
func (a *app) plan(ctx context.Context, in *installInput, opts *dagOptions, argument string) (*action.Plan, error) {
	switch {
	case opts.release && opts.chartOnlyFlag != "":
		return nil, fmt.Errorf("--%s cannot be used with a release: remove --%s, or remove --%s and --%s",
			opts.chartOnlyFlag, opts.chartOnlyFlag, releaseFlagName, revisionFlagName)
	case opts.release:
		return a.storedPlan(argument, opts.revision)
	case isChart(argument) || in.client.RepoURL != "":
		return in.plan(ctx, opts, argument)
	case opts.chartOnlyFlag != "":
		return nil, fmt.Errorf("there is no chart at ./%s, and --%s applies only to charts: remove --%s to print the graph of release %q",
			argument, opts.chartOnlyFlag, opts.chartOnlyFlag, argument)
	}
	return a.storedPlanOrNoChart(argument)
}

// storedPlan returns the plan of a revision of the release with this name. It is called if
// the command line says that the argument is a release.
func (a *app) storedPlan(name string, revision int) (*action.Plan, error) {
	rel, err := a.revisionInNamespace(name, revision)
	if err != nil {
		return nil, err
	}
	return a.releasePlan(rel)
}

// revisionInNamespace is like revision. If the revision does not exist, the error names the
// namespace.
func (a *app) revisionInNamespace(name string, revision int) (*release.Release, error) {
	rel, err := a.revision(name, revision)
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

// storedPlanOrNoChart returns the plan of the release with this name. It is called if the
// argument could also be a chart, but no such chart exists. Its errors say so.
func (a *app) storedPlanOrNoChart(name string) (*action.Plan, error) {
	rel, err := a.revision(name, 0)
	switch {
	case err == nil:
		return a.releasePlan(rel)
	case errors.Is(err, driver.ErrReleaseNotFound):
		return nil, fmt.Errorf("neither a chart at ./%s nor a release %q found in namespace %q", name, name, a.settings.Namespace())
	default:
		return nil, fmt.Errorf("there is no chart at ./%s, and reading release %q failed: %w", name, name, err)
	}
}

// releasePlan returns the plan of a revision. It warns if the revision was not deployed in
// the order of that plan: another program that rolls a release back can copy the record of
// an earlier revision without following its order.
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
	if ordered, _ := wasOrdered(rel); !ordered { // the record could be read above
		a.warnf("revision %d of release %q was not deployed in this order, because the program that rolled it back does not support ordering; only its uninstallation follows it", rel.Version, rel.Name)
	}
	return plan, nil
}

// isChart reports whether an argument of dag certainly refers to a chart: because it exists
// as a file or directory, or because its form is that of a path and not of a release name.
func isChart(argument string) bool {
	if strings.HasPrefix(argument, ".") || strings.HasSuffix(argument, ".tgz") || strings.ContainsAny(argument, `/\`) {
		return true
	}
	_, err := os.Stat(argument)
	return err == nil
}

func (in *installInput) plan(ctx context.Context, opts *dagOptions, reference string) (*action.Plan, error) {
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
	client.Replace = true // the name is not checked
	client.ReleaseName = cmp.Or(opts.diff, "release-name")
	loaded, err := in.load(ctx, []string{reference})
	if err != nil {
		return nil, err
	}
	if opts.diff != "" {
		return client.PlanRevision(ctx, loaded.chart, loaded.values, opts.comparedWith)
	}
	return client.Plan(ctx, loaded.chart, loaded.values)
}
