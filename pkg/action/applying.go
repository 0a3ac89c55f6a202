// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
)

// apply creates the objects, or changes those that are there. It says what it did
// where that is not plain.
func (r *rollout) apply(ctx context.Context, list kube.ResourceList) (what string, err error) {
	originals := r.originals(list)
	if r.prior == nil && len(originals) == 0 {
		return "", r.create(ctx, list)
	}
	if r.prior != nil && !r.cluster.Direct() && r.whole() { // such a client deletes, too, what is gone
		originals = append(originals, r.prior.without(list)...)
		done, err := r.cluster.Update(ctx, originals, list, cluster.UpdateOptions{Force: r.force, ThreeWay: r.mergeCustom})
		r.note(done)
		return "", err
	}
	done, err := r.cluster.Apply(ctx, list, cluster.ApplyOptions{
		Originals: originals, Force: r.force, ThreeWay: r.mergeCustom, Absent: r.isAbsent,
	})
	r.note(done)
	if err != nil {
		r.noteUnanswered(err)
		return "", err
	}
	if r.recreate {
		err = r.recreatePods(ctx, done.Updated, done.Unchanged)
	}
	return wasDone(done), err
}

// wasDone says how many objects were written, as in "1 created, 2 changed".
func wasDone(done *cluster.Applied) string {
	var parts []string
	for _, part := range []struct {
		list kube.ResourceList
		what string
	}{{done.Created, "created"}, {done.Updated, "changed"}, {done.Unchanged, "unchanged"}} {
		if len(part.list) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(part.list), part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// create creates objects that are not there.
func (r *rollout) create(ctx context.Context, list kube.ResourceList) error {
	err := r.cluster.Create(ctx, list)
	if err == nil || r.whole() {
		return err
	}
	refused := &refusedError{err: err}
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok && object.GetUID() == "" {
			refused.resources = append(refused.resources, object.GetKind()+"/"+object.GetName())
		}
	}
	return refused
}

// refusedError names what the server did not accept: its own words often do not.
type refusedError struct {
	resources []string
	err       error
}

func (e *refusedError) Error() string { return e.err.Error() }

func (e *refusedError) Unwrap() error { return e.err }

// originals are the objects as they were declared before, the base of a merge.
// What is adopted is its own base: what others have set there stays.
func (r *rollout) originals(list kube.ResourceList) kube.ResourceList {
	r.mu.Lock()
	defer r.mu.Unlock()
	var originals kube.ResourceList
	for _, info := range list {
		if r.present[info] {
			originals = append(originals, info)
		} else if r.prior != nil {
			if original := r.prior.byID[idOf(info)]; original != nil {
				originals = append(originals, original)
			}
		}
	}
	return originals
}

// isAbsent reports whether an object was not there when that was looked at; where
// nobody looked, that is known of none.
func (r *rollout) isAbsent(info *kubeInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present != nil && !r.present[info] && (r.prior == nil || r.prior.byID[idOf(info)] == nil)
}

// noteUnanswered notes as created what was not there and was sent without an
// answer of the server: it may be there now.
func (r *rollout) noteUnanswered(err error) {
	var failed *cluster.ApplyError
	if !errors.As(err, &failed) {
		return
	}
	for _, f := range failed.Failures {
		if apierrors.ReasonForError(f.Err) == metav1.StatusReasonUnknown && r.isAbsent(f.Info) {
			r.note(&cluster.Applied{Created: kube.ResourceList{f.Info}})
		}
	}
}

// note notes what became of objects.
func (r *rollout) note(done *cluster.Applied) {
	if done == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created = append(r.created, done.Created...)
	if r.unchanged == nil {
		r.unchanged = map[*kubeInfo]bool{}
	}
	for _, info := range done.Unchanged {
		r.unchanged[info] = true
	}
}

// isUnchanged reports whether the operation found an object as it should be.
func (r *rollout) isUnchanged(info *kubeInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unchanged[info]
}

// createdList lists what this operation created.
func (r *rollout) createdList() kube.ResourceList {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.created)
}

// recreatePods deletes the pods of workloads that were there before, so that new
// ones are made. As in Helm, a failure to do so does not fail the operation.
// Where readiness counts it waits until the old pods are gone: what their
// controller says before is about these.
func (r *rollout) recreatePods(ctx context.Context, lists ...kube.ResourceList) error {
	var list kube.ResourceList
	for _, l := range lists {
		list = append(list, l...)
	}
	pods, err := r.cluster.RecreatePods(ctx, list)
	if err != nil {
		r.cfg.Log(err.Error())
	}
	if len(pods) == 0 || !r.cluster.Real() || !r.ordered && !r.wait {
		return context.Cause(ctx)
	}
	tracker, err := r.track(ctx)
	if err != nil {
		return err
	}
	targets := make([]readiness.Target, len(pods))
	for i, pod := range pods {
		targets[i] = readiness.Target{
			GVR: cluster.PodResource(), GVK: cluster.PodKind(), Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		}
	}
	_, err = tracker.WaitGone(ctx, targets, nil)
	return err
}
