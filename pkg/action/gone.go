// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/sequencer"
)

const backgroundDeletion = metav1.DeletePropagationBackground

// removeGone deletes in reverse order what revisions before had and the new one
// does not. It comes when everything of the new one is ready.
func (d *deployment) removeGone(ctx context.Context) error {
	if d.prior == nil {
		return nil
	}
	r := d.removalOfGone()
	if len(r.graph.Groups) > 0 {
		d.events.emit(Event{Type: EventRemoving, Message: "deleting what the release no longer has: " + r.extent(), Nodes: removedNodes(r.graph)})
	}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("delete what the release no longer has: %w", err)
	}
	return nil
}

// removeGoneWithin is removeGone for an operation that has no limit of its own.
func (d *deployment) removeGoneWithin(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
		defer cancel()
	}
	return d.removeGone(ctx)
}

// removalOfGone plans that. What a policy keeps stays, whether the manifest says
// so or the object itself, and so does what another release has taken over.
func (d *deployment) removalOfGone() *removal {
	remaining := keyed(d.rollout.everything())
	policies := d.prior.policies()
	r := d.newRemoval(d.prior.plans, d.prior.infoOf, func(res *sequencer.PlannedResource) bool {
		id := d.prior.of[res]
		return remaining[id] == nil && !d.spared[id]
	})
	r.spare = func(live *unstructured.Unstructured) string { return d.prior.whySpare(live, policies, false) }
	return r
}

// ofAnother says whose an object is if another release has taken it over.
func ofAnother(live *unstructured.Unstructured, name, namespace string) string {
	annotations := live.GetAnnotations()
	otherName, otherNamespace := annotations[releaseNameAnnotation], annotations[releaseNamespaceAnnotation]
	if otherName == "" || otherName == name && otherNamespace == namespace {
		return ""
	}
	return fmt.Sprintf("it belongs to release %s in namespace %s by now", otherName, otherNamespace)
}

// removeGoneAtOnce deletes, as Helm does, what the new revision does not have. Of
// what the base has, only the policy that the object itself bears keeps it.
func (d *deployment) removeGoneAtOnce(ctx context.Context) error {
	if d.prior == nil || !d.cluster.Direct() {
		return nil // other clients have deleted it with the update
	}
	list, kept := d.goneAtOnce(ctx)
	for _, k := range kept {
		if k.quiet {
			d.cfg.Log("Skipping delete of %q due to annotation [%s=%s]", k.info.Name, kube.ResourcePolicyAnno, kube.KeepPolicy)
		} else {
			d.events.warn(k.warning())
		}
	}
	_, errs := d.cluster.Delete(ctx, list, backgroundDeletion)
	for _, err := range errs {
		d.events.warn(fmt.Sprintf("what the release no longer has could not be deleted, and is not part of it any more: %v", err))
	}
	return context.Cause(ctx)
}

// sparedObject is an object that the release no longer has and that is left alone.
type sparedObject struct {
	info *kubeInfo
	why  string
	// quiet is whether Helm says nothing of it.
	quiet bool
}

func (s sparedObject) warning() string {
	return fmt.Sprintf("%s is not deleted: %s", describe(s.info), s.why)
}

// goneAtOnce lists what removeGoneAtOnce deletes, and what it spares.
func (d *deployment) goneAtOnce(ctx context.Context) (list kube.ResourceList, kept []sparedObject) {
	gone := d.prior.without(d.rollout.all)
	live := d.look(ctx, gone)
	policies := d.prior.policies()
	for _, info := range gone {
		id, object := idOf(info), live[info]
		switch {
		case object == nil, d.spared[id]:
		case object.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy:
			kept = append(kept, sparedObject{info: info, why: "its resource policy keeps it; it no longer belongs to the release", quiet: true})
		case d.prior.ofBase[id]:
			list = append(list, info)
		default:
			if why := d.prior.whySpare(object, policies, false); why != "" {
				kept = append(kept, sparedObject{info: info, why: why})
			} else {
				list = append(list, info)
			}
		}
	}
	return list, kept
}

// look reads objects. What cannot be read is named, and left out.
func (d *deployment) look(ctx context.Context, list kube.ResourceList) map[*kubeInfo]*unstructured.Unstructured {
	live, err := d.cluster.Live(ctx, list)
	if err == nil || ctx.Err() != nil {
		return live
	}
	all := map[*kubeInfo]*unstructured.Unstructured{}
	for _, info := range list {
		live, err := d.cluster.Live(ctx, kube.ResourceList{info})
		if err != nil {
			d.events.warn(fmt.Sprintf("what the release no longer has could not be deleted, and is not part of it any more: %v", err))
			continue
		}
		maps.Copy(all, live)
	}
	return all
}
