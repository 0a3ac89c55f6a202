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
resources that it would create, change (with a diff), recreate and delete, node by node in their
order, and the hooks that it would run. Unchanged resources are only counted, unless
--all is given.

    $ helm plan shop ./shop --wait=ordered
    $ helm plan shop ./shop -f production.yaml --set image.tag=1.5
    $ helm plan shop ./shop --install
    $ helm plan shop ./shop --all --context 10
    $ helm plan shop ./shop --ignore drift.yaml
    $ helm plan shop ./shop -o json
    $ helm plan shop ./shop --save shop.plan

Each object is sent to the server as a dry run, in the same way as in an upgrade.
Nothing is stored, no hook runs, and no revision is recorded. The values of Secrets are
masked, even in other objects.

As in "helm upgrade", the order of the chart applies only with --wait=ordered, or with
--wait if $HELM_WAIT is "ordered".

SAVED PLANS

With --save, the plan is written to a file that only you can read, and its digest is
printed. "helm upgrade --plan FILE" (or "helm install --plan FILE", for a release that does
not exist yet) does exactly what the plan says, without rendering the chart again. It
refuses if the release, an object that the plan compares, or an answer of the server has
changed since. The file contains the contents of Secrets.

EXIT CODES

    0    nothing would be created, changed, recreated or deleted
    2    something would be created, changed, recreated or deleted
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
	"dry-run", "hide-secret", "hide-notes",
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
			preview, plan, err := in.preview(cmd.Context(), args[0], args[1], o.save != "")
			if err == nil {
				err = a.printPlan(preview, plan, &o)
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
	f.StringVar(&o.save, "save", "", "write the plan to this file, with all that \"helm upgrade --plan\" needs to do exactly this; the file contains the contents of Secrets")
	addIgnoreFlag(cmd, &o.ignore, "a local file with rules about changes of fields that do not count, and that diffs do not show")
	f.IntVar(&o.context, "context", 3, "print this many unchanged lines before and after each change in a diff")
	return cmd
}

// planOptions holds the flags that only plan has: how the plan is printed.
type planOptions struct {
	format  string
	all     bool
	context int
	ignore  *action.IgnoreFile
	// save is the file to which the plan is written; empty if it is not saved.
	save string
}

// preview returns what the method run would do, without doing it, and the plan to do it if save is set.
func (in *upgradeActionInput) preview(ctx context.Context, name, reference string, save bool) (*action.Preview, *action.SavedPlan, error) {
	client := in.client
	if err := errors.Join(in.wait.check(), checkCRDs(client.CRDs, client.SkipCRDs)); err != nil {
		return nil, nil, err
	}
	client.DryRunOption, client.HideSecret = "none", false
	client.OnEvent = progress.NewWarnings(in.app.errOut).Event
	last, err := in.prepare(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if in.installs(last) {
		return in.previewInstall(ctx, installation{replace: last != nil, save: save}, name, reference)
	}
	loaded, err := in.load(ctx, reference)
	if err != nil {
		return nil, nil, err
	}
	if err := in.wait.resolve(loaded.chart, waitFields{&client.Wait, &client.WaitStrategy, &client.AllowIgnoredOrder}, client.Atomic); err != nil {
		return nil, nil, err
	}
	if save {
		return client.PlanUpgrade(ctx, name, loaded.chart, loaded.values)
	}
	preview, err := client.Preview(ctx, name, loaded.chart, loaded.values)
	return preview, nil, err
}

// installation says how previewInstall previews an installation.
type installation struct {
	// replace is true if the release has been uninstalled and its history has been kept.
	replace bool
	// save says that the plan is needed, too.
	save bool
}

// previewInstall is like preview, for a release that --install would install.
func (in *upgradeActionInput) previewInstall(ctx context.Context, o installation, name, reference string) (*action.Preview, *action.SavedPlan, error) {
	install := in.asInstall(o.replace)
	install.client.OnEvent = in.client.OnEvent
	if err := in.app.setRegistry(&install.client.ChartPathOptions, install.client.SetRegistryClient); err != nil {
		return nil, nil, err
	}
	loaded, err := install.load(ctx, []string{name, reference})
	if err != nil {
		return nil, nil, err
	}
	client := install.client
	if err := in.wait.resolve(loaded.chart, waitFields{&client.Wait, &client.WaitStrategy, &client.AllowIgnoredOrder}, client.Atomic); err != nil {
		return nil, nil, err
	}
	if o.save {
		return client.PlanInstall(ctx, loaded.chart, loaded.values)
	}
	preview, err := client.Preview(ctx, loaded.chart, loaded.values)
	return preview, nil, err
}

// printPlan prints a preview, and saves the plan, which can be nil. It returns a silentExitError with the exit code,
// unless that is 0.
func (a *app) printPlan(p *action.Preview, plan *action.SavedPlan, o *planOptions) error {
	if o.ignore != nil {
		if err := p.Ignore(o.ignore); err != nil {
			return err
		}
		a.warnOfUnmatchedRules(o.ignore)
	}
	if err := p.SetContext(o.context); err != nil {
		return fmt.Errorf("--context: %w", err)
	}
	saved, err := a.savePlan(plan, o)
	switch {
	case err != nil:
	case o.format == "json":
		err = text.WriteJSON(a.out, struct {
			*action.Preview
			Saved *savedPlanFile `json:"saved,omitempty"`
		}{p, saved})
	default:
		err = previewprinter.Text(a.out, p, previewprinter.Options{All: o.all})
		if saved != nil {
			fmt.Fprintf(a.out, "\nThe plan is saved in %s, with the contents of Secrets. Its digest is %s.\n", saved.File, saved.Digest)
		}
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

// savedPlanFile says where a plan was saved.
type savedPlanFile struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

// savePlan saves a plan if o says so. If there is no plan because the server would reject something, it only warns.
func (a *app) savePlan(plan *action.SavedPlan, o *planOptions) (*savedPlanFile, error) {
	switch {
	case o.save == "":
		return nil, nil
	case plan == nil:
		a.warnf("the plan was not saved, because the server would reject a part of it")
		return nil, nil
	}
	digest, err := action.WritePlan(o.save, ownVersion(), plan)
	return &savedPlanFile{o.save, digest}, err
}
