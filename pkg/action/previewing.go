// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// Preview says what RunWithContext would do, without doing anything: no object is
// written, no hook is run and no revision is recorded. What would fail before
// anything is changed is an error; what the server would refuse is in the preview.
// The options of a dry run are ignored.
func (u *Upgrade) Preview(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	trial := *u
	trial.previews = true
	limits, err := trial.validate(name, chrt)
	if err != nil {
		return nil, err
	}
	base, ctx, end := startOperation(ctx, u.cfg, u.OnEvent, limits, trial.ordered())
	defer end()
	op := &upgrading{Upgrade: &trial, operation: base, name: name}
	p, err := op.preview(ctx, chrt, vals)
	return p, base.result(ctx, err)
}

func (op *upgrading) preview(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	if err := op.load(ctx); err != nil {
		return nil, err
	}
	if err := op.render(chrt, vals); err != nil {
		return nil, err
	}
	v := &previewing{operation: op.operation, Preview: &Preview{Operation: "upgrade"}}
	kinds, err := v.newKinds(ctx, op.rel, op.ordered(), !op.SkipCRDs && !op.DisableHooks)
	if err != nil {
		return nil, err
	}
	op.foreseen = kinds
	if _, err := op.build(ctx); err != nil {
		return nil, err
	}
	return v.run(ctx, op.deployment)
}

// Preview says what RunWithContext would do, as Upgrade.Preview does.
func (i *Install) Preview(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	if i.ClientOnly || i.OutputDir != "" {
		return nil, errors.New("a preview asks a cluster and writes no files: ClientOnly and OutputDir cannot be had with it")
	}
	trial := *i
	trial.previews = true
	limits, err := trial.validate()
	if err != nil {
		return nil, err
	}
	earlier, err := trial.claimName()
	if err != nil {
		return nil, err
	}
	base, ctx, end := startOperation(ctx, i.cfg, i.OnEvent, limits, trial.ordered())
	defer end()
	op := &installation{Install: &trial, operation: base, earlier: earlier}
	p, err := op.preview(ctx, chrt, vals)
	return p, base.result(ctx, err)
}

func (op *installation) preview(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	op.rendering = rendering{cfg: op.Install.cfg, renderOptions: op.renderOptions()}
	if err := op.rendering.prepare(chrt, vals); err != nil {
		return nil, err
	}
	v := &previewing{operation: op.operation, Preview: &Preview{Operation: "install"}}
	if op.CreateNamespace {
		if err := v.namespace(ctx, op.Namespace); err != nil {
			return nil, err
		}
	}
	if !op.SkipCRDs {
		for _, crd := range op.rendering.chart.CRDObjects() {
			if err := v.definition(ctx, crd.File.Data); err != nil {
				return nil, fmt.Errorf("failed to install CRD %s: %w", crd.Name, err)
			}
		}
	}
	if _, err := op.render(); err != nil {
		return nil, err
	}
	kinds, err := v.newKinds(ctx, op.rel, op.ordered(), !op.SkipCRDs && !op.DisableHooks)
	if err != nil {
		return nil, err
	}
	op.foreseen = kinds
	if err := op.build(ctx); err != nil {
		return nil, err
	}
	return v.run(ctx, op.deployment)
}

// previewing is one run of a preview.
type previewing struct {
	*operation
	*Preview
	// kinds are those that the cluster does not know so far and will before
	// anything else is built; unbuilt are the objects of an unordered release that
	// are of them.
	kinds   map[schema.GroupKind]bool
	unbuilt []PreviewObject
	// namespaces are those that the release creates.
	namespaces map[string]bool
	masker     *redact.Redactor
}

