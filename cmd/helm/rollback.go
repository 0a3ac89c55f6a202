// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const rollbackHelp = `
Roll a release back to an earlier revision. Without a revision, or with 0, that is the
previous one; "helm history" lists all of them. A rollback creates a new revision. With
HELM_DRIVER=crd, the name of a ReleaseVersion can be given instead of a revision.

    $ helm rollback shop
    $ helm rollback shop 3 --wait --timeout 2m

A revision that was deployed with --wait=ordered is deployed in that order again, and
resources that it does not have are deleted in the reverse order of the current revision.
To ignore the order, for example because a resource does not become ready, use
--wait=false. All resources are then changed at the same time. A revision that was not
deployed in order has no order to follow; --wait and --wait=ordered then wait until all
resources are ready.

Hooks run in parallel in charts that had runHooksInParallel in Chart.yaml in the revision
that is rolled back to; see "helm install --help".
`

func newRollbackCmd(a *app) *cobra.Command {
	client := action.NewRollback(a.config)
	var checkReadiness func() error
	var flags progressFlags
	cmd := &cobra.Command{
		Use:               "rollback <RELEASE> [REVISION]",
		Short:             "roll a release back to an earlier revision",
		Long:              rollbackHelp,
		Args:              a.withWaitCheck(require.MinimumNArgs(1)),
		ValidArgsFunction: a.completeReleaseAnd(a.completeRevisions),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReadiness(); err != nil {
				return err
			}
			if len(args) > 1 {
				revision, err := action.ParseRevision(cmd.Context(), a.config, args[0], args[1])
				if errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) {
					return fmt.Errorf("could not convert revision to a number: %w", err)
				}
				if err != nil {
					return err
				}
				client.Version = revision
			}
			client.IgnoreOrder = isWaitDisabled(cmd.Flags())
			return a.rollback(cmd.Context(), client, &flags, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.DryRun, "dry-run", false, "only check that the release and the revision exist")
	f.BoolVar(&client.Recreate, "recreate-pods", false, "delete the pods of updated resources, so that they are recreated")
	f.BoolVar(&client.Force, "force", false, "update resources by replacing them")
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "time to wait for any individual Kubernetes operation, such as a hook Job; for an ordered rollback, for the whole operation")
	addWaitFlag(cmd, &client.Wait, &client.WaitStrategy, "wait until all resources are ready, for at most --timeout; \"false\" [not in stock Helm], if given explicitly: change all resources at the same time, even if the revision was deployed in order")
	checkReadiness = addReadinessFlag(f, &client.ReadinessTimeout)
	addWaitForJobsFlag(f, &client.WaitForJobs, &client.IgnoreJobs)
	f.BoolVar(&client.CleanupOnFail, "cleanup-on-fail", false, "if the rollback fails, delete the resources that it created")
	addRecreateFlag(cmd, &client.RecreateObjects)
	addTakeoverFlag(cmd, &client.Takeover)
	a.addScriptFlags(cmd, &client.ScriptOptions)
	addNoScriptsFlag(f, &client.DisableScripts)
	addProgressFlags(cmd, &flags)
	addHistoryMaxFlag(f, &client.MaxHistory, a.settings.MaxHistory)
	return cmd
}

// rollback rolls back the release with the given name. A signal to the process cancels the
// rollback, which is then recorded as failed.
func (a *app) rollback(ctx context.Context, client *action.Rollback, flags *progressFlags, name string) error {
	view, err := a.newView(flags)
	if err != nil {
		return err
	}
	defer view.close()
	if client.MaxParallelHooks, err = maxParallelHooks(); err != nil {
		return err
	}
	remainingWork := "the new revision is recorded as failed"
	if client.CleanupOnFail {
		remainingWork += ", and the resources that it created are deleted because of --cleanup-on-fail"
	}
	ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, cancelMessages{
		release: name, canceled: fmt.Sprintf("Rollback of release %s has been cancelled.", name), remainingWork: remainingWork, staysLocked: true,
	})
	if err := client.RunWithContext(ctx, name); err != nil {
		return err
	}
	view.end()
	_, err = fmt.Fprintln(a.out, "Rollback was a success! Happy Helming!")
	a.warnIfNotPrinted(err)
	return nil
}
