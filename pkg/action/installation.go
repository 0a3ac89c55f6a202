// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
)

// installation is one run of an Install.
type installation struct {
	*Install
	*operation

	rendering  rendering
	rel        *release.Release
	deployment *deployment
	// earlier are the revisions of the release that this one replaces, as they were when
	// that was allowed; nil if there is none.
	earlier []*release.Release
	// foreseen is as in deployOptions.
	foreseen map[schema.GroupKind]bool
}

func (op *installation) run(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	op.rendering = rendering{cfg: op.Install.cfg, renderOptions: op.renderOptions()}
	if err := op.rendering.prepare(chrt, vals); err != nil {
		return nil, err
	}
	if err := op.definitions(ctx); err != nil {
		return nil, err
	}
	if rel, err := op.render(); err != nil {
		return rel, err
	}
	if err := op.definitionHooks(ctx); err != nil {
		return nil, err
	}
	if err := op.build(ctx); err != nil {
		return nil, err
	}
	if op.dryRun() {
		op.rel.Info.Description = "Dry run complete"
		return op.rel, nil
	}
	if rel, err := op.begin(ctx); err != nil {
		return rel, err
	}
	if err := op.deployment.perform(ctx); err != nil {
		return op.fail(ctx, op.deployment.failed(ctx, err))
	}
	return op.rel, op.conclude()
}

// conclude records that the release is deployed. As in Helm it is where that cannot be
// recorded, unless because others have taken it over.
func (op *installation) conclude() error {
	description := op.Description
	if description == "" {
		description = "Install complete"
	}
	l := op.deployment.ledger
	err := l.mayConclude()
	if err == nil {
		err = l.store(func(rel *release.Release) { rel.SetStatus(release.StatusDeployed, description) })
	}
	if lost := l.lostTo(); err == nil || lost != nil {
		return lost
	}
	op.Install.cfg.Log("failed to record the release: %s", err)
	op.events.warn(fmt.Sprintf("release %s is installed, but it could not be recorded that it is, and helm goes on taking the installation for unfinished: "+
		"upgrade it once it can be recorded: %v", op.rel.Name, err))
	return nil
}

// definitions installs the charts' crds/ folders, which rendering may depend
// on; what an order does wrong is found before.
func (op *installation) definitions(ctx context.Context) error {
	crds := op.rendering.chart.CRDObjects()
	cfg := op.Install.cfg
	switch {
	case op.ClientOnly:
		op.playCluster()
		op.cluster = cluster.New(cfg.KubeClient, nil, cfg.Log)
		return nil
	case len(op.APIVersions) > 0:
		cfg.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	if op.SkipCRDs || len(crds) == 0 {
		return nil
	}
	if op.dryRun() {
		cfg.Log("WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.")
		return nil
	}
	if err := releaserecord.CheckSize(op.newRelease(), cfg.Releases.Name(), sizeReserve); err != nil {
		return err
	}
	if op.ordered() {
		if err := op.rehearse(ctx); err != nil {
			return err
		}
	}
	_, err := installCRDs(ctx, cfg, op.cluster, crds)
	return err
}

// definitionHooks installs definitions that are hooks, on which the kinds of
// everything else may depend; what can be checked without them is checked before.
func (op *installation) definitionHooks(ctx context.Context) error {
	if op.dryRun() || op.SkipCRDs || op.DisableHooks || len(hookrunner.ForEvent(op.rel.Hooks, hookrunner.EventCRDInstall)) == 0 {
		return nil
	}
	d := op.newDeployment(op.rel)
	if err := d.rehearse(ctx, op.rendering.recordOf(op.rel)); err != nil {
		return err
	}
	return installCRDHooks(ctx, op.Install.cfg, op.cluster, op.rel)
}

// rehearse goes through all checks while nothing was changed, as far as they
// do not need the definitions that are about to be installed.
func (op *installation) rehearse(ctx context.Context) error {
	trial := op.rendering
	result, err := trial.render()
	var order *orderError
	var value *annotation.ValueError
	if errors.As(err, &order) || errors.As(err, &value) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // a chart may only render once its definitions are there
	}
	d := op.newDeployment(op.newRelease())
	d.plan = trial.plan
	d.release().Hooks, d.release().Manifest, d.release().Info.Notes = result.Hooks, result.Manifest, result.Notes
	return d.rehearse(ctx, trial.recordOf(d.release()))
}

