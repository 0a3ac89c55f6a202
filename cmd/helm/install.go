// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

// defaultTimeout is the timeout of an operation unless --timeout is set.
const defaultTimeout = 5 * time.Minute

const installHelp = `
Install a chart as a new release.

The chart can be

- a directory:                     helm install shop ./shop
- a package:                       helm install shop ./shop-1.2.3.tgz
- a chart in a repository:         helm install shop example/shop
- a chart in a repository by URL:  helm install shop shop --repo https://example.com/charts
- a URL:                           helm install shop https://example.com/charts/shop-1.2.3.tgz
- a chart in an OCI registry:      helm install shop oci://example.com/charts/shop --version 1.2.3

Without --version the latest stable version is used; --devel also allows development
versions.

VALUES

Values come from files and from individual settings. Later ones take precedence over
earlier ones, and settings over files:

    $ helm install shop ./shop -f production.yaml -f secrets.yaml
    $ helm install shop ./shop --set replicas=3,image.tag=1.4
    $ helm install shop ./shop --set-string zip=01234
    $ helm install shop ./shop --set-file config=./app.ini
    $ helm install shop ./shop --set-json 'ports=[80,443]'

ORDER

A chart can declare which of its resources and subcharts need others to be ready
first; "helm dag" shows the resulting order. With --wait=ordered, the chart is deployed in
that order. Each node (a layer, or the unlayered resources of a chart) starts as soon as
its dependencies are ready:

    $ helm install shop ./shop --wait=ordered --timeout 10m

The annotation helm.sh/readiness-timeout of a resource, or else --readiness-timeout,
limits how long it can take to become ready. Without either, it must not stand still for
ten seconds. Plain --wait applies all resources without ordering and then waits until all
of them are ready. If $HELM_WAIT is "ordered", plain --wait means --wait=ordered for charts
that have an order; --wait=true never does.

TRYING IT OUT

    $ helm install shop ./shop --dry-run           without contacting the cluster
    $ helm install shop ./shop --dry-run=server    the lookup function queries the cluster

Both print all rendered manifests, including Secrets unless --hide-secret is given.

"helm plan --install" shows what an installation would do, and --save writes that to a file,
which an installation can later execute exactly:

    $ helm plan shop ./shop --install --save shop.plan
    $ helm install --plan shop.plan

HOOKS

Hooks of equal weight run sequentially, unless a chart allows them to run in parallel, with
runHooksInParallel in its Chart.yaml:

    true               in parallel, also with hooks of other charts
    otherChartsOnly    sequentially, but in parallel with hooks of other charts
    false              sequentially, after these (the default)

An interrupted installation is recorded as failed; with --atomic it is uninstalled.
`

func newInstallCmd(in *installActionInput) *cobra.Command {
	a := in.app
	cmd := &cobra.Command{
		Use:               "install [NAME] [CHART]",
		Short:             "install a chart",
		Long:              installHelp,
		Args:              a.withWaitCheck(require.MinimumNArgs(1)),
		ValidArgsFunction: in.completeChart,
	}
	f := cmd.Flags()
	in.addFlags(cmd)
	in.wait.usesEnv = true
	addProgressFlags(cmd, &in.progress)
	addCRDsFlag(cmd, &in.client.CRDs)
	f.BoolVar(&in.client.HideSecret, "hide-secret", false, "do not print Secrets; requires --dry-run")
	out := addOutputFlag(cmd)
	in.output = out
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rel, err := a.install(cmd.Context(), in, args)
		if err != nil {
			return errors.Join(
				fmt.Errorf("INSTALLATION FAILED: %w", err),
				a.printFailure(out.format, in.client.WaitStrategy, rel, err))
		}
		return a.printDeployed(out.format, rel, in.client.HideNotes)
	}
	client := in.client
	(&planExecution{
		app: a, command: "install", timeout: &client.Timeout, readiness: &client.ReadinessTimeout, scripts: &client.ScriptOptions,
		progress: &in.progress, output: &in.output, strategy: &client.WaitStrategy, hideNotes: &client.HideNotes,
	}).addTo(cmd)
	return cmd
}

