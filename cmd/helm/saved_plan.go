// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

const (
	planFlagName       = "plan"
	planDigestFlagName = "plan-digest"
)

// flagsBesidePlan contains the flags of install and upgrade that can be combined with --plan: those about time, progress
// and output. The global flags and those about the permissions of scripts can be combined with it, too.
var flagsBesidePlan = []string{
	planFlagName, planDigestFlagName, "timeout", readinessFlagName, progressFlagName, timelineFlagName, "output", "hide-notes",
	"accept-perms", "yes",
}

// planExecution executes a saved plan, for the commands install and upgrade.
type planExecution struct {
	app *app
	// command is the name of the command.
	command string
	// path and digest are the values of --plan and --plan-digest.
	path, digest string

	timeout, readiness *time.Duration
	scripts            *action.ScriptOptions
	progress           *progressFlags
	output             **formatFlag
	// strategy and hideNotes are set or read when the result is printed.
	strategy  *action.WaitStrategy
	hideNotes *bool
}

// addTo adds the flags to a command, and lets it execute the plan if they are given.
func (e *planExecution) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.path, planFlagName, "", "[not in stock Helm] do exactly what the plan in this file says, which \"helm plan --save\" has written; without arguments")
	f.StringVar(&e.digest, planDigestFlagName, "", "[not in stock Helm] with --plan, the digest that the plan must have, as \"helm plan --save\" has printed it")
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if e.path != "" {
			return require.NoArgs(cmd, given)
		}
		return args(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		switch {
		case e.path != "":
			return e.execute(cmd)
		case e.digest != "":
			return fmt.Errorf("--%s requires --%s", planDigestFlagName, planFlagName)
		}
		return run(cmd, given)
	}
}

func (e *planExecution) execute(cmd *cobra.Command) error {
	if err := checkFlagsBesidePlan(cmd.LocalNonPersistentFlags()); err != nil {
		return err
	}
	p, _, err := action.ReadPlan(e.path, e.digest)
	if err != nil {
		return err
	}
	if p.Operation == action.PlannedUpgrade && e.command == "install" {
		return fmt.Errorf("the plan upgrades release %s: use helm upgrade --plan %s", p.Release, e.path)
	}
	if err := e.useNamespace(cmd, p.Namespace); err != nil {
		return err
	}
	rel, err := e.run(cmd.Context(), p, cmd.Flags())
	if err != nil {
		return errors.Join(err, e.app.printFailure((*e.output).format, *e.strategy, rel, err))
	}
	if p.Operation == action.PlannedUpgrade && (*e.output).format == output.Table {
		fmt.Fprintf(e.app.out, "Release %q has been upgraded. Happy Helming!\n", p.Release)
	}
	return e.app.printDeployed((*e.output).format, rel, *e.hideNotes)
}

// checkFlagsBesidePlan returns an error if flags were given that cannot be combined with --plan.
func checkFlagsBesidePlan(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if err == nil && f.Changed && !slices.Contains(flagsBesidePlan, f.Name) {
			err = fmt.Errorf("--%s cannot be combined with --%s: the plan already says what to do; make a new plan with this flag", f.Name, planFlagName)
		}
	})
	return err
}

// useNamespace makes the namespace of the plan that of the operation.
func (e *planExecution) useNamespace(cmd *cobra.Command, namespace string) error {
	settings := e.app.settings
	if settings.Namespace() == namespace {
		return nil
	}
	if f := cmd.Flags().Lookup("namespace"); f != nil && f.Changed {
		return fmt.Errorf("the plan is for a release in the namespace %s, not %s: omit --namespace", namespace, settings.Namespace())
	}
	settings.SetNamespace(namespace)
	return e.app.connect()
}

func (e *planExecution) run(ctx context.Context, p *action.SavedPlan, flags *pflag.FlagSet) (*release.Release, error) {
	limit, err := maxParallelHooks()
	if err != nil {
		return nil, err
	}
	view, err := e.app.newView(e.progress)
	if err != nil {
		return nil, err
	}
	defer view.close()
	timeout, readiness := p.Options.Timeout, p.Options.ReadinessTimeout
	if flags.Changed("timeout") {
		timeout = *e.timeout
	}
	if flags.Changed(readinessFlagName) {
		readiness = *e.readiness
	}
	*e.strategy = action.WaitStrategy(p.Options.WaitStrategy)
	messages := cancelMessages{
		release: p.Release, canceled: fmt.Sprintf("Release %s has been cancelled.", p.Release),
		onStdout: cancelMessageOnStdout(*e.output, *e.strategy), staysLocked: true,
		remainingWork: remainingWork(p.Operation, p.Options.CleanupOnFail, p.Options.Atomic),
	}
	if p.Operation == action.PlannedInstall {
		client := action.NewInstall(e.app.config)
		client.Timeout, client.ReadinessTimeout, client.MaxParallelHooks, client.ScriptOptions = timeout, readiness, limit, *e.scripts
		ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, messages)
		rel, err := client.RunPlan(ctx, p)
		if err != nil {
			return rel, fmt.Errorf("INSTALLATION FAILED: %w", err)
		}
		return rel, nil
	}
	client := action.NewUpgrade(e.app.config)
	client.Timeout, client.ReadinessTimeout, client.MaxParallelHooks, client.ScriptOptions = timeout, readiness, limit, *e.scripts
	ctx = view.begin(ctx, eventOptions{&client.OnEvent, &client.FollowHookLogs}, messages)
	rel, err := client.RunPlan(ctx, p)
	view.end()
	if err != nil {
		return rel, fmt.Errorf("%s%w", upgradeFailed, err)
	}
	return rel, nil
}

// remainingWork says what an operation that was canceled still does.
func remainingWork(operation string, cleanUp, atomic bool) string {
	if operation == action.PlannedInstall {
		if atomic {
			return "the release is recorded as failed, and uninstalled because of --atomic"
		}
		return "the release is recorded as failed"
	}
	work := "the new revision is recorded as failed"
	if cleanUp {
		work += ", the resources that it created are deleted because of --cleanup-on-fail"
	}
	if atomic {
		work += ", and the release is rolled back because of --atomic"
	}
	return work
}