// render makes the release. On an error it returns what there is of it, so
// that the caller can show what could not be parsed.
func (op *installation) render() (*release.Release, error) {
	op.Wait = op.Wait || op.Atomic
	op.rel = op.newRelease()
	if driver.ContainsSystemLabels(op.Labels) {
		return nil, reservedLabels()
	}
	result, err := op.rendering.render()
	if err == nil {
		err = op.arrange(result)
	}
	if result != nil {
		op.rel.Hooks, op.rel.Manifest, op.rel.Info.Notes = result.Hooks, result.Manifest, result.Notes
	}
	if err == nil {
		err = op.writeFiles(result)
	}
	if err != nil {
		if result == nil {
			return nil, err
		}
		op.rel.SetStatus(release.StatusFailed, fmt.Sprintf("failed to render resource: %s", err))
		return op.rel, err
	}
	op.rel.SetStatus(release.StatusPendingInstall, "Initial install underway")
	return op.rel, nil
}

func reservedLabels() error {
	return fmt.Errorf("user supplied labels contains system reserved label name. System labels: %+v", driver.GetSystemLabels())
}

// writeFiles writes the manifests into the output folder, if there is one. The
// release then has no manifest.
func (op *installation) writeFiles(result *render.Result) error {
	if op.OutputDir == "" {
		return nil
	}
	op.rel.Manifest = ""
	return writeFiles(op.OutputDir, op.ReleaseName, op.UseReleaseName, result.Files)
}

func (op *installation) newRelease() *release.Release {
	now := op.Install.cfg.Now()
	return &release.Release{
		Name: op.ReleaseName, Namespace: op.Namespace, Chart: op.rendering.chart, Config: op.rendering.vals,
		Info:    &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusUnknown},
		Version: 1, Labels: op.Labels,
	}
}

func (op *installation) newDeployment(rel *release.Release) *deployment {
	return &deployment{
		operation: op.operation, plan: op.rendering.plan, ledger: newLedger(op.Install.cfg, rel),
		deployOptions: deployOptions{
			ordered: op.ordered(), wait: op.Wait, jobs: op.WaitForJobs, timeout: op.Timeout,
			force: op.Force, takeOwnership: op.TakeOwnership, mergeCustom: op.TakeOwnership,
			validate: !op.DisableOpenAPIValidation, noHooks: op.DisableHooks,
			parallelHooks: op.MaxParallelHooks, followLogs: op.FollowHookLogs, hookModes: render.HookModes(op.rendering.root, op.Namespace),
			before: release.HookPreInstall, after: release.HookPostInstall,
			hookFailure: func(event release.HookEvent, err error) error { return fmt.Errorf("failed %s: %w", event, err) },
			conflict:    "Unable to continue with install", foreseen: op.foreseen,
		},
	}
}

// build prepares the deployment and checks all that can be checked before anything
// of the release is changed.
func (op *installation) build(ctx context.Context) error {
	op.rendering.warn(op.events)
	op.deployment = op.newDeployment(op.rel)
	if err := op.replace(ctx); err != nil {
		return err
	}
	if err := op.deployment.build(); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)
	}
	if err := op.deployment.remember(op.rendering.chart, op.rendering.recordOf(op.rel)); err != nil {
		return err
	}
	op.deployment.prepareToExplain()
	if upgradePlayed := op.IsUpgrade && op.dryRun(); !op.ClientOnly && !upgradePlayed {
		if err := op.deployment.findExisting(ctx, op.deployment.rollout.all); err != nil {
			return err
		}
	}
	if op.dryRun() {
		return nil
	}
	if err := op.deployment.check(ctx); err != nil {
		return err
	}
	return op.deployment.checkSize()
}

