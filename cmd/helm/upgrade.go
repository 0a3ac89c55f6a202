// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/pkg/action"
)

const upgradeHelp = `
Upgrade a release to another version of its chart, to another chart, or to different
values.

    $ helm upgrade shop ./shop
    $ helm upgrade shop example/shop --version 1.3.0
    $ helm upgrade shop ./shop --install

The chart and the values are specified as for "helm install". With --install, a release
that does not exist is installed.

VALUES

If values are given, they replace all previously given values. If none are given, the
previous ones are kept. To change this behavior:

    --reset-values               use the default values of the chart, overridden by the
                                 values given now
    --reuse-values               use all values of the last revision, including the
                                 defaults of its chart, overridden by those given now
    --reset-then-reuse-values    use the default values of the new chart, overridden by
                                 the previously given values, then by those given now

    $ helm upgrade shop ./shop --reuse-values --set image.tag=1.5

ORDER

With --wait=ordered resources are created and updated in the order that the chart
declares: each node (a layer, or the unlayered resources of a chart) as soon as its
dependencies are ready. Resources that are no longer in the chart are pruned at the end, in
reverse order:

    $ helm upgrade shop ./shop --wait=ordered --timeout 10m

"helm dag ./shop" shows the order of the chart, and "helm dag shop" the order of the
release. If $HELM_WAIT is "ordered", plain --wait means --wait=ordered for charts that
have an order; --wait=true never does.

HOOKS

Hooks of equal weight run sequentially, or in parallel in charts with runHooksInParallel in
Chart.yaml; see "helm install --help".

FAILURES

If an upgrade fails or is interrupted, the new revision is recorded as failed, and its
resources are left as they are. With --atomic the release is rolled back to its last
successful revision; with --cleanup-on-fail the resources that the failed upgrade created
are deleted. If the process is killed, the release stays locked; the next upgrade detects
that, takes over the release and continues.

With --wait=ordered, a Job is created when the unfinished Jobs that earlier revisions of the
same chart have created are no longer running. If no revision of the release was ever
deployed, the chart is rendered as for an installation, so that it can generate passwords
that do not exist yet, and its install hooks run.

An upgrade that changes an immutable field, such as the pod template of a Job, fails. With
--recreate the resource is then deleted and created again, in its place in the order:

    $ helm upgrade shop ./shop --recreate Job/migrate --recreate 'Service/web-*'

ONLY IF SOMETHING CHANGED

With --only-if-changed, an upgrade that would change nothing creates no revision and runs no
hooks: if the chart, the values, the labels, the description, the manifests, the hooks and the
order are those of the last revision, and the cluster is as that revision declares. With
--wait, it still waits until everything is ready.

    $ helm upgrade shop ./shop --wait=ordered --only-if-changed

REVIEWED PLANS

"helm plan" shows what an upgrade would do. With --save, it writes that to a file, which an
upgrade can later execute exactly, if nothing has changed since:

    $ helm plan shop ./shop --wait=ordered --save shop.plan
    $ helm upgrade --plan shop.plan

TRYING IT OUT

    $ helm upgrade shop ./shop --dry-run           the lookup function returns nothing
    $ helm upgrade shop ./shop --dry-run=server    the lookup function queries the cluster

Both print all rendered manifests, including Secrets unless --hide-secret is given.
`

// upgradeActionInput holds the flags that upgrade and plan have in common, and the upgrade
// action, which these commands run with the options that the flags set.
type upgradeActionInput struct {
	app             *app
	client          *action.Upgrade
	values          values.Options
	output          *formatFlag
	createNamespace bool
	wait            *waitOptions
	progress        progressFlags
	registry        *registry.Client // set by prepare
}

func newUpgradeActionInput(a *app) *upgradeActionInput {
	return &upgradeActionInput{app: a, client: action.NewUpgrade(a.config)}
}

