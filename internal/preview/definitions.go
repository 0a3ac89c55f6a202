// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// AddCRDs adds what an operation with the given policy would do with the CRDs in the crds/
// directories of the chart of rel to Preview.First.
func (b *Builder) AddCRDs(ctx context.Context, rel *release.Release, policy crds.Policy) error {
	files := rel.Chart.CRDObjects()
	switch policy {
	case crds.Apply:
		return b.applyCRDs(ctx, rel, files)
	case crds.Create:
		for _, file := range files {
			if err := b.addCRDManifest(ctx, file.File.Data); err != nil {
				return fmt.Errorf("failed to install CRD %s: %w", file.Name, err)
			}
		}
	case crds.Skip:
	}
	return nil
}

// applyCRDs adds what applying the CRDs in files would do.
func (b *Builder) applyCRDs(ctx context.Context, rel *release.Release, files []chart.CRD) error {
	installer := deploy.NewCRDInstaller(b.op, object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace})
	results, others, err := installer.DryRun(ctx, files)
	if err != nil {
		return err
	}
	for _, r := range results {
		o, err := b.result(r, false)
		if err != nil {
			return err
		}
		b.preview.First = append(b.preview.First, o)
		for _, gvk := range object.DefinedKinds(kube.ResourceList{r.Info}) {
			switch o.Action {
			case Create:
				b.pending[gvk.GroupKind()] = true
			case Change:
				b.changedKinds[gvk] = true
			}
		}
	}
	return b.addFirst(ctx, others)
}

// addCRDManifest adds those CRDs in manifest that do not exist in the cluster to
// Preview.First, and the kinds that they define to b.pending.
func (b *Builder) addCRDManifest(ctx context.Context, manifest []byte) error {
	list, err := b.op.Cluster.Build(manifest, false)
	if err != nil {
		return err
	}
	for _, gvk := range object.DefinedKinds(list) {
		b.pending[gvk.GroupKind()] = true
	}
	return b.addFirst(ctx, list)
}

// AddCRDHooks adds the CRDs that are crd-install hooks, and do not exist in the cluster, to
// Preview.First.
func (b *Builder) AddCRDHooks(ctx context.Context, hooks []*release.Hook) error {
	for _, h := range hookorder.ForEvent(hooks, hookorder.EventCRDInstall) {
		if err := b.addCRDManifest(ctx, []byte(h.Manifest)); err != nil {
			return fmt.Errorf("failed %s: hook %s (%s): %w", hookorder.EventCRDInstall, hookorder.Title(h), h.Path, err)
		}
	}
	return nil
}

// PendingKinds returns the kinds that the cluster does not know yet, because CRDs of the
// release define them. If ordered is false, it also removes the objects of these kinds from
// the manifest of rel, because no Kubernetes client can be built for them yet; Build adds
// them to the preview.
func (b *Builder) PendingKinds(rel *release.Release, ordered bool) (map[schema.GroupKind]bool, error) {
	for kind := range b.pending {
		mapping, err := b.op.Cluster.Mapping(kind.Group+"/", kind.Kind)
		if err != nil {
			return nil, err
		}
		if mapping != nil {
			delete(b.pending, kind)
		}
	}
	for gvk := range b.changedKinds {
		unknown, err := b.op.Cluster.IsUnknownKind(gvk.GroupVersion().String(), gvk.Kind)
		if err != nil {
			return nil, err
		}
		if unknown { // the changed CRD adds a version
			b.pending[gvk.GroupKind()] = true
		}
	}
	if ordered || len(b.pending) == 0 {
		return b.pending, nil
	}
	var rest strings.Builder
	for _, document := range render.Split(rel.Manifest) {
		content, err := yamledit.ParseObject(document)
		u := &unstructured.Unstructured{Object: content}
		isPending := err == nil && b.pending[u.GroupVersionKind().GroupKind()]
		if isPending {
			if isPending, err = b.op.Cluster.IsUnknownKind(u.GetAPIVersion(), u.GetKind()); err != nil {
				return nil, err
			}
		}
		if !isPending {
			rest.WriteString("---\n" + document + "\n")
			continue
		}
		b.notBuilt = append(b.notBuilt, Object{
			Action: Create, APIVersion: u.GetAPIVersion(), Kind: u.GetKind(),
			Namespace: u.GetNamespace(), Name: u.GetName(), Note: noteNewKind,
		})
	}
	rel.Manifest = rest.String()
	return b.pending, nil
}

// withChangedKind returns o, the Object for the result of a dry run, for an object whose CRD would
// be changed first: the server may then accept what it rejects now, and store what it drops now.
func withChangedKind(o Object, t objectwriter.DryRunResult) Object {
	if o.Action == Fail && !apierrors.IsInvalid(t.Err) && !apierrors.IsBadRequest(t.Err) {
		return o
	}
	if o.Action == Fail {
		o.Action, o.Error = Change, ""
		if t.Before == nil {
			o.Action = Create
		}
	}
	o.Note = noteChangedKind
	return o
}

// isLate reports whether info, an object of an earlier revision, is declared by the new revision,
// but in a version that the cluster does not serve yet. It is then planned as a change.
func (b *Builder) isLate(info *object.Info) (late bool) {
	id := object.IDOf(info)
	b.preview.each(func(o *Object) {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if o.Note != noteNewKind || group != id.Group || o.Kind != id.Kind || o.Name != id.Name || o.Namespace != id.Namespace && o.Namespace != "" {
			return
		}
		o.Action, late = Change, true
	})
	return late
}
