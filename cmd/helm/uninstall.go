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
Remove releases: the resources of each one's last revision, and its history
unless --keep-history is given.

    $ helm uninstall shop
    $ helm uninstall shop billing --wait --timeout 2m
    $ helm uninstall shop --dry-run

What is deleted is not waited for, unless --wait is given. Resources with the
annotation helm.sh/resource-policy: keep stay, and are listed.

A release that was deployed with --wait=ordered is taken apart in reverse order:
nothing is deleted before all that depended on it is gone, pods too. When a part
hangs, the error names it; uninstalling again carries on. --wait=false deletes
everything at once all the same; it is the way out.
`

func newUninstallCmd(a *app) *cobra.Command {
	client := action.NewUninstall(a.config)
	var flags progressFlags
	cmd := &cobra.Command{
		Use:               "uninstall RELEASE_NAME [...]",
		Aliases:           []string{"del", "delete", "un"},
		SuggestFor:        []string{"remove", "rm"},
		Short:             "remove a release",
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
			client.IgnoreOrder = waitSwitchedOff(cmd.Flags())
			limit, err := parallelHooks()
			if err != nil {
				return err
			}
			client.MaxParallelHooks = limit
			view, err := a.view(&flags)
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
	f.BoolVar(&client.DryRun, "dry-run", false, "only look whether the release exists")
	f.BoolVar(&client.DisableHooks, "no-hooks", false, "do not run hooks")
	f.BoolVar(&client.IgnoreNotFound, "ignore-not-found", false, "a release that does not exist is no error")
	f.BoolVar(&client.KeepHistory, "keep-history", false, "remove the resources, but keep the release's history, marked as uninstalled")
	addWaitFlag(f, &client.Wait, &client.WaitStrategy, "wait until all resources are gone, for at most --timeout; \"ordered\" [not in Helm]: show how the release is taken apart; \"false\" [not in Helm], when given: delete all at once, whatever order the release was deployed in")
	completeFlag(cmd, "wait", completeWait)
	f.DurationVar(&client.ReadinessTimeout, readinessFlagName, 0, "[not in Helm] in order, how long each part may take to be gone, from the moment its deletion begins (default: what is left of --timeout)")
	f.StringVar(&client.DeletionPropagation, "cascade", "background", "what happens to the objects that a deleted one owns: background, orphan or foreground")
	f.DurationVar(&client.Timeout, "timeout", defaultTimeout, "how long to wait for any one Kubernetes operation, such as a hook's Job; in order, for all of them together")
	addTakeoverFlag(cmd, &client.Takeover)
	addProgressFlags(cmd, &flags)
	f.StringVar(&client.Description, "description", "", "description to keep with the release's history")
	return cmd
}

// uninstall removes one release. It ends early when the process is told to
// stop, with the release's record kept.
func (a *app) uninstall(ctx context.Context, client *action.Uninstall, view *operationView, name string) error {
	client.OnEvent, client.FollowHookLogs = view.open()
	defer view.pause()
	ctx, stop := a.untilSignal(ctx, view, interruptible{
		release: name, cancelled: fmt.Sprintf("Uninstalling %s has been cancelled.", name),
		waits: "the release is recorded as not removed", held: true,
	})
	defer stop()

	response, err := client.RunWithContext(ctx, name)
	view.pause()
	if err != nil {
		return err
	}
	stop()
	text := fmt.Sprintf("release %q uninstalled\n", name)
	if response != nil && response.Info != "" {
		text = response.Info + "\n" + text
	}
	_, err = io.WriteString(a.out, text)
	a.printed(err)
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