func newUpgradeCmd(in *upgradeActionInput) *cobra.Command {
	a := in.app
	cmd := &cobra.Command{
		Use:               "upgrade [RELEASE] [CHART]",
		Short:             "upgrade a release",
		Long:              upgradeHelp,
		Args:              a.withWaitCheck(require.ExactArgs(2)),
		ValidArgsFunction: a.completeReleaseAnd(a.completeChartOrFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			rel, err := in.run(cmd.Context(), args[0], args[1])
			if err != nil {
				return errors.Join(err, a.printFailure(in.output.format, in.client.WaitStrategy, rel, err))
			}
			return a.printUpgraded(in, rel)
		},
	}
	in.addOperationFlags(cmd)
	in.addReleaseFlags(cmd)
	cmd.Flags().BoolVar(&in.client.OnlyIfChanged, "only-if-changed", false, "[not in stock Helm] if nothing would change, neither in the release nor in the cluster, create no revision and run no hooks")
	addProgressFlags(cmd, &in.progress)
	in.output = addOutputFlag(cmd)
	client := in.client
	(&planExecution{
		app: a, command: "upgrade", timeout: &client.Timeout, readiness: &client.ReadinessTimeout, scripts: &client.ScriptOptions,
		progress: &in.progress, output: &in.output, strategy: &client.WaitStrategy, hideNotes: &client.HideNotes,
	}).addTo(cmd)
	return cmd
}

// addOperationFlags adds the flags that say how the upgrade is performed.
func (in *upgradeActionInput) addOperationFlags(cmd *cobra.Command) {
	client, f := in.client, cmd.Flags()
	f.SetOutput(in.app.errOut) // for the parser's messages about deprecated flags
	f.BoolVarP(&client.Install, "install", "i", false, "install the release if it does not exist")
	f.BoolVar(&in.createNamespace, "create-namespace", false, "with --install, create the namespace of the release if it does not exist")
	f.StringVar(&client.DryRunOption, "dry-run", "", "simulate the operation without changing anything: \"client\" (the default if --dry-run has no value): the lookup function returns nothing; \"server\": the lookup function queries the cluster")
	f.Lookup("dry-run").NoOptDefVal = "client"
	f.BoolVar(&client.HideSecret, "hide-secret", false, "do not print Secrets; requires --dry-run")
	f.BoolVar(&client.Force, "force", false, "update resources by replacing them")
	f.BoolVar(&client.Recreate, "recreate-pods", false, "delete the pods of updated resources, so that they are recreated")
	_ = f.MarkDeprecated("recreate-pods", "functionality will no longer be updated. Consult the documentation for other methods to recreate pods") // fails only for unknown flags
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.BoolVar(&client.DisableOpenAPIValidation, "disable-openapi-validation", false, "do not validate rendered manifests against the OpenAPI schema of the cluster")
	f.BoolVar(&client.SkipCRDs, "skip-crds", false, "do not install the CustomResourceDefinitions (CRDs) of the chart: those in crds/ directories with --install (an upgrade never changes them, unless --crds is given), and crd-install hooks")
	addCRDsFlag(cmd, &client.CRDs)
	addRecreateFlag(cmd, &client.RecreateObjects)
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "time to wait for any individual Kubernetes operation, such as a hook Job; with --wait=ordered, for the whole operation")
	addWaitFlag(cmd, &client.Wait, &client.WaitStrategy, deployWaitUsage+waitEnvUsage)
	in.wait = in.app.newWaitOptions(f, &client.ReadinessTimeout)
	in.wait.usesEnv = true
	addTakeoverFlag(cmd, &client.Takeover)
	in.app.addScriptFlags(cmd, &client.ScriptOptions)
	addWaitForJobsFlag(f, &client.WaitForJobs, &client.IgnoreJobs)
	f.BoolVar(&client.Atomic, "atomic", false, "roll back to the last successful revision if the upgrade fails; implies --wait")
	f.BoolVar(&client.CleanupOnFail, "cleanup-on-fail", false, "if the upgrade fails, delete the resources that it created")
	f.BoolVar(&client.TakeOwnership, "take-ownership", false, "adopt existing resources that belong to no release or to another one")
}

