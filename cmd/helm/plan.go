// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/internal/previewprinter"
	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/pkg/action"
)

const planHelp = `
Print what "helm upgrade" would do with the same arguments, without doing it: the
resources that it would create, change (with a diff) and delete, node by node in their
order, and the hooks that it would run. Unchanged resources are only counted, unless
--all is given.

    $ helm plan shop ./shop --wait=ordered
    $ helm plan shop ./shop -f production.yaml --set image.tag=1.5
    $ helm plan shop ./shop --install
    $ helm plan shop ./shop --all --context 10
    $ helm plan shop ./shop -o json

Each object is sent to the server as a dry run, in the same way as in an upgrade.
Nothing is stored, no hook runs, and no revision is recorded. The values of Secrets are
masked, even in other objects.

As in "helm upgrade", the order of the chart applies only with --wait=ordered, or with
--wait if $HELM_WAIT is "ordered".

EXIT CODES

    0    nothing would be created, changed or deleted
    2    something would be created, changed or deleted
    1    the upgrade would fail, or the plan cannot be computed

Hooks alone do not count as a change: every upgrade runs them. Neither do objects that
get a new name because it contains the number of the revision, such as Job/migrate-3.
`

// changesCode is the exit code of plan if the upgrade would create, change or delete objects.
const changesCode = 2

// silentExitError makes the program exit with the given code, without an error message.
type silentExitError struct{ code int }

func (e *silentExitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// flagsIgnoredByPlan contains the flags of upgrade that have no effect on plan.
var flagsIgnoredByPlan = []string{
	"dry-run", "hide-secret", "hide-notes", "description", "labels", "history-max", "cleanup-on-fail",
	"atomic", "timeout", readinessFlagName, waitForJobsFlagName,
}

func newPlanCmd(in *upgradeActionInput) *cobra.Command {
	a := in.app
	in.output = &formatFlag{format: "json"} // suppresses messages other than the plan
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan [RELEASE] [CHART]",
		Short: "print what an upgrade would do [not in stock Helm]",
		Long:  planHelp,
		// A plugin of the same name replaces this command.
		Annotations:       map[string]string{additionAnnotation: "true"},
		Args:              a.withWaitCheck(require.ExactArgs(2)),
		ValidArgsFunction: a.completeReleaseAnd(a.completeChartOrFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			preview, err := in.preview(cmd.Context(), args[0], args[1])
			if err == nil {
				err = a.printPlan(preview, &o)
			}
			_, cmd.SilenceErrors = errors.AsType[*silentExitError](err)
			return err
		},
	}
	in.addOperationFlags(cmd)
	in.addReleaseFlags(cmd)
	f := cmd.Flags()
	f.Lookup(waitFlagName).Usage = printOrderUsage + waitEnvUsage
	for _, name := range flagsIgnoredByPlan {
		// The flags are accepted, so that scripts can pass the same flags as to upgrade.
		f.Lookup(name).Hidden = true
	}
	outputChoiceFlag("how the plan is printed", []string{"text", "json"}, "for people", "for other programs").add(cmd, &o.format)
	f.BoolVar(&o.all, "all", false, "also print the objects that would not change (-o json always lists them)")
	f.IntVar(&o.context, "context", 3, "print this many unchanged lines before and after each change in a diff")
	return cmd
}

// planOptions holds the flags that only plan has: how the plan is printed.
type planOptions struct {
	format  string
	all     bool
	context int
}

// preview returns what the method run would do, without doing it.
func (in *upgradeActionInput) preview(ctx context.Context, name, reference string) (*action.Preview, error) {
	client := in.client
	if err := errors.Join(in.wait.check(), checkCRDs(client.CRDs, client.SkipCRDs)); err != nil {
		return nil, err
	}
	client.DryRunOption, client.HideSecret = "none", false
	client.OnEvent = progress.NewWarnings(in.app.errOut).Event
	last, err := in.prepare(ctx, name)
	if err != nil {
		return nil, err
	}
	if in.installs(last) {
		return in.previewInstall(ctx, last != nil, name, reference)
	}
	loaded, err := in.load(ctx, reference)
	if err != nil {
		return nil, err
	}
	if err := in.wait.resolve(loaded.chart, waitFields{&client.Wait, &client.WaitStrategy, &client.AllowIgnoredOrder}, client.Atomic); err != nil {
		return nil, err
	}
	return client.Preview(ctx, name, loaded.chart, loaded.values)
}

// previewInstall is like preview, for a release that --install would install. replace is
// true if the release has been uninstalled and its history has been kept.
func (in *upgradeActionInput) previewInstall(ctx context.Context, replace bool, name, reference string) (*action.Preview, error) {
	install := in.asInstall(replace)
	install.client.OnEvent = in.client.OnEvent
	if err := in.app.setRegistry(&install.client.ChartPathOptions, install.client.SetRegistryClient); err != nil {
		return nil, err
	}
	loaded, err := install.load(ctx, []string{name, reference})
	if err != nil {
		return nil, err
	}
	client := install.client
	if err := in.wait.resolve(loaded.chart, waitFields{&client.Wait, &client.WaitStrategy, &client.AllowIgnoredOrder}, client.Atomic); err != nil {
		return nil, err
	}
	return client.Preview(ctx, loaded.chart, loaded.values)
}

// printPlan prints a preview. It returns a silentExitError with the exit code, unless that is 0.
func (a *app) printPlan(p *action.Preview, o *planOptions) error {
	err := p.SetContext(o.context)
	switch {
	case err != nil:
		return fmt.Errorf("--context: %w", err)
	case o.format == "json":
		err = text.WriteJSON(a.out, p)
	default:
		err = previewprinter.Text(a.out, p, previewprinter.Options{All: o.all})
	}
	switch {
	case err != nil:
		return err
	case p.Fails:
		return &silentExitError{1}
	case p.Changes:
		return &silentExitError{changesCode}
	}
	return nil
}
