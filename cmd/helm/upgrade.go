// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

const upgradeHelp = `
Upgrade a release: to another version of its chart, to another chart, or to other
values.

    $ helm upgrade shop ./shop
    $ helm upgrade shop example/shop --version 1.3.0
    $ helm upgrade shop ./shop --install

The chart is named, and values are given, as for "helm install". With --install a
release that does not exist is installed.

VALUES

Values that are given replace all values that were given before. Where none are
given, the old ones stay. To choose otherwise:

    --reset-values               the chart's own values alone, and those given now
    --reuse-values               all values of the old revision, the old chart's own
                                 among them, and over them those given now
    --reset-then-reuse-values    the new chart's own values, over them the values
                                 given before, and over them those given now

    $ helm upgrade shop ./shop --reuse-values --set image.tag=1.5

ORDER

With --wait=ordered what the chart declares is created and updated in that order,
each thing the moment what it needs is ready. What the chart has no longer is
deleted at the end, in reverse order:

    $ helm upgrade shop ./shop --wait=ordered --timeout 10m

"helm dag ./shop" shows the order of the chart, "helm dag shop" that of the release.

WHEN IT FAILS

The new revision is recorded as failed, and its resources stay as far as they
came. With --atomic the release goes back to its last good revision; with
--cleanup-on-fail what the failed upgrade created is removed. An upgrade that is
interrupted has failed, too. One whose process was killed leaves the release held; the
next upgrade finds that out, takes the release over and carries on.

TRYING IT OUT

    $ helm upgrade shop ./shop --dry-run           lookups find nothing
    $ helm upgrade shop ./shop --dry-run=server    lookups are answered by the cluster

Both print every rendered manifest, Secrets too unless --hide-secret is given.
`

// upgradeInput is what upgrade is told on the command line.
type upgradeInput struct {
	app             *app
	client          *action.Upgrade
	values          values.Options
	output          *formatFlag
	createNamespace bool
	checkReadiness  func() error
	progress        progressFlags
	registry        *registry.Client
}

func newUpgradeInput(a *app) *upgradeInput {
	return &upgradeInput{app: a, client: action.NewUpgrade(a.config)}
}

func newUpgradeCmd(in *upgradeInput) *cobra.Command {
	a := in.app
	cmd := &cobra.Command{
		Use:               "upgrade [RELEASE] [CHART]",
		Short:             "upgrade a release",
		Long:              upgradeHelp,
		Args:              a.withWaitCheck(require.ExactArgs(2)),
		ValidArgsFunction: a.completeReleaseAndChart(),
		RunE: func(cmd *cobra.Command, args []string) error {
			rel, err := in.run(cmd.Context(), args[0], args[1])
			if err != nil {
				return errors.Join(err, a.printFailure(in.output, in.client.WaitStrategy, newFailedRelease(rel, err)))
			}
			return a.printDeployed(in.output.format, &releasePrinter{
				release:   rel,
				details:   a.settings.Debug,
				hideNotes: in.client.HideNotes,
			})
		},
	}
	f := cmd.Flags()
	f.SetOutput(a.errOut) // what the parser says of deprecated flags is no result
	in.addOperationFlags(cmd)
	addProgressFlags(cmd, &in.progress)
	in.addReleaseFlags(f)
	addValueFlags(f, &in.values)
	addChartPathFlags(f, &in.client.ChartPathOptions)
	addPostRendererFlags(f, &in.client.PostRenderer)
	in.output = addOutputFlag(cmd)
	completeFlag(cmd, "version", a.completeVersionOf(func() int { return 1 }))
	completeFlag(cmd, "wait", completeWait)
	return cmd
}