// replace makes the release the successor of the one that had its name. In order,
// what that may have left is changed or deleted like that of any revision.
func (op *installation) replace(ctx context.Context) error {
	last := newest(op.earlier)
	if last == nil {
		return nil
	}
	op.rel.Version = last.Version + 1
	if !op.ordered() || last.Info.Status != release.StatusFailed {
		return nil
	}
	p := newPrior(op.earlier, last)
	op.deployment.prior = p
	return p.readPlans(ctx, op.cluster, true)
}

// begin stores the release before anything of it is deployed.
func (op *installation) begin(ctx context.Context) (*release.Release, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if op.CreateNamespace {
		if err := op.createNamespace(ctx); err != nil {
			return nil, err
		}
	}
	if err := op.hold(op.deployment.ledger, "install", op.rel.Info.Status); err != nil {
		return nil, err
	}
	replaced := newest(op.earlier)
	if replaced == nil {
		_, err := createRevision(op.Install.cfg, op.rel, nil)
		return op.rel, err
	}
	var err error
	op.deployment.taken, err = op.succeed(op.rel, &found{last: replaced, history: op.earlier})
	if err != nil {
		return nil, err
	}
	op.supersede(replaced)
	return op.rel, nil
}

func (op *installation) createNamespace(ctx context.Context) error {
	manifest, err := yaml.Marshal(&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: op.Namespace, Labels: map[string]string{"name": op.Namespace}},
	})
	if err != nil {
		return err
	}
	var list kube.ResourceList
	if list, err = op.cluster.Build(manifest, true); err != nil {
		return err
	}
	if err := op.cluster.Create(ctx, list); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// supersede notes that the release that had the name is replaced. As nothing of it is
// there any more, nothing depends on that.
func (op *installation) supersede(replaced *release.Release) {
	if replaced.Info.Status == release.StatusFailed {
		return
	}
	l := newLedger(op.Install.cfg, ownRelease(replaced))
	l.try(l.store(func(rel *release.Release) { rel.SetStatus(release.StatusSuperseded, "superseded by new release") }))
}

// fail records the failure, or removes the release again if it is atomic.
func (op *installation) fail(ctx context.Context, failure error) (*release.Release, error) {
	if lost := op.deployment.ledger.lostTo(); lost != nil {
		return op.rel, lost
	}
	if lost := op.deployment.recordFailure(fmt.Sprintf("Release %q failed: %s", op.ReleaseName, inShort(failure))); lost != nil {
		return op.rel, lost
	}
	if !op.Atomic {
		return op.rel, failure
	}
	op.Install.cfg.Log("Install failed and atomic is set, uninstalling release")
	op.events.warn(fmt.Sprintf("release %s failed and is removed again because of --atomic: %s", op.ReleaseName, oneLine(inShort(failure))))
	u := NewUninstall(op.Install.cfg)
	u.DisableHooks, u.MaxParallelHooks, u.Timeout = op.DisableHooks, op.MaxParallelHooks, op.Timeout
	u.OnEvent, u.FollowHookLogs = op.OnEvent, op.FollowHookLogs
	u.spared, u.undoes = op.deployment.rollout.adopted(), op.deployment.ledger.own()
	if _, err := u.RunWithContext(context.WithoutCancel(ctx), op.ReleaseName); err != nil {
		return op.rel, &UndoError{Failure: failure, Undo: err, text: "an error occurred while uninstalling the release. original install error"}
	}
	return op.rel, fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set: %w", op.ReleaseName, failure)
}

// renderOptions are what the rendering needs to know of the installation.
func (i *Install) renderOptions() renderOptions {
	upgrade := i.IsUpgrade && i.dryRun()
	return renderOptions{
		release: chartutil.ReleaseOptions{
			Name: i.ReleaseName, Namespace: i.Namespace, Revision: 1, IsInstall: !upgrade, IsUpgrade: upgrade,
		},
		ordered: i.ordered(), dryRun: i.dryRun(), looksUp: i.looksUp(),
		enableDNS: i.EnableDNS, subNotes: i.SubNotes, includeCRDs: i.IncludeCRDs, hideSecret: i.HideSecret,
		skipSchemaValidation: i.SkipSchemaValidation, postRenderer: i.PostRenderer,
	}
}