// addReleaseFlags adds the flags that say what the new revision contains, how many
// revisions are kept, and what is printed.
func (in *upgradeActionInput) addReleaseFlags(cmd *cobra.Command) {
	client, f := in.client, cmd.Flags()
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "update the chart's dependencies first if any is missing")
	f.BoolVar(&client.ResetValues, "reset-values", false, "use the default values of the chart, overridden by the values given now")
	f.BoolVar(&client.ReuseValues, "reuse-values", false, "use all values of the last revision, overridden by the values given now; --reset-values takes precedence")
	f.BoolVar(&client.ResetThenReuseValues, "reset-then-reuse-values", false, "use the default values of the new chart, overridden by the previously given values, then by those given now; --reset-values and --reuse-values take precedence")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not validate values against the chart's JSON schema")
	addOrderFlag(cmd, &client.OrderFile)
	f.BoolVar(&client.ReuseOrder, reuseOrderFlagName, false, "[not in stock Helm] use the order file that was given with --order for the current revision; --order takes precedence")
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "allow templates to resolve host names")
	f.BoolVar(&client.SubNotes, "render-subchart-notes", false, "also print the notes of subcharts")
	f.BoolVar(&client.HideNotes, "hide-notes", false, "do not print the notes of the chart; they are still stored")
	f.StringVar(&client.Description, "description", "", "description to store with this revision")
	f.StringToStringVarP(&client.Labels, "labels", "l", nil, "labels to add to the stored release: key1=val1,key2=val2; the value null removes a label")
	addHistoryMaxFlag(f, &client.MaxHistory, in.app.settings.MaxHistory)
	addValueFlags(f, &in.values)
	in.app.addChartPathFlags(cmd, &client.ChartPathOptions, func() int { return 1 })
	in.app.addPostRendererFlags(f, &client.PostRenderer)
}

// addHistoryMaxFlag adds the flag --history-max, which sets limit. value is its default.
func addHistoryMaxFlag(f *pflag.FlagSet, limit *int, value int) {
	f.IntVar(limit, "history-max", value, "maximum number of revisions to keep; 0 means no limit. Can also be set with $HELM_MAX_HISTORY")
}

// upgradeFailed is the beginning of the error message of a failed upgrade, as in Helm.
const upgradeFailed = "UPGRADE FAILED: "

// run upgrades the release with the given name to the chart that reference refers to. If
// --install is set and the release does not exist, run installs it.
func (in *upgradeActionInput) run(ctx context.Context, name, reference string) (*release.Release, error) {
	client := in.client
	if err := errors.Join(in.wait.check(), checkCRDs(client.CRDs, client.SkipCRDs)); err != nil {
		return nil, err
	}
	var err error
	if client.MaxParallelHooks, err = maxParallelHooks(); err != nil {
		return nil, err
	}
	if client.DryRunOption == "" {
		client.DryRunOption = "none"
	}
	last, err := in.prepare(ctx, name)
	if err != nil {
		return nil, err
	}
	if in.installs(last) {
		in.announce("Release %q does not exist. Installing it now.\n", name)
		install := in.asInstall(last != nil)
		rel, err := install.run(ctx, []string{name, reference})
		client.WaitStrategy = install.client.WaitStrategy
		return rel, err
	}
	loaded, err := in.load(ctx, reference)
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
		release: name, canceled: fmt.Sprintf("Release %s has been cancelled.", name),
		onStdout: cancelMessageOnStdout(in.output, client.WaitStrategy), staysLocked: true,
		remainingWork: remainingWork(action.PlannedUpgrade, client.CleanupOnFail, client.Atomic),
	})
	rel, err := client.RunWithContext(ctx, name, loaded.chart, loaded.values)
	view.end()
	if err != nil {
		return rel, fmt.Errorf("%s%w", upgradeFailed, err)
	}
	if client.Unchanged {
		in.announce("Release %q is unchanged.\n", name)
	} else {
		in.announce("Release %q has been upgraded. Happy Helming!\n", name)
	}
	return rel, nil
}

