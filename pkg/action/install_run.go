// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// installRun holds the state of one call of Install.RunWithContext or Install.Preview.
type installRun struct {
	action *Install
	mode   runMode
	op     *operation.Operation
	// crds says what to do with CRDs, according to the fields CRDs and SkipCRDs.
	crds CRDPolicy
	// replaced contains the revisions of the uninstalled or failed release whose name this
	// install reuses, because the field Replace is set. It is nil if no name is reused.
	replaced []*release.Release

	// planToSave is the plan to which the chart is added; nil if no plan is saved.
	planToSave *SavedPlan
	planner    *planner.Planner
	output     *scriptOutput
	rendered   *planner.Rendered
	rel        *release.Release
	events     *lifecycle.Operation
	deploy     *deploy.Run
}

func (r *installRun) install(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	if err := r.load(ctx, chrt, vals); err != nil {
		return nil, err
	}
	if err := r.installCRDs(ctx); err != nil {
		return nil, err
	}
	if rel, err := r.render(ctx); err != nil {
		return rel, err
	}
	if !r.mode.isDryRun() && r.crds != CRDPolicySkip {
		if err := deploy.InstallCRDHooks(ctx, r.deployConfig(r.rel, r.rendered.Plan, nil, nil), r.planner.Record(r.rel, r.rendered)); err != nil {
			return nil, err
		}
	}
	if err := r.validate(ctx); err != nil {
		return nil, err
	}
	if r.mode.isDryRun() {
		r.rel.Info.Description = "Dry run complete"
		return r.rel, nil
	}
	if rel, err := r.begin(ctx); err != nil {
		return rel, err
	}
	if err := r.deploy.Perform(ctx); err != nil {
		return r.fail(ctx, r.deploy.Failure(ctx, err))
	}
	return r.rel, r.conclude()
}

func (r *installRun) preview(ctx context.Context, b *preview.Builder, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	if err := r.load(ctx, chrt, vals); err != nil {
		return nil, err
	}
	if r.action.CreateNamespace {
		if err := b.AddNamespace(ctx, r.action.Namespace); err != nil {
			return nil, err
		}
	}
	if err := b.AddCRDs(ctx, r.newRelease(), cmp.Or(r.crds, CRDPolicyCreate)); err != nil {
		return nil, err
	}
	if _, err := r.render(ctx); err != nil {
		return nil, err
	}
	if r.crds != CRDPolicySkip && !r.action.DisableHooks {
		if err := b.AddCRDHooks(ctx, r.rel.Hooks); err != nil {
			return nil, err
		}
	}
	pending, err := b.PendingKinds(r.rel, r.action.isOrdered())
	if err != nil {
		return nil, err
	}
	if err := r.check(ctx, pending); err != nil {
		return nil, err
	}
	return b.Build(ctx, r.deploy)
}

// load reads what chrt and its subcharts declare about order and hooks, and makes Helm
// process their dependencies.
func (r *installRun) load(ctx context.Context, chrt *chart.Chart, vals map[string]any) (err error) {
	if err := r.planToSave.AddChart(chrt, vals, r.action.OrderFile); err != nil {
		return err
	}
	r.planner, err = planner.New(ctx, r.action.cfg, chrt, vals, r.action.plannerOptions(r.mode, r.output))
	return err
}

// render renders the chart and creates the new release from the result. If a document
// cannot be parsed, it returns the incomplete release with the error, so that the caller
// can print the rendered text.
func (r *installRun) render(ctx context.Context) (*release.Release, error) {
	r.rel = r.newRelease()
	if driver.ContainsSystemLabels(r.action.Labels) {
		return nil, reservedLabelsError()
	}
	rendered, err := r.output.render(ctx, r.planner)
	if err == nil {
		err = r.arrange(ctx, rendered)
	}
	if rendered == nil {
		return nil, err
	}
	r.rendered = rendered
	setRendered(r.rel, rendered)
	r.events = eventsOf(r.planner.Emitter(), r.rel, rendered.TemplateValues)
	if err == nil {
		err = r.writeFiles()
	}
	if err != nil {
		r.rel.SetStatus(release.StatusFailed, fmt.Sprintf("failed to render resource: %s", err))
		return r.rel, err
	}
	r.rel.SetStatus(release.StatusPendingInstall, "Initial install underway")
	return r.rel, nil
}

// setRendered sets the hooks, the manifest and the notes of rel to the rendered ones.
func setRendered(rel *release.Release, rendered *planner.Rendered) {
	rel.Hooks, rel.Manifest, rel.Info.Notes = rendered.Hooks, rendered.Manifest, rendered.Notes
}

func reservedLabelsError() error {
	return fmt.Errorf("user supplied labels contains system reserved label name. System labels: %+v", driver.GetSystemLabels())
}