// addFlags adds the flags that install and template have in common.
func (in *installActionInput) addFlags(cmd *cobra.Command) {
	client, f := in.client, cmd.Flags()
	f.BoolVar(&client.CreateNamespace, "create-namespace", false, "create the namespace of the release if it does not exist")
	f.StringVar(&client.DryRunOption, "dry-run", "", "simulate the operation without changing anything: \"client\" (the default if --dry-run has no value) does not contact the cluster: the lookup function returns nothing; \"server\": the lookup function queries the cluster")
	f.Lookup("dry-run").NoOptDefVal = "client"
	f.BoolVar(&client.Force, "force", false, "update resources by replacing them")
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.BoolVar(&client.Replace, "replace", false, "reuse the name of a release that was uninstalled with --keep-history; unsafe in production")
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "time to wait for any individual Kubernetes operation, such as a hook Job; with --wait=ordered, for the whole operation")
	addWaitFlag(cmd, &client.Wait, &client.WaitStrategy, deployWaitUsage+waitEnvUsage)
	in.wait = in.app.newWaitOptions(f, &client.ReadinessTimeout)
	addWaitForJobsFlag(f, &client.WaitForJobs, &client.IgnoreJobs)
	f.BoolVarP(&client.GenerateName, "generate-name", "g", false, "generate the name of the release; omit NAME")
	f.StringVar(&client.NameTemplate, "name-template", "", "Go template that generates the name of the release; omit NAME")
	f.StringVar(&client.Description, "description", "", "description to store with this revision")
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "update the chart's dependencies first if any is missing")
	f.BoolVar(&client.DisableOpenAPIValidation, "disable-openapi-validation", false, "do not validate rendered manifests against the OpenAPI schema of the cluster")
	f.BoolVar(&client.Atomic, "atomic", false, "uninstall the release if the installation fails; implies --wait")
	f.BoolVar(&client.SkipCRDs, "skip-crds", false, "do not install the CustomResourceDefinitions (CRDs) of the chart")
	f.BoolVar(&client.SubNotes, "render-subchart-notes", false, "also print the notes of subcharts")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not validate values against the chart's JSON schema")
	f.StringToStringVarP(&client.Labels, "labels", "l", nil, "labels for the stored release: key1=val1,key2=val2")
	addOrderFlag(cmd, &client.OrderFile)
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "allow templates to resolve host names")
	f.BoolVar(&client.HideNotes, "hide-notes", false, "do not print the notes of the chart; they are still stored")
	f.BoolVar(&client.TakeOwnership, "take-ownership", false, "adopt existing resources that belong to no release or to another one")
	in.app.addScriptFlags(cmd, &client.ScriptOptions)
	addValueFlags(f, &in.values)
	in.app.addChartPathFlags(cmd, &client.ChartPathOptions, in.chartPosition)
	in.app.addPostRendererFlags(f, &client.PostRenderer)
}

func (a *app) install(ctx context.Context, in *installActionInput, args []string) (*release.Release, error) {
	if err := a.setRegistry(&in.client.ChartPathOptions, in.client.SetRegistryClient); err != nil {
		return nil, err
	}
	if in.client.DryRunOption == "" {
		in.client.DryRunOption = "none"
	}
	return in.run(ctx, args)
}

// run loads the chart and installs it. A signal to the process cancels the installation.
func (in *installActionInput) run(ctx context.Context, args []string) (*release.Release, error) {
	client := in.client
	if err := errors.Join(in.wait.check(), checkCRDs(client.CRDs, client.SkipCRDs)); err != nil {
		return nil, err
	}
	var err error
	if client.MaxParallelHooks, err = maxParallelHooks(); err != nil {
		return nil, err
	}
	loaded, err := in.load(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := in.wait.resolve(loaded.chart, waitFields{&client.Wait, &client.WaitStrategy, &client.AllowIgnoredOrder}, client.Atomic); err != nil {
		return nil, err
	}
	view, err := in.app.newView(&in.progress)
	if err != nil {
		return nil, err
	}
	defer view.close()
	ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, cancelMessages{
		release: client.ReleaseName, canceled: fmt.Sprintf("Release %s has been cancelled.", client.ReleaseName),
		onStdout: cancelMessageOnStdout(in.output, client.WaitStrategy), staysLocked: true,
		remainingWork: remainingWork(action.PlannedInstall, false, client.Atomic),
	})
	return client.RunWithContext(ctx, loaded.chart, loaded.values)
}

// cancelMessageOnStdout reports whether the message that an operation was canceled by a signal
// belongs on standard output, as in Helm, rather than on standard error. This is the case
// unless the output is JSON or YAML for another program, or the operation is ordered.
func cancelMessageOnStdout(out *formatFlag, strategy action.WaitStrategy) bool {
	return strategy != action.WaitStrategyOrdered && (out == nil || out.format == output.Table)
}