// announce prints a message about the release, unless the output is JSON or YAML.
func (in *upgradeActionInput) announce(format, name string) {
	if in.output.format == output.Table {
		fmt.Fprintf(in.app.out, format, name)
	}
}

// prepare sets the namespace and the registry client of the action. If --install is set, it
// returns the last revision of the release, or nil if the release does not exist.
func (in *upgradeActionInput) prepare(ctx context.Context, name string) (*release.Release, error) {
	in.client.Namespace = in.app.settings.Namespace()
	var err error
	if in.registry, err = in.app.registryClientFor(&in.client.ChartPathOptions); err != nil {
		return nil, err
	}
	in.client.SetRegistryClient(in.registry)
	if !in.client.Install {
		return nil, nil
	}
	revisions, err := action.NewHistory(in.app.config).Revisions(ctx, name)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound), err == nil && len(revisions) == 0:
		return nil, nil
	case err != nil:
		return nil, err
	}
	last := slices.MaxFunc(revisions, func(a, b action.Revision) int { return cmp.Compare(a.Release.Version, b.Release.Version) })
	return last.Release, nil
}

// installs reports whether the release must be installed instead of upgraded. last is its last
// revision, or nil if it does not exist.
func (in *upgradeActionInput) installs(last *release.Release) bool {
	return in.client.Install && (last == nil || last.Info.Status == release.StatusUninstalled)
}

func (in *upgradeActionInput) load(ctx context.Context, reference string) (*chartWithValues, error) {
	from := &chartSource{
		ChartPathOptions: &in.client.ChartPathOptions,
		devel:            in.client.Devel,
		fetchMissing:     in.client.DependencyUpdate,
		registry:         in.registry,
	}
	path, err := in.app.locateChart(ctx, from, reference)
	if err != nil {
		return nil, err
	}
	if err := checkDryRunOption(in.client.DryRunOption); err != nil {
		return nil, err
	}
	return in.app.loadWithValues(ctx, from, path, &in.values)
}

// asInstall returns an installActionInput with the options of this upgrade, for a release that
// does not exist. replace is true if the release has been uninstalled and its history has
// been kept.
func (in *upgradeActionInput) asInstall(replace bool) *installActionInput {
	upgrade := in.client
	install := action.NewInstall(in.app.config)
	install.ChartPathOptions = upgrade.ChartPathOptions // this includes the registry client
	install.Replace = replace
	install.Namespace = upgrade.Namespace
	install.CreateNamespace = in.createNamespace
	install.Force = upgrade.Force
	install.DryRun, install.DryRunOption, install.HideSecret = upgrade.DryRun, upgrade.DryRunOption, upgrade.HideSecret
	install.DisableHooks = upgrade.DisableHooks
	install.SkipCRDs, install.CRDs = upgrade.SkipCRDs, upgrade.CRDs
	install.Timeout, install.ReadinessTimeout = upgrade.Timeout, upgrade.ReadinessTimeout
	install.Wait, install.WaitStrategy, install.OrderFile = upgrade.Wait, upgrade.WaitStrategy, upgrade.OrderFile
	install.WaitForJobs, install.IgnoreJobs = upgrade.WaitForJobs, upgrade.IgnoreJobs
	install.Atomic = upgrade.Atomic
	install.Devel, install.DependencyUpdate = upgrade.Devel, upgrade.DependencyUpdate
	install.PostRenderer = upgrade.PostRenderer
	install.DisableOpenAPIValidation, install.SkipSchemaValidation = upgrade.DisableOpenAPIValidation, upgrade.SkipSchemaValidation
	install.SubNotes, install.HideNotes = upgrade.SubNotes, upgrade.HideNotes
	install.Description, install.Labels = upgrade.Description, upgrade.Labels
	install.EnableDNS = upgrade.EnableDNS
	install.TakeOwnership = upgrade.TakeOwnership
	install.Lifecycle, install.ScriptOptions = upgrade.Lifecycle, upgrade.ScriptOptions
	return &installActionInput{app: in.app, client: install, values: in.values, output: in.output, wait: in.wait, progress: in.progress}
}
