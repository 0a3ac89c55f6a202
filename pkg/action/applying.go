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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// apply creates the objects, or changes those that are there. It says what it did
// where that is not plain.
func (r *rollout) apply(ctx context.Context, list kube.ResourceList) (what string, err error) {
	if r.prior == nil && !r.anyPresent(list) {
		return "", r.create(ctx, list)
	}
	originals := r.originals(list)
	if r.prior != nil && !r.cluster.Direct() && r.whole() { // such a client deletes, too, what is gone
		originals = append(originals, r.prior.without(list)...)
		done, err := r.cluster.Update(ctx, originals, list, cluster.UpdateOptions{Force: r.force, ThreeWay: r.mergeCustom})
		r.note(done)
		return "", err
	}
	done, err := r.cluster.Apply(ctx, list, cluster.ApplyOptions{
		Originals: originals, Force: r.force, ThreeWay: r.mergeCustom, Absent: r.isAbsent, Admit: r.admit, Live: r.look,
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

// anyPresent reports whether any of the objects was there although no revision had
// it.
func (r *rollout) anyPresent(list kube.ResourceList) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(list, func(info *kubeInfo) bool { return r.present[info] })
}

// originals are the objects as they were declared before, the base of a merge.
// What is adopted is its own base: what others have set there stays. In order that
// may be found out late.
func (r *rollout) originals(list kube.ResourceList) kube.ResourceList {
	r.mu.Lock()
	defer r.mu.Unlock()
	var originals kube.ResourceList
	for _, info := range list {
		if original := r.declared(info); original != nil {
			originals = append(originals, original)
		} else if r.present[info] || r.ordered && r.cluster.Direct() {
			originals = append(originals, info)
		}
	}
	return originals
}

// declared is an object as earlier revisions declared it; nil if none has.
func (r *rollout) declared(info *kubeInfo) *kubeInfo {
	if r.prior == nil {
		return nil
	}
	return r.prior.byID[idOf(info)]
}

// admit refuses to change what somebody else has made since it was looked what is
// there: while nodes are waited for, that may be long ago. Where objects of others
// are taken over, so is this one. Without an order it is as in Helm.
func (r *rollout) admit(info *kubeInfo, live *unstructured.Unstructured) error {
	if !r.ordered || r.prior != nil && r.prior.established[idOf(info)] {
		return nil
	}
	err := checkOwner(live, r.name, r.namespace)
	if err == nil {
		return nil
	}
	if !r.takeOwnership {
		return fmt.Errorf("%s exists and cannot be imported into the current release: %w", describe(info), err)
	}
	if r.declared(info) == nil {
		r.notePresent(info)
	}
	return nil
}

// isAbsent reports whether an object was not there when that was looked at; where
// nobody looked, that is known of none.
func (r *rollout) isAbsent(info *kubeInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present != nil && !r.present[info] && r.declared(info) == nil
}

// noteUnanswered notes as created what was not there and was sent without an
// answer of the server: it may be there now.
func (r *rollout) noteUnanswered(err error) {
	var failed *cluster.ApplyError
	if !errors.As(err, &failed) {
		return
	}
	for _, f := range failed.Failures {
		if f.Unanswered && r.isAbsent(f.Info) {
			r.note(&cluster.Applied{Created: kube.ResourceList{f.Info}})
		}
	}
}

// note notes what became of objects.
func (r *rollout) note(done *cluster.Applied) {
	if done == nil {
		return
	}
	if len(done.Created)+len(done.Updated) > 0 {
		r.wrote.Store(true)
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
// ones are made. As in Helm, a failure to do so does not fail the operation. In
// order these are the pods of the node's own workloads, and it waits until they are
// gone; without, a Service counts as well, and nothing is waited for here.
func (r *rollout) recreatePods(ctx context.Context, lists ...kube.ResourceList) error {
	list := slices.Concat(lists...)
	if r.ordered {
		list = slices.DeleteFunc(list, isService)
	}
	r.wrote.Store(true)
	pods, err := r.cluster.RecreatePods(ctx, list)
	if err != nil {
		r.cfg.Log(err.Error())
	}
	r.noteRestarted(list)
	if len(pods) == 0 || !r.ordered {
		return context.Cause(ctx)
	}
	tracker, err := r.track(ctx)
	if err != nil {
		return err
	}
	targets := make([]watcher.Target, len(pods))
	for i, pod := range pods {
		targets[i] = watcher.Target{
			GVR: cluster.PodResource(), GVK: cluster.PodKind(), Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		}
	}
	_, err = tracker.WaitDeleted(ctx, targets, nil)
	return err
}

// isService tells what selects pods that it does not own.
func isService(info *kubeInfo) bool {
	return info.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Kind: "Service"}
}

// noteRestarted notes objects whose pods were deleted.
func (r *rollout) noteRestarted(list kube.ResourceList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.restarted == nil {
		r.restarted = map[*kubeInfo]bool{}
	}
	for _, info := range list {
		r.restarted[info] = true
	}
}

// judge is how an object is judged: if its pods were deleted, its status does not
// count before it is about the new ones.
func (r *rollout) judge(info *kubeInfo, evaluate readiness.Evaluator) readiness.Evaluator {
	if !r.recreate {
		return evaluate
	}
	return func(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
		verdict := evaluate(ctx, obj)
		r.mu.Lock()
		restarted := r.restarted[info]
		r.mu.Unlock()
		if !restarted {
			return verdict
		}
		return r.cluster.ConfirmReady(ctx, info, obj, verdict)
	}
}