// namespace notes that the release's namespace is created, if it is not there.
func (v *previewing) namespace(ctx context.Context, name string) error {
	list, err := v.cluster.Build([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"), false)
	if err != nil {
		return err
	}
	return v.first(ctx, list)
}

// first notes what is created first, of what is not there.
func (v *previewing) first(ctx context.Context, list kube.ResourceList) error {
	live, err := v.cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	for _, info := range list {
		if live[info] == nil {
			v.First = append(v.First, previewOf(info, PreviewCreate))
			v.noteNamespace(info)
		}
	}
	return nil
}

func (v *previewing) noteNamespace(info *kubeInfo) {
	if info.Mapping.GroupVersionKind.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	if v.namespaces == nil {
		v.namespaces = map[string]bool{}
	}
	v.namespaces[info.Name] = true
}

// definition notes that definitions are created, of those that are not there.
func (v *previewing) definition(ctx context.Context, manifest []byte) error {
	list, err := v.cluster.Build(manifest, false)
	if err != nil {
		return err
	}
	for _, gvk := range cluster.DefinedKinds(list) {
		if v.kinds == nil {
			v.kinds = map[schema.GroupKind]bool{}
		}
		v.kinds[gvk.GroupKind()] = true
	}
	return v.first(ctx, list)
}

// newKinds are the kinds that the cluster will only know once the release's
// definitions are there: those noted so far and, if they are to run, those of hooks.
func (v *previewing) newKinds(ctx context.Context, rel *release.Release, ordered, withHooks bool) (map[schema.GroupKind]bool, error) {
	if withHooks {
		if err := v.definitionHooks(ctx, rel); err != nil {
			return nil, err
		}
	}
	err := v.foresee(rel, ordered)
	return v.kinds, err
}

func (v *previewing) definitionHooks(ctx context.Context, rel *release.Release) error {
	for _, h := range hookrunner.ForEvent(rel.Hooks, hookrunner.EventCRDInstall) {
		if err := v.definition(ctx, []byte(h.Manifest)); err != nil {
			return fmt.Errorf("failed %s: hook %s (%s): %w", hookrunner.EventCRDInstall, hookrunner.Title(h), h.Path, err)
		}
	}
	return nil
}

// foresee leaves in kinds those that the cluster does not know, and takes what is
// of them out of the manifest of a release without an order.
func (v *previewing) foresee(rel *release.Release, ordered bool) error {
	for kind := range v.kinds {
		mapping, err := v.cluster.Mapping(kind.Group+"/", kind.Kind)
		if err != nil {
			return err
		}
		if mapping != nil {
			delete(v.kinds, kind)
		}
	}
	if ordered || len(v.kinds) == 0 {
		return nil
	}
	var rest strings.Builder
	for _, document := range render.Split(rel.Manifest) {
		content, err := yamledit.Object(document)
		object := &unstructured.Unstructured{Object: content}
		if err != nil || !v.kinds[object.GroupVersionKind().GroupKind()] {
			rest.WriteString("---\n" + document + "\n")
			continue
		}
		v.unbuilt = append(v.unbuilt, PreviewObject{
			Action: PreviewCreate, APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
			Namespace: object.GetNamespace(), Name: object.GetName(), Note: ofNewKind,
		})
	}
	rel.Manifest = rest.String()
	return nil
}

const (
	ofNewKind      = "its kind is defined by this release"
	inNewNamespace = "its namespace is created by this release"
)

func previewOf(info *kubeInfo, action PreviewAction) PreviewObject {
	apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return PreviewObject{Action: action, APIVersion: apiVersion, Kind: kind, Namespace: scopeOf(info), Name: info.Name}
}

// run asks the server about everything.
func (v *previewing) run(ctx context.Context, d *deployment) (*Preview, error) {
	r := d.rollout
	defer r.close()
	rel := d.release()
	v.Release, v.Namespace, v.Revision, v.Ordered = rel.Name, rel.Namespace, rel.Version, d.ordered
	for _, info := range r.all {
		if r.isAbsent(info) {
			v.noteNamespace(info)
		}
	}
	trials, err := d.cluster.TryApply(ctx, r.all, cluster.ApplyOptions{
		Originals: r.originals(r.all), Force: r.force, ThreeWay: r.mergeCustom, Absent: r.isAbsent, Admit: r.admit,
	})
	if err != nil {
		return nil, err
	}
	v.mask(d, trials)
	if err := v.nodes(r, trials); err != nil {
		return nil, err
	}
	if err := v.removed(ctx, d); err != nil {
		return nil, err
	}
	v.Hooks = []HookPlan{}
	if !d.noHooks {
		v.Hooks = slices.DeleteFunc(hookrunner.Plans(rel.Hooks, d.hookModes), func(p HookPlan) bool {
			return p.Event != d.before && p.Event != d.after
		})
	}
	if d.recreate {
		v.events.warn("the pods of its workloads would be deleted, too (--recreate-pods)")
	}
	if v.First == nil {
		v.First = []PreviewObject{}
	}
	v.conclude()
	return v.Preview, nil
}

// mask prepares for Secrets not to be told, neither as declared nor as they are.
func (v *previewing) mask(d *deployment, trials []cluster.Trial) {
	objects := d.contents()
	for _, t := range trials {
		for _, object := range []*unstructured.Unstructured{t.Before, t.After} {
			if object != nil {
				objects = append(objects, object.Object)
			}
		}
	}
	v.events.hide(objects)
	v.masker = v.events.masker
}

// nodes notes what becomes of the objects, node by node.
func (v *previewing) nodes(r *rollout, trials []cluster.Trial) error {
	of := make(map[*kubeInfo]PreviewObject, len(trials))
	for _, t := range trials {
		object, err := v.object(t)
		if err != nil {
			return err
		}
		of[t.Info] = object
	}
	v.Nodes = []PreviewNode{}
	for _, n := range r.plan.Nodes {
		node := PreviewNode{Node: n.ID(), Objects: []PreviewObject{}}
		for i, info := range r.slices[n].list {
			if info != nil {
				node.Objects = append(node.Objects, of[info])
				continue
			}
			res := n.Resources[i]
			node.Objects = append(node.Objects, PreviewObject{
				Action: PreviewCreate, APIVersion: res.APIVersion, Kind: res.ID.Kind, Namespace: res.ID.Namespace, Name: res.ID.Name, Note: ofNewKind,
			})
		}
		if r.whole() {
			node.Objects = append(node.Objects, v.unbuilt...)
		}
		v.Nodes = append(v.Nodes, node)
	}
	return nil
}

// object says what becomes of an object that was tried.
func (v *previewing) object(t cluster.Trial) (PreviewObject, error) {
	switch t.Effect {
	case cluster.EffectCreated:
		return previewOf(t.Info, PreviewCreate), nil
	case cluster.EffectNone:
		return previewOf(t.Info, PreviewUnchanged), nil
	case cluster.EffectChanged:
		o := previewOf(t.Info, PreviewChange)
		diff, err := diffOf(t.Before, withoutPlaceholders(t), v.masker)
		if err != nil {
			return o, fmt.Errorf("%s: %w", describe(t.Info), err)
		}
		if o.Diff = diff; diff == "" {
			o.Note = "it is written anew, and stays as it is"
		}
		return o, nil
	case cluster.EffectFailed:
	}
	if t.Before == nil && v.namespaces[scopeOf(t.Info)] && apierrors.IsNotFound(t.Err) {
		o := previewOf(t.Info, PreviewCreate)
		o.Note = inNewNamespace
		return o, nil
	}
	if apierrors.IsBadRequest(t.Err) && strings.Contains(t.Err.Error(), "does not support dry run") {
		o := previewOf(t.Info, PreviewChange)
		if t.Before == nil {
			o.Action = PreviewCreate
		}
		o.Note = "it could not be tried: an admission webhook takes no dry runs"
		return o, nil
	}
	o := previewOf(t.Info, PreviewFail)
	o.Error = v.events.conceal(t.Err).Error()
	return o, nil
}
