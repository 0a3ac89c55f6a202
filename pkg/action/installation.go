// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/record"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// installation is one run of an Install.
type installation struct {
	*Install
	cluster *cluster.Client
	events  *events
	limits  timeouts
	// during calls a function with the operation's context without its timeout.
	during func(func(context.Context))

	rendering rendering
	rel       *release.Release
	rollout   *rollout
}

func (op *installation) run(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	op.rendering = rendering{Install: op.Install}
	if err := op.rendering.prepare(chrt, vals); err != nil {
		return nil, err
	}
	if err := op.definitions(ctx); err != nil {
		return nil, err
	}
	if rel, err := op.render(); err != nil {
		return rel, err
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
	if err := op.perform(ctx); err != nil {
		if !op.ordered() && ctx.Err() != nil {
			err = context.Cause(ctx) // as in Helm, whatever it cut off
		}
		return op.fail(ctx, err)
	}
	return op.rel, nil
}

// definitions installs the charts' crds/ folders, which rendering may depend
// on; what an order does wrong is found before.
func (op *installation) definitions(ctx context.Context) error {
	crds := op.rendering.chart.CRDObjects()
	switch {
	case op.ClientOnly:
		op.playCluster()
		op.cluster = cluster.New(op.cfg.KubeClient, nil, op.cfg.Log)
		return nil
	case len(op.APIVersions) > 0:
		op.cfg.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	if op.SkipCRDs || len(crds) == 0 {
		return nil
	}
	if op.dryRun() {
		op.cfg.Log("WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.")
		return nil
	}
	if op.ordered() {
		if err := op.rehearse(ctx); err != nil {
			return err
		}
	}
	return installCRDs(ctx, op.cfg, op.cluster, crds)
}

// rehearse goes through all checks while nothing was changed, as far as they
// do not need the definitions that are about to be installed.
func (op *installation) rehearse(ctx context.Context) error {
	trial := rendering{Install: op.Install, chart: op.rendering.chart, vals: op.rendering.vals, root: op.rendering.root}
	_, err := trial.render()
	var order *orderError
	var value *annotation.ValueError
	if errors.As(err, &order) || errors.As(err, &value) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // a chart may only render once its definitions are there
	}
	r := op.newRollout(trial.plan)
	if err := errors.Join(r.checkTimeouts(), r.checkNeeds(ctx)); err != nil {
		return err
	}
	if r.build("") != nil {
		return nil // of kinds that are about to be defined
	}
	if err := r.findExisting(ctx, r.all); err != nil {
		return fmt.Errorf("Unable to continue with install: %w", err) //nolint:staticcheck // Helm's words
	}
	return r.checkPermissions(ctx)
}

// render makes the release. On an error it returns what there is of it, so
// that the caller can show what could not be parsed.
func (op *installation) render() (*release.Release, error) {
	op.Wait = op.Wait || op.Atomic
	op.rel = op.newRelease()
	if driver.ContainsSystemLabels(op.Labels) {
		return nil, fmt.Errorf("user supplied labels contains system reserved label name. System labels: %+v", driver.GetSystemLabels())
	}
	result, err := op.rendering.render()
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
	if op.rel.Chart, err = record.Attach(op.rendering.chart, op.rendering.recordOf()); err != nil {
		return nil, err
	}
	op.rel.SetStatus(release.StatusPendingInstall, "Initial install underway")
	return op.rel, nil
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
	now := op.cfg.Now()
	return &release.Release{
		Name: op.ReleaseName, Namespace: op.Namespace, Chart: op.rendering.chart, Config: op.rendering.vals,
		Info:    &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusUnknown},
		Version: 1, Labels: op.Labels,
	}
}

// build reads the manifest into objects and checks all that can be checked
// before anything is changed.
func (op *installation) build(ctx context.Context) error {
	plan := op.rendering.plan
	if op.rendering.warning != "" {
		op.events.warn(op.rendering.warning)
	}
	if plan != nil && (op.ordered() || op.dryRun()) {
		for _, w := range plan.Warnings {
			op.events.warn(w)
		}
	}
	if op.ordered() {
		op.rollout = op.newRollout(plan)
	} else {
		op.rollout = op.newRollout(sequencer.Whole(op.rel.Chart.Name()))
	}
	if err := op.rollout.build(op.rel.Manifest); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)
	}
	op.events.masker = diagnosis.NewMasker(secretTexts(op.contents()))
	op.rollout.explain = op.prepare(op.events.masker, op.rollout.later)
	if upgradePlayed := op.IsUpgrade && op.dryRun(); !op.ClientOnly && !upgradePlayed {
		if err := op.rollout.findExisting(ctx, op.rollout.all); err != nil {
			return fmt.Errorf("Unable to continue with install: %w", err) //nolint:staticcheck // Helm's words
		}
	}
	return op.checkPlan(ctx, plan)
}