// addOperationFlags adds the flags that say how the upgrade goes about it.
func (in *upgradeInput) addOperationFlags(cmd *cobra.Command) {
	client, f := in.client, cmd.Flags()
	f.BoolVarP(&client.Install, "install", "i", false, "install the release if there is none of this name")
	f.BoolVar(&in.createNamespace, "create-namespace", false, "with --install, create the release's namespace if there is none")
	f.StringVar(&client.DryRunOption, "dry-run", "", "try the operation without changing anything: \"client\" (the meaning of a bare --dry-run) answers no lookups of templates, \"server\" does")
	f.Lookup("dry-run").NoOptDefVal = "client"
	f.BoolVar(&client.HideSecret, "hide-secret", false, "do not print Secrets; only together with --dry-run")
	f.BoolVar(&client.Force, "force", false, "update resources by replacing them")
	f.BoolVar(&client.Recreate, "recreate-pods", false, "delete the pods of the resources that are updated, so that they start anew")
	_ = f.MarkDeprecated("recreate-pods", "functionality will no longer be updated. Consult the documentation for other methods to recreate pods") // fails for unknown flags only
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.BoolVar(&client.DisableOpenAPIValidation, "disable-openapi-validation", false, "do not check rendered manifests against the cluster's OpenAPI schema")
	f.BoolVar(&client.SkipCRDs, "skip-crds", false, "do not install the chart's custom resource definitions: those of crds/ folders with --install, which an upgrade never touches, and hooks of the event crd-install")
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "how long to wait for any one Kubernetes operation, such as a hook's Job; with --wait=ordered, for all of them together")
	addWaitFlag(f, &client.Wait, &client.WaitStrategy, "wait until all resources are ready, for at most --timeout; \"ordered\" [not in Helm]: deploy in the order that the chart declares, each part when what it needs is ready")
	in.checkReadiness = in.app.addReadinessFlagBeside(f, &client.WaitStrategy, &client.ReadinessTimeout)
	addTakeoverFlag(cmd, &client.Takeover)
	f.BoolVar(&client.WaitForJobs, "wait-for-jobs", false, "with --wait, wait for Jobs to complete too")
	f.BoolVar(&client.Atomic, "atomic", false, "go back to the last good revision if the upgrade fails; implies --wait")
	f.BoolVar(&client.CleanupOnFail, "cleanup-on-fail", false, "if the upgrade fails, delete what it created")
	f.BoolVar(&client.TakeOwnership, "take-ownership", false, "take over existing resources that belong to no release or to another one")
}

// addReleaseFlags adds the flags that say what the new revision consists of, and
// what is kept and printed of it.
func (in *upgradeInput) addReleaseFlags(f *pflag.FlagSet) {
	client := in.client
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, as --version '>0.0.0-0' does; --version wins over it")
	f.BoolVar(&client.DependencyUpdate, "dependency-update", false, "fetch the chart's dependencies first if any is missing")
	f.BoolVar(&client.ResetValues, "reset-values", false, "begin with the chart's own values alone")
	f.BoolVar(&client.ReuseValues, "reuse-values", false, "begin with all values of the last revision; --reset-values wins over it")
	f.BoolVar(&client.ResetThenReuseValues, "reset-then-reuse-values", false, "begin with the new chart's own values and, over them, those given for the last revision; --reset-values and --reuse-values win over it")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not check values against the chart's JSON schema")
	f.BoolVar(&client.EnableDNS, "enable-dns", false, "let templates look up host names")
	f.BoolVar(&client.SubNotes, "render-subchart-notes", false, "print the notes of subcharts too")
	f.BoolVar(&client.HideNotes, "hide-notes", false, "do not print the chart's notes; they are stored all the same")
	f.StringVar(&client.Description, "description", "", "description to keep with this revision")
	f.StringToStringVarP(&client.Labels, "labels", "l", nil, "labels for the stored release, added to those that it has: key1=val1,key2=val2; the value null removes one")
	addHistoryMaxFlag(f, &client.MaxHistory, in.app.settings.MaxHistory)
}

// addHistoryMaxFlag adds --history-max, whose default comes from the environment.
func addHistoryMaxFlag(f *pflag.FlagSet, limit *int, value int) {
	f.IntVar(limit, "history-max", value, "how many revisions of the release to keep; 0 is no limit. May also be given in $HELM_MAX_HISTORY")
}

// upgradeFailed is what Helm says before the failure of an upgrade.
const upgradeFailed = "UPGRADE FAILED: "