// writeFiles writes the rendered documents to OutputDir and empties the manifest of the
// release, as Helm does. It does nothing if OutputDir is empty.
func (r *installRun) writeFiles() error {
	i := r.action
	if i.OutputDir == "" {
		return nil
	}
	r.rel.Manifest = ""
	return render.WriteFiles(i.OutputDir, i.ReleaseName, i.UseReleaseName, r.rendered.Files)
}

func (r *installRun) newRelease() *release.Release {
	now := r.action.cfg.Now()
	return &release.Release{
		Name: r.action.ReleaseName, Namespace: r.action.Namespace, Chart: r.planner.Chart, Config: r.planner.Values,
		Info:    &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusUnknown},
		Version: 1, Labels: r.action.Labels,
	}
}

func (r *installRun) deployConfig(rel *release.Release, plan *sequencer.Plan, inv *inventory.Inventory, pending map[schema.GroupKind]bool) deploy.RunConfig {
	i := r.action
	return deploy.RunConfig{Operation: r.op, Writer: r.op.Store.NewWriter(rel), Plan: plan, Inventory: inv, Revisions: r.replaced, Options: deploy.Options{
		IgnoreInvalidRecords: true, Wait: i.Wait || i.Atomic, Jobs: waitsForJobs(i.isOrdered(), i.WaitForJobs, i.IgnoreJobs), Timeout: i.Timeout,
		Force: i.Force, TakeOwnership: i.TakeOwnership, ThreeWay: i.TakeOwnership, Validate: !i.DisableOpenAPIValidation,
		PendingKinds: pending, Conflict: "Unable to continue with install", Lifecycle: r.events,
		Hooks: deploy.HookOptions{
			Disabled: i.DisableHooks, Before: release.HookPreInstall, After: release.HookPostInstall,
			Options: hooks.Options{
				Timeout: i.Timeout, Limit: i.MaxParallelHooks, FollowLogs: i.FollowHookLogs, Modes: r.planner.HookModes(),
			},
			Error: func(event release.HookEvent, err error) error { return fmt.Errorf("failed %s: %w", event, err) },
		},
	}}
}

// validate calls check, between the events pre-validate and post-validate. A dry run does not have these
// events.
func (r *installRun) validate(ctx context.Context) error {
	if r.mode.isDryRun() {
		return r.check(ctx, nil)
	}
	if err := r.events.Emit(ctx, lifecycle.PreValidate); err != nil {
		return err
	}
	if err := r.check(ctx, nil); err != nil {
		return err
	}
	return r.events.Emit(ctx, lifecycle.PostValidate)
}

// check builds the objects of the release, and makes all checks that are possible before
// anything is changed. Only a preview sets pending: the kinds that do not exist in the
// cluster yet, but would be defined by CRDs of the release.
func (r *installRun) check(ctx context.Context, pending map[schema.GroupKind]bool) error {
	i := r.action
	warn(r.op.Events, r.rendered.Warnings)
	inv := r.inventory()
	config := r.deployConfig(r.rel, r.rendered.Plan, inv, pending)
	err := config.ReadInventory(ctx)
	if err != nil {
		return err
	}
	if r.deploy, err = deploy.New(config); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)
	}
	if err := r.setRecord(); err != nil {
		return err
	}
	r.deploy.HideSecrets()
	if dryUpgrade := i.IsUpgrade && r.mode.isDryRun(); !i.ClientOnly && !dryUpgrade {
		if err := r.deploy.FindExisting(ctx, false); err != nil {
			return err
		}
	}
	if r.mode.isDryRun() {
		return nil
	}
	return r.deploy.Check(ctx)
}

// setRecord adds to the release what it stores about its order and its scripts.
func (r *installRun) setRecord() error {
	stored, err := r.planner.StoredChart()
	if err != nil {
		return err
	}
	return r.deploy.SetRecord(stored, r.planner.Record(r.rel, r.rendered))
}

// inventory returns the objects that the replaced release (r.replaced) may have left in the
// cluster. It returns nil unless this is an ordered install that replaces a failed release;
// such an install updates or deletes these objects, as an upgrade would. If a release is
// replaced, inventory also sets the revision of the new release.
func (r *installRun) inventory() *inventory.Inventory {
	last := history.Newest(r.replaced)
	if last == nil {
		return nil
	}
	r.rel.Version = last.Version + 1
	if !r.action.isOrdered() || last.Info.Status != release.StatusFailed {
		return nil
	}
	return inventory.New(r.replaced, last)
}

