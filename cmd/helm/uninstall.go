// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const uninstallHelp = `
Uninstall releases: delete the resources of the last revision of each release, and its
history unless --keep-history is given.

    $ helm uninstall shop
    $ helm uninstall shop billing --wait --timeout 2m
    $ helm uninstall shop --dry-run

Helm does not wait for the deletion to finish unless --wait is given. Resources with the
annotation helm.sh/resource-policy: keep are not deleted, but listed.

A release that was deployed with --wait=ordered is deleted in reverse order: a resource is
deleted only after its dependents no longer exist, including their pods. If a deletion does
not finish, the error names the object. Run the uninstall again to continue. To delete
everything at the same time, without ordering, use --wait=false.

Hooks run in parallel in charts that had runHooksInParallel in Chart.yaml when the release
was deployed; see "helm install --help".
`

func newUninstallCmd(a *app) *cobra.Command {
	client := action.NewUninstall(a.config)
	var flags progressFlags
	cmd := &cobra.Command{
		Use:               "uninstall RELEASE_NAME [...]",
		Aliases:           []string{"del", "delete", "un"},
		SuggestFor:        []string{"remove", "rm"},
		Short:             "uninstall a release",
		Long:              uninstallHelp,
		Args:              a.withWaitCheck(require.MinimumNArgs(1)),
		ValidArgsFunction: a.completeReleases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCascade(client.DeletionPropagation); err != nil {
				return err
			}
			if err := checkReadinessFlag(cmd.Flags(), client.ReadinessTimeout); err != nil {
				return err
			}
			client.IgnoreOrder = isWaitDisabled(cmd.Flags())
			var err error
			if client.MaxParallelHooks, err = maxParallelHooks(); err != nil {
				return err
			}
			view, err := a.newView(&flags)
			if err != nil {
				return err
			}
			defer view.close()
			for _, name := range args {
				if err := a.uninstall(cmd.Context(), client, view, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.DryRun, "dry-run", false, "only check that the release exists")
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.BoolVar(&client.IgnoreNotFound, "ignore-not-found", false, "do not fail if the release does not exist")
	f.BoolVar(&client.KeepHistory, "keep-history", false, "delete the resources, but keep the history of the release, marked as uninstalled")
	addWaitFlag(cmd, &client.Wait, &client.WaitStrategy, "wait until all resources are deleted, for at most --timeout; \"ordered\" [not in stock Helm]: show progress; \"false\" [not in stock Helm], if given explicitly: delete all resources at the same time, even if the release was deployed in order")
	f.DurationVar(&client.ReadinessTimeout, readinessFlagName, 0, "[not in stock Helm] for an ordered uninstall, time to wait for the deletion of each node (a layer, or the unlayered resources of a chart; default: the remainder of --timeout)")
	f.StringVar(&client.DeletionPropagation, "cascade", "background", "deletion propagation policy: background, orphan or foreground")
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "time to wait for any individual Kubernetes operation, such as a hook Job; for an ordered uninstall, for the whole operation")
	addTakeoverFlag(cmd, &client.Takeover)
	a.addScriptFlags(cmd, &client.ScriptOptions)
	addNoScriptsFlag(f, &client.DisableScripts)
	addProgressFlags(cmd, &flags)
	f.StringVar(&client.Description, "description", "", "description to store in the history of the release")
	return cmd
}

// uninstall uninstalls the release with the given name. A signal to the process cancels the
// uninstall, and the release is then recorded as failed.
func (a *app) uninstall(ctx context.Context, client *action.Uninstall, view *operationView, name string) error {
	ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, cancelMessages{
		release: name, canceled: fmt.Sprintf("Uninstall of release %s has been cancelled.", name),
		remainingWork: "the release is recorded as failed", staysLocked: true,
	})
	response, err := client.RunWithContext(ctx, name)
	view.end()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("release %q uninstalled\n", name)
	if response != nil && response.Info != "" {
		text = response.Info + "\n" + text
	}
	_, err = io.WriteString(a.out, text)
	a.warnIfNotPrinted(err)
	return nil
}

func checkCascade(policy string) error {
	switch policy {
	case "background", "foreground", "orphan":
		return nil
	default:
		return fmt.Errorf("invalid cascade value (%s). Must be \"background\", \"foreground\", or \"orphan\"", policy)
	}
}
