// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/redact"
)

// contents are the objects of a release, what was there before and its hooks
// too, for what they hold.
func (d *deployment) contents() []map[string]any {
	objects := contentsOf(d.rollout.all)
	if d.prior != nil {
		objects = append(objects, d.prior.declared...)
		for _, rel := range d.prior.revisions {
			objects = append(objects, contentsOfHooks(rel)...)
		}
	}
	return append(objects, contentsOfHooks(d.release())...)
}

func contentsOf(list kube.ResourceList) []map[string]any {
	var objects []map[string]any
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			objects = append(objects, object.Object)
		}
	}
	return objects
}

func contentsOfHooks(rel *release.Release) []map[string]any {
	var objects []map[string]any
	for _, hook := range rel.Hooks {
		objects = append(objects, redact.ManifestObjects(hook.Manifest)...)
	}
	return objects
}

// prepareToConceal prepares for failures to be told without what is secret in the
// release, in any of the revisions that may have left something.
func (op *uninstallation) prepareToConceal() {
	var objects []map[string]any
	for _, rel := range newPrior(op.history, op.rel).revisions {
		objects = append(objects, redact.ManifestObjects(rel.Manifest)...)
		objects = append(objects, contentsOfHooks(rel)...)
	}
	op.events.hide(objects)
}