func (op *installation) newRollout(plan *sequencer.Plan) *rollout {
	return &rollout{
		cfg: op.cfg, cluster: op.cluster, events: op.events, limits: op.limits, plan: plan,
		name: op.ReleaseName, namespace: op.Namespace, validate: !op.DisableOpenAPIValidation,
		force: op.Force, takeOwnership: op.TakeOwnership, jobs: op.WaitForJobs,
		resting: newResting(), peeking: make(chan struct{}, mostPeeks),
	}
}

// checkPlan asks the cluster what the plan alone cannot tell.
func (op *installation) checkPlan(ctx context.Context, plan *sequencer.Plan) error {
	switch {
	case plan == nil || !op.ordered() && !op.dryRun():
		return nil
	case !op.ordered() || op.dryRun():
		for _, n := range plan.Unmet {
			op.events.warn(unmetWarning(n))
		}
		return nil
	}
	if err := op.rollout.checkTimeouts(); err != nil {
		return err
	}
	if err := op.rollout.checkNeeds(ctx); err != nil {
		return err
	}
	return op.rollout.checkPermissions(ctx)
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
	if op.Replace {
		if err := op.replace(); err != nil {
			return nil, err
		}
	}
	return op.rel, op.cfg.Releases.Create(op.rel)
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

// replace makes the release the successor of the one that had its name.
func (op *installation) replace() error {
	last := lastRevision(op.cfg, op.ReleaseName)
	if last == nil {
		return nil
	}
	op.rel.Version = last.Version + 1
	if last.Info.Status == release.StatusFailed {
		return nil
	}
	last.SetStatus(release.StatusSuperseded, "superseded by new release")
	return op.cfg.Releases.Update(last)
}

// perform deploys the release: hooks, nodes, hooks.
func (op *installation) perform(ctx context.Context) error {
	defer op.rollout.close()
	if op.ordered() {
		op.events.emit(Event{Type: EventPlanned, Message: "deploying " + extent(op.rollout.plan)})
	}
	hooks := &hookRun{cfg: op.cfg, cluster: op.cluster, events: op.events, rel: op.rel, timeout: op.Timeout}
	if err := op.hooks(ctx, hooks, release.HookPreInstall); err != nil {
		return err
	}
	if err := op.rollout.deploy(ctx); err != nil {
		return err
	}
	if op.ordered() {
		if err := op.rollout.awaitRest(ctx); err != nil {
			return err
		}
	} else if op.Wait {
		if err := op.rollout.awaitAsHelm(ctx, op.Timeout); err != nil {
			return err
		}
	}
	if err := op.hooks(ctx, hooks, release.HookPostInstall); err != nil {
		return err
	}
	description := op.Description
	if description == "" {
		description = "Install complete"
	}
	op.rel.SetStatus(release.StatusDeployed, description)
	if err := op.cfg.Releases.Update(op.rel); err != nil {
		op.cfg.Log("failed to record the release: %s", err)
	}
	return nil
}

func (op *installation) hooks(ctx context.Context, hooks *hookRun, event release.HookEvent) error {
	if op.DisableHooks {
		return context.Cause(ctx)
	}
	if err := hooks.run(ctx, event); err != nil {
		return fmt.Errorf("failed %s: %w", event, err)
	}
	return context.Cause(ctx)
}

// inShort gives a failure in the words that the release keeps: one line, not
// too long, unless it is one of Helm's own.
func inShort(failure error) string {
	var deploy *DeployError
	if !errors.As(failure, &deploy) {
		return failure.Error()
	}
	const most = 1000
	text := deploy.Summary()
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// fail records the failure, or removes the release again if it is atomic.
func (op *installation) fail(ctx context.Context, failure error) (*release.Release, error) {
	op.rel.SetStatus(release.StatusFailed, fmt.Sprintf("Release %q failed: %s", op.ReleaseName, inShort(failure)))
	if err := op.cfg.Releases.Update(op.rel); err != nil {
		op.cfg.Log("failed to record the failure of the release: %s", err)
	}
	if !op.Atomic {
		return op.rel, failure
	}
	op.cfg.Log("Install failed and atomic is set, uninstalling release")
	if op.ordered() {
		op.events.warn(fmt.Sprintf("release %s failed and is removed again because of --atomic: %s", op.ReleaseName, inShort(failure)))
	}
	u := NewUninstall(op.cfg)
	u.DisableHooks, u.Timeout, u.OnEvent = op.DisableHooks, op.Timeout, op.OnEvent
	if _, err := u.RunWithContext(context.WithoutCancel(ctx), op.ReleaseName); err != nil {
		return op.rel, fmt.Errorf("an error occurred while uninstalling the release. original install error: %w: %w", failure, err)
	}
	return op.rel, fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set: %w", op.ReleaseName, failure)
}
