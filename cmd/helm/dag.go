// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/pkg/action"
)

const dagHelp = `
Print the order in which a chart deploys with --wait=ordered, or in which an
installed release was deployed.

    $ helm dag                                   the chart in the current folder
    $ helm dag ./shop -f production.yaml
    $ helm dag shop --repo https://example.com/charts --version 1.2.3
    $ helm dag shop                              the release "shop", latest revision
    $ helm dag shop --revision 3

The chart is named as for "helm install", and is rendered without a cluster. A
single word that is no file or folder here is taken for a release; --release says
that it is one in any case.

The graph goes to standard output. What deserves attention goes to standard
error: declarations that do not count, and resources that need something which
the order only deploys later. A graph that cannot be, such as one with a cycle,
is an error.
`

// dagOptions are the flags that say what dag is about.
type dagOptions struct {
	release     bool
	revision    int
	kubeVersion string
	apiVersions []string
}

func newDagCmd(a *app) *cobra.Command {
	in := &chartInput{app: a, client: action.NewInstall(a.config)}
	var opts dagOptions
	cmd := &cobra.Command{
		Use:   "dag [CHART | RELEASE]",
		Short: "print the order in which a chart deploys",
		Long:  dagHelp,
		Args:  require.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.release = opts.release || cmd.Flags().Changed("revision")
			return a.dag(cmd.Context(), in, &opts, args)
		},
	}
	f := cmd.Flags()
	client := in.client
	f.BoolVar(&opts.release, "release", false, "the name is that of an installed release")
	f.IntVar(&opts.revision, "revision", 0, "revision of the release (default: the latest); implies --release")
	f.BoolVar(&client.IsUpgrade, "is-upgrade", false, "render as for an upgrade: .Release.IsUpgrade is true, .Release.IsInstall is not")
	f.StringVar(&opts.kubeVersion, "kube-version", "", "version of Kubernetes to render for")
	f.StringSliceVarP(&opts.apiVersions, "api-versions", "a", nil, "API versions to render for, beside the usual ones")
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, as --version '>0.0.0-0' does; --version wins over it")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "fetch the chart's dependencies first if any is missing")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not check values against the chart's JSON schema")
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "let templates look up host names")
	addValueFlags(f, &in.values)
	addChartPathFlags(f, &client.ChartPathOptions)
	addPostRendererFlags(f, &client.PostRenderer)
	return cmd
}

func (a *app) dag(ctx context.Context, in *chartInput, opts *dagOptions, args []string) error {
	subject := "."
	if len(args) > 0 {
		subject = args[0]
	}
	plan, err := a.plan(ctx, in, opts, subject)
	if err != nil {
		return err
	}
	a.warnOfPlan(plan)
	return graphview.Text(a.out, plan)
}

// plan builds the plan of the chart or the release that a word names.
func (a *app) plan(ctx context.Context, in *chartInput, opts *dagOptions, subject string) (*action.Plan, error) {
	if opts.release {
		return a.releasePlan(subject, opts.revision)
	}
	if namesChart(subject, in.client.RepoURL) {
		return in.plan(ctx, opts, subject)
	}
	plan, err := a.releasePlan(subject, opts.revision)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, fmt.Errorf("there is neither a chart at ./%s nor a release %q in namespace %q", subject, subject, a.settings.Namespace())
	}
	return plan, err
}

// namesChart tells whether a word names a chart: a file or folder that is here,
// or a reference. A single word is a reference only within a given repository.
func namesChart(subject, repoURL string) bool {
	if repoURL != "" || strings.HasPrefix(subject, ".") || strings.ContainsAny(subject, `/\`) {
		return true
	}
	_, err := os.Stat(subject)
	return err == nil
}

func (a *app) releasePlan(name string, revision int) (*action.Plan, error) {
	get := action.NewGet(a.config)
	get.Version = revision
	rel, err := get.Run(name)
	if err != nil {
		return nil, err
	}
	plan, err := action.ReleasePlan(rel)
	if err == nil && plan == nil {
		err = fmt.Errorf("revision %d of release %q was not deployed in order: it has no graph", rel.Version, name)
	}
	return plan, err
}

func (in *chartInput) plan(ctx context.Context, opts *dagOptions, reference string) (*action.Plan, error) {
	client := in.client
	if err := renderFor(client, opts.kubeVersion, opts.apiVersions); err != nil {
		return nil, err
	}
	if err := in.useRegistry(); err != nil {
		return nil, err
	}
	client.ClientOnly = true
	client.DryRun = true
	client.DryRunOption = "client"
	client.Replace = true // the name is not checked
	client.ReleaseName = "release-name"
	loaded, err := in.load([]string{reference})
	if err != nil {
		return nil, err
	}
	return client.Plan(ctx, loaded.chart, loaded.values)
}

// warnOfPlan prints to standard error what a plan's reader should know.
func (a *app) warnOfPlan(plan *action.Plan) {
	printer := progress.NewPlain(a.errOut, time.Now())
	for _, warning := range plan.Warnings {
		printer.Warning(action.Event{Type: action.EventWarning, Message: warning})
	}
	for _, need := range plan.Unmet {
		printer.Warning(action.Event{Type: action.EventWarning, Message: need.String()})
	}
}