// run upgrades the release, or installs it if there is none and this is wanted.
func (in *upgradeInput) run(ctx context.Context, name, reference string) (*release.Release, error) {
	if err := in.checkReadiness(); err != nil {
		return nil, err
	}
	client := in.client
	limit, err := parallelHooks()
	if err != nil {
		return nil, err
	}
	client.MaxParallelHooks = limit
	if client.DryRunOption == "" {
		client.DryRunOption = "none"
	}
	last, err := in.begin(name)
	if err != nil {
		return nil, err
	}
	if in.installs(last) {
		in.announce("Release %q does not exist. Installing it now.\n", name)
		return in.installation(last != nil).run(ctx, []string{name, reference})
	}
	chrt, vals, err := in.load(ctx, reference)
	if err != nil {
		return nil, err
	}
	view, err := in.app.view(&in.progress)
	if err != nil {
		return nil, err
	}
	defer view.close()
	client.OnEvent, client.FollowHookLogs = view.open()
	ctx, stop := in.app.untilSignal(ctx, view, interruptible{
		release: name, cancelled: fmt.Sprintf("Release %s has been cancelled.", name),
		to: in.app.notices(in.output, client.WaitStrategy), waits: in.afterSignal(), held: true,
	})
	defer stop()
	rel, err := client.RunWithContext(ctx, name, chrt, vals)
	view.pause()
	if err != nil {
		return rel, fmt.Errorf("%s%w", upgradeFailed, err)
	}
	in.announce("Release %q has been upgraded. Happy Helming!\n", name)
	return rel, nil
}

// afterSignal says what is still done when the process is told to stop.
func (in *upgradeInput) afterSignal() string {
	waits := "the new revision is recorded as failed"
	if in.client.CleanupOnFail {
		waits += ", what it created is deleted because of --cleanup-on-fail"
	}
	if in.client.Atomic {
		waits += ", and the last good revision is back because of --atomic"
	}
	return waits
}

// announce says something about the release to people, where no program reads
// the result.
func (in *upgradeInput) announce(format, name string) {
	if in.output.format == output.Table {
		fmt.Fprintf(in.app.out, format, name)
	}
}

// begin prepares the client. With --install it returns the release's last revision, if
// there is any.
func (in *upgradeInput) begin(name string) (*release.Release, error) {
	in.client.Namespace = in.app.settings.Namespace()
	registry, err := in.app.registryFor(&in.client.ChartPathOptions)
	if err != nil {
		return nil, err
	}
	in.client.SetRegistryClient(registry)
	in.registry = registry
	if !in.client.Install {
		return nil, nil
	}
	return in.app.lastRevision(name)
}

// installs tells whether a release with this last revision is installed, and not
// upgraded.
func (in *upgradeInput) installs(last *release.Release) bool {
	return in.client.Install && (last == nil || last.Info.Status == release.StatusUninstalled)
}

func (in *upgradeInput) load(ctx context.Context, reference string) (*chart.Chart, map[string]any, error) {
	from := &chartSource{
		ChartPathOptions: &in.client.ChartPathOptions,
		devel:            in.client.Devel,
		complete:         in.client.DependencyUpdate,
		registry:         in.registry,
	}
	path, err := in.app.locateChart(from, reference)
	if err != nil {
		return nil, nil, err
	}
	if err := checkDryRunOption(in.client.DryRunOption); err != nil {
		return nil, nil, err
	}
	vals, err := in.values.MergeValues(getter.All(in.app.settings))
	if err != nil {
		return nil, nil, err
	}
	chrt, err := in.app.loadChart(ctx, from, path)
	return chrt, vals, err
}

// installation is the install that takes the place of the upgrade. With replace
// it takes the name of a release whose history was kept.
func (in *upgradeInput) installation(replace bool) *chartInput {
	from := in.client
	to := action.NewInstall(in.app.config)
	to.ChartPathOptions = from.ChartPathOptions // with the registry client in it
	to.Replace = replace
	to.Namespace = from.Namespace
	to.CreateNamespace = in.createNamespace
	to.Force = from.Force
	to.DryRun, to.DryRunOption, to.HideSecret = from.DryRun, from.DryRunOption, from.HideSecret
	to.DisableHooks = from.DisableHooks
	to.SkipCRDs = from.SkipCRDs
	to.Timeout, to.ReadinessTimeout = from.Timeout, from.ReadinessTimeout
	to.Wait, to.WaitStrategy, to.WaitForJobs = from.Wait, from.WaitStrategy, from.WaitForJobs
	to.Atomic = from.Atomic
	to.Devel, to.DependencyUpdate = from.Devel, from.DependencyUpdate
	to.PostRenderer = from.PostRenderer
	to.DisableOpenAPIValidation, to.SkipSchemaValidation = from.DisableOpenAPIValidation, from.SkipSchemaValidation
	to.SubNotes, to.HideNotes = from.SubNotes, from.HideNotes
	to.Description, to.Labels = from.Description, from.Labels
	to.EnableDNS = from.EnableDNS
	to.TakeOwnership = from.TakeOwnership
	return &chartInput{app: in.app, client: to, values: in.values, output: in.output, checkReadiness: in.checkReadiness, progress: in.progress}
}
