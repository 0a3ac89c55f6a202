// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/text"
)

// installRun is the state of one call of Install.RunWithContext or Install.Preview.
type installRun struct {
	dryRunMode
	action *Install
	op     *operation.Operation
	// replaced contains the revisions of the uninstalled or failed release whose name this
	// install reuses; nil if it reuses none.
	replaced []*release.Release

	renderer renderer
	rel      *release.Release
	deploy   *deploy.Run
}

func (r *installRun) install(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	if err := r.load(chrt, vals); err != nil {
		return nil, err
	}
	if err := r.installCRDs(ctx); err != nil {
		return nil, err
	}
	if rel, err := r.render(); err != nil {
		return rel, err
	}
	if err := r.installCRDHooks(ctx); err != nil {
		return nil, err
	}
	if err := r.check(ctx, nil); err != nil {
		return nil, err
	}
	if r.isDryRun() {
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
	if err := r.load(chrt, vals); err != nil {
		return nil, err
	}
	if r.action.CreateNamespace {
		if err := b.AddNamespace(ctx, r.action.Namespace); err != nil {
			return nil, err
		}
	}
	if !r.action.SkipCRDs {
		if err := b.AddCRDs(ctx, r.renderer.chart.CRDObjects()); err != nil {
			return nil, err
		}
	}
	if _, err := r.render(); err != nil {
		return nil, err
	}
	if !r.action.SkipCRDs && !r.action.DisableHooks {
		if err := b.AddCRDHooks(ctx, r.rel.Hooks); err != nil {
			return nil, err
		}
	}
	pending, err := b.PendingKinds(r.rel, r.action.ordered())
	if err != nil {
		return nil, err
	}
	if err := r.check(ctx, pending); err != nil {
		return nil, err
	}
	return b.Build(ctx, r.deploy)
}

// load reads what the charts declare about order and hooks, and lets Helm process their
// dependencies, for example remove disabled ones.
func (r *installRun) load(chrt *chart.Chart, vals map[string]any) error {
	r.renderer = renderer{cfg: r.action.cfg, renderOptions: r.action.renderOptions(r.dryRunMode)}
	return r.renderer.load(chrt, vals)
}

// render renders the chart and creates the release from the result. If a document cannot be
// parsed, it returns the incomplete release with the error, so that the caller can show the
// document.
func (r *installRun) render() (*release.Release, error) {
	r.rel = r.newRelease()
	if driver.ContainsSystemLabels(r.action.Labels) {
		return nil, reservedLabelsError()
	}
	result, err := r.renderer.render()
	if err == nil {
		err = r.arrange(result)
	}
	if result != nil {
		r.rel.Hooks, r.rel.Manifest, r.rel.Info.Notes = result.Hooks, result.Manifest, result.Notes
	}
	if err == nil {
		err = r.writeFiles(result)
	}
	if err != nil {
		if result == nil {
			return nil, err
		}
		r.rel.SetStatus(release.StatusFailed, fmt.Sprintf("failed to render resource: %s", err))
		return r.rel, err
	}
	r.rel.SetStatus(release.StatusPendingInstall, "Initial install underway")
	return r.rel, nil
}

func reservedLabelsError() error {
	return fmt.Errorf("user supplied labels contains system reserved label name. System labels: %+v", driver.GetSystemLabels())
}

// writeFiles writes the rendered documents to OutputDir, if that is set, and removes them
// from the release.
func (r *installRun) writeFiles(result *render.Result) error {
	i := r.action
	if i.OutputDir == "" {
		return nil
	}
	r.rel.Manifest = ""
	return render.WriteFiles(i.OutputDir, i.ReleaseName, i.UseReleaseName, result.Files)
}

func (r *installRun) newRelease() *release.Release {
	now := r.action.cfg.Now()
	return &release.Release{
		Name: r.action.ReleaseName, Namespace: r.action.Namespace, Chart: r.renderer.chart, Config: r.renderer.vals,
		Info:    &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusUnknown},
		Version: 1, Labels: r.action.Labels,
	}
}

func (r *installRun) deployConfig(rel *release.Release, from *renderer, inv *inventory.Inventory, pending map[schema.GroupKind]bool) deploy.Config {
	i := r.action
	return deploy.Config{Operation: r.op, Writer: r.op.Store.NewWriter(rel), Plan: from.plan, Inventory: inv, Options: deploy.Options{
		Ordered: i.ordered(), Wait: i.Wait || i.Atomic, Jobs: i.WaitForJobs, Timeout: i.Timeout,
		Force: i.Force, TakeOwnership: i.TakeOwnership, ThreeWay: i.TakeOwnership, Validate: !i.DisableOpenAPIValidation,
		PendingKinds: pending, Conflict: "Unable to continue with install",
		Hooks: deploy.Hooks{
			Disabled: i.DisableHooks, Before: release.HookPreInstall, After: release.HookPostInstall,
			Options: hooks.Options{
				Timeout: i.Timeout, Limit: i.MaxParallelHooks, FollowLogs: i.FollowHookLogs, Modes: render.HookModes(from.root, i.Namespace),
			},
			Error: func(event release.HookEvent, err error) error { return fmt.Errorf("failed %s: %w", event, err) },
		},
	}}
}