// begin creates the namespace if CreateNamespace is set, locks the release and stores it.
// Nothing else is changed yet.
func (r *installRun) begin(ctx context.Context) (*release.Release, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if r.action.CreateNamespace {
		if err := apply.CreateNamespace(ctx, r.op.Cluster, r.op.Writer, r.action.Namespace); err != nil {
			return nil, err
		}
	}
	state := &lease.LockCheckResult{Last: history.Newest(r.replaced), History: r.replaced}
	err := begin(r.op, r.deploy, "install", state)
	switch {
	case state.Last == nil:
		return r.rel, err
	case err != nil:
		return nil, err
	}
	r.supersede(state.Last)
	return r.rel, nil
}

// supersede records replaced, the last revision of the release whose name is reused, as
// superseded. A failed revision stays failed. If recording fails, this is only logged,
// because the cluster contains no objects of that revision any more.
func (r *installRun) supersede(replaced *release.Release) {
	if replaced.Info.Status == release.StatusFailed {
		return
	}
	w := r.op.Store.NewWriter(history.Copy(replaced))
	w.LogFailure(w.Write(func(rel *release.Release) { rel.SetStatus(release.StatusSuperseded, "superseded by new release") }))
}

// conclude records the release as deployed. As in Helm, the install succeeds even if this
// cannot be recorded, unless another operation has taken over the release.
func (r *installRun) conclude() error {
	description := r.action.Description
	if description == "" {
		description = "Install complete"
	}
	err := r.op.Lease().MayConclude()
	if err == nil {
		err = r.deploy.Writer().Write(func(rel *release.Release) { rel.SetStatus(release.StatusDeployed, description) })
	}
	if lost := r.op.Lease().Lost(); err == nil || lost != nil {
		return lost
	}
	r.op.Log("failed to record the release: %s", err)
	r.op.Events.Warnf("release %s is installed, but its status is still pending-install, because the new status could not be stored: "+
		"upgrade the release when its storage is available again: %v", r.rel.Name, err)
	return nil
}

// fail records that the install failed because of cause. If Atomic is set, it also
// uninstalls the release. It returns the release and the error of the install.
func (r *installRun) fail(ctx context.Context, cause error) (*release.Release, error) {
	i := r.action
	if lost := r.op.Lease().Lost(); lost != nil {
		return r.rel, lost
	}
	if lost := r.deploy.RecordFailure(fmt.Sprintf("Release %q failed: %s", i.ReleaseName, failure.Description(cause))); lost != nil {
		return r.rel, lost
	}
	if !i.Atomic {
		return r.rel, cause
	}
	r.op.Log("Install failed and atomic is set, uninstalling release")
	r.op.Events.Warnf("--atomic: uninstalling the failed release %s; cause of the failure: %s", i.ReleaseName, text.OneLine(failure.Description(cause)))
	u := NewUninstall(i.cfg)
	u.DisableHooks, u.MaxParallelHooks, u.Timeout = i.DisableHooks, i.MaxParallelHooks, i.Timeout
	u.OnEvent, u.FollowHookLogs = i.OnEvent, i.FollowHookLogs
	u.spared, u.undo = r.deploy.Adopted(), failedOperation(r.op, r.rel)
	if _, err := u.RunWithContext(context.WithoutCancel(ctx), i.ReleaseName); err != nil {
		return r.rel, &UndoError{Failure: cause, Undo: err, Prefix: "an error occurred while uninstalling the release. original install error"}
	}
	return r.rel, fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set: %w", i.ReleaseName, cause)
}

// failedOperation identifies op, a failed operation on the revision rel. The uninstall or
// rollback that --atomic starts needs it, because op still holds the lock on the release.
func failedOperation(op *operation.Operation, rel *release.Release) *lease.FailedOperation {
	return &lease.FailedOperation{Revision: rel.Version, LeaseID: op.Lease().ID()}
}

func (i *Install) plannerOptions(mode runMode, out *scriptOutput) planner.RenderOptions {
	upgrade := i.IsUpgrade && mode.isDryRun()
	return planner.RenderOptions{
		Release: chartutil.ReleaseOptions{
			Name: i.ReleaseName, Namespace: i.Namespace, Revision: 1, IsInstall: !upgrade, IsUpgrade: upgrade,
		},
		Ordered: i.isOrdered(), OrderFile: i.OrderFile, AllowIgnored: i.AllowIgnoredOrder, IgnoreJobs: i.IgnoreJobs, DisableHooks: i.DisableHooks, DryRun: mode.isDryRun(), LooksUp: mode.looksUp(),
		EnableDNS: i.EnableDNS, SubNotes: i.SubNotes, IncludeCRDs: i.IncludeCRDs, HideSecret: i.HideSecret,
		SkipSchemaValidation: i.SkipSchemaValidation, PostRenderer: i.PostRenderer,
		Handlers: i.handlers(i.Lifecycle, i.cfg, out, mode.looksUp()), Recorded: i.savedPlan.Recorded(),
	}
}