// check prepares the deployment and does all checks that are possible before anything is
// changed. A preview passes in pending the kinds that the install itself would define.
func (r *installRun) check(ctx context.Context, pending map[schema.GroupKind]bool) error {
	i := r.action
	r.renderer.warn(r.op.Events)
	inv, err := r.inventory(ctx)
	if err != nil {
		return err
	}
	if r.deploy, err = deploy.New(r.deployConfig(r.rel, &r.renderer, inv, pending)); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)
	}
	if err := r.deploy.SetRecord(r.renderer.chart, r.renderer.recordOf(r.rel)); err != nil {
		return err
	}
	r.deploy.HideSecrets()
	if dryUpgrade := i.IsUpgrade && r.isDryRun(); !i.ClientOnly && !dryUpgrade {
		if err := r.deploy.FindExisting(ctx, false); err != nil {
			return err
		}
	}
	if r.isDryRun() {
		return nil
	}
	return r.deploy.Check(ctx)
}

// inventory returns the objects that the replaced release may have left in the cluster, or
// nil if they do not matter. They matter only in an ordered install that replaces a failed
// release: it updates or deletes them like objects of any earlier revision. If a release is
// replaced, inventory also sets the revision of the new release.
func (r *installRun) inventory(ctx context.Context) (*inventory.Inventory, error) {
	last := history.Newest(r.replaced)
	if last == nil {
		return nil, nil
	}
	r.rel.Version = last.Version + 1
	if !r.action.ordered() || last.Info.Status != release.StatusFailed {
		return nil, nil
	}
	inv := inventory.New(r.replaced, last)
	err := inv.ReadPlans(ctx, r.op.Cluster, true)
	return inv, err
}

// begin locks the release and stores it, before anything is deployed.
func (r *installRun) begin(ctx context.Context) (*release.Release, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if r.action.CreateNamespace {
		if err := r.createNamespace(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := r.op.Lock(r.deploy.Writer(), "install", r.rel.Info.Status); err != nil {
		return nil, err
	}
	last := history.Newest(r.replaced)
	if last == nil {
		_, err := lease.Create(r.op.Store, r.rel, nil)
		return r.rel, err
	}
	interrupted, err := lease.CreateNext(r.op.Store, r.op.Events, r.rel, &lease.State{Last: last, History: r.replaced})
	if err != nil {
		return nil, err
	}
	r.deploy.SetInterrupted(interrupted)
	r.supersede(last)
	return r.rel, nil
}

func (r *installRun) createNamespace(ctx context.Context) error {
	manifest, err := yaml.Marshal(&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: r.action.Namespace, Labels: map[string]string{"name": r.action.Namespace}},
	})
	if err != nil {
		return err
	}
	list, err := r.op.Cluster.Build(manifest, true)
	if err != nil {
		return err
	}
	if _, err := r.op.Writer.Create(ctx, list); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// supersede records that the release that had this name before was replaced. A failure is
// only logged, because the cluster contains no objects of that release any more.
func (r *installRun) supersede(replaced *release.Release) {
	if replaced.Info.Status == release.StatusFailed {
		return
	}
	w := r.op.Store.NewWriter(history.Copy(replaced))
	w.LogFailure(w.Write(func(rel *release.Release) { rel.SetStatus(release.StatusSuperseded, "superseded by new release") }))
}

// conclude records that the release is deployed. As in Helm, the install succeeds even if
// this cannot be recorded, unless another operation has taken over the release.
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
	r.op.Events.Warnf("release %s is installed, but recording that failed, so Helm still considers the installation unfinished: "+
		"upgrade the release once it can be recorded: %v", r.rel.Name, err)
	return nil
}

// fail records that the install failed because of cause. If Atomic is set, it also
// uninstalls the release. It returns the error of the install.
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
	r.op.Events.Warnf("release %s failed; uninstalling it because of --atomic: %s", i.ReleaseName, text.OneLine(failure.Description(cause)))
	u := NewUninstall(i.cfg)
	u.DisableHooks, u.MaxParallelHooks, u.Timeout = i.DisableHooks, i.MaxParallelHooks, i.Timeout
	u.OnEvent, u.FollowHookLogs = i.OnEvent, i.FollowHookLogs
	u.spared, u.undo = r.deploy.Adopted(), undoTarget(r.op, r.rel)
	if _, err := u.RunWithContext(context.WithoutCancel(ctx), i.ReleaseName); err != nil {
		return r.rel, &UndoError{Failure: cause, Undo: err, Prefix: "an error occurred while uninstalling the release. original install error"}
	}
	return r.rel, fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set: %w", i.ReleaseName, cause)
}

// undoTarget identifies the failed operation op on rel. The uninstall or rollback of
// --atomic needs this to get past the lock of op.
func undoTarget(op *operation.Operation, rel *release.Release) *lease.UndoTarget {
	return &lease.UndoTarget{Revision: rel.Version, LeaseID: op.Lease().ID()}
}

func (i *Install) renderOptions(mode dryRunMode) renderOptions {
	upgrade := i.IsUpgrade && mode.isDryRun()
	return renderOptions{
		release: chartutil.ReleaseOptions{
			Name: i.ReleaseName, Namespace: i.Namespace, Revision: 1, IsInstall: !upgrade, IsUpgrade: upgrade,
		},
		ordered: i.ordered(), dryRun: mode.isDryRun(), looksUp: mode.looksUp(),
		enableDNS: i.EnableDNS, subNotes: i.SubNotes, includeCRDs: i.IncludeCRDs, hideSecret: i.HideSecret,
		skipSchemaValidation: i.SkipSchemaValidation, postRenderer: i.PostRenderer,
	}
}
