// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ordered-helm/helm/internal/object"
)

// writer makes changes on the server.
type writer struct {
	client          dynamic.Interface
	log             func(string, ...any)
	manager         string // the name under which the server notes who set a field
	force, threeWay bool
	// dryRun are the stages that the server leaves out; nil for none.
	dryRun []string
	admit  func(*resource.Info, *unstructured.Unstructured) error
}

// write creates or changes one object.
func (w *writer) write(ctx context.Context, ch *change) {
	if ch.earlier != nil && ch.earlier.done() {
		ch.live, ch.assumed = ch.earlier.live, false
	}
	if ch.live == nil && !w.create(ctx, ch) {
		return
	}
	var err error
	if err = w.mayChange(ch); err != nil {
		ch.outcome, ch.err = createFailed, err
		return
	}
	if w.force {
		err = w.replace(ctx, ch)
	} else {
		err = w.patch(ctx, ch)
	}
	switch {
	case apierrors.IsNotFound(err): // somebody deleted it meanwhile
		ch.assumed = false
		w.create(ctx, ch)
	case err != nil:
		ch.outcome, ch.err = changeFailed, err
		w.log("error updating %s: %v", object.Describe(ch.info), err)
	}
}

// mayChange asks whether an object that was found may be changed; one that this
// operation has written may.
func (w *writer) mayChange(ch *change) error {
	if w.admit == nil || ch.earlier != nil && ch.earlier.done() {
		return nil
	}
	return w.admit(ch.info, ch.live)
}

// create creates the object. It reports whether the object is there already and
// is to be changed instead: only if it was taken to be absent without a look.
func (w *writer) create(ctx context.Context, ch *change) (exists bool) {
	taken, err := w.post(ctx, ch)
	if apierrors.IsAlreadyExists(err) && ch.assumed {
		if ch.live, err = get(ctx, w.client, ch.info); err == nil {
			return true
		}
		ch.outcome, ch.err = createFailed, unreadable(ch.info, err).Err
		return false
	}
	if err != nil {
		ch.outcome, ch.err, ch.unanswered = createFailed, fmt.Errorf("failed to create resource: %w", err), !refused(err)
		return false
	}
	w.log("created %s", object.Describe(ch.info))
	ch.take(created, taken)
	return false
}

func (w *writer) post(ctx context.Context, ch *change) (taken *unstructured.Unstructured, err error) {
	target, err := asUnstructured(ch.info.Object)
	if err != nil {
		return nil, err
	}
	if target.GetResourceVersion() != "" {
		target = target.DeepCopy()
		target.SetResourceVersion("")
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		taken, err = objectsOf(w.client, ch.info).Create(ctx, target, metav1.CreateOptions{FieldManager: w.manager, DryRun: w.dryRun})
		return err
	})
	return taken, err
}

// replace puts the declaration in the place of the live object.
func (w *writer) replace(ctx context.Context, ch *change) error {
	declared, err := asUnstructured(ch.info.Object)
	if err != nil {
		return err
	}
	target, objects := declared.DeepCopy(), objectsOf(w.client, ch.info)
	var taken *unstructured.Unstructured
	live := ch.live
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if live == nil {
			if live, err = objects.Get(ctx, ch.info.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		target.SetResourceVersion(live.GetResourceVersion())
		taken, err = objects.Update(ctx, target, metav1.UpdateOptions{FieldManager: w.manager, DryRun: w.dryRun})
		live = nil // after a conflict it is read anew
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to replace object: %w", err)
	}
	w.log("replaced %s", object.Describe(ch.info))
	ch.take(updated, taken)
	return nil
}

// patch sends what differs, if anything does.
func (w *writer) patch(ctx context.Context, ch *change) error {
	if ch.base == nil {
		w.log("%s was not declared before: what is live is the base of the merge", object.Describe(ch.info))
		ch.base = ch.live
	}
	p, err := computePatch(ch.info, ch.base, ch.live, w.threeWay)
	if err != nil {
		return fmt.Errorf("failed to create patch: %w", err)
	}
	if p.empty() {
		w.log("%s is as declared", object.Describe(ch.info))
		ch.take(unchanged, ch.live)
		return nil
	}
	var taken *unstructured.Unstructured
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		taken, err = objectsOf(w.client, ch.info).
			Patch(ctx, ch.info.Name, p.kind, p.data, metav1.PatchOptions{FieldManager: w.manager, DryRun: w.dryRun})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot patch %q with kind %s: %w", ch.info.Name, ch.info.Mapping.GroupVersionKind.Kind, err)
	}
	if ch.hasStayed(taken) {
		w.log("%s is as declared", object.Describe(ch.info)) // the patch says what the server does not store
		ch.take(unchanged, taken)
		return nil
	}
	w.log("patched %s", object.Describe(ch.info))
	ch.take(updated, taken)
	return nil
}

// hasStayed tells whether a patch has left the object as it was. What its controller
// has made of its status meanwhile does not count, unless a status is declared.
func (ch *change) hasStayed(taken *unstructured.Unstructured) bool {
	declared, err := asUnstructured(ch.info.Object)
	countsStatus := err == nil && declared.Object["status"] != nil
	lasting := func(u *unstructured.Unstructured) map[string]any {
		content, metadata := maps.Clone(u.Object), maps.Clone(metadataOf(u))
		if !countsStatus {
			delete(content, "status")
		}
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		return content
	}
	return equality.Semantic.DeepEqual(lasting(ch.live), lasting(taken))
}

func metadataOf(u *unstructured.Unstructured) map[string]any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	return metadata
}

// take notes what the server has now.
func (ch *change) take(what outcome, live *unstructured.Unstructured) {
	if ch.before == nil && what != created {
		ch.before = ch.live
	}
	ch.outcome, ch.live = what, live
	_ = ch.info.Refresh(live, true) // which cannot fail: errors are ignored
}

func (ch *change) done() bool {
	return ch.outcome == created || ch.outcome == updated || ch.outcome == unchanged
}

// fieldManager is Helm's name for itself, or that of the program it is part of.
func fieldManager() string {
	switch {
	case kube.ManagedFieldsManager != "":
		return kube.ManagedFieldsManager
	case len(os.Args) == 0 || os.Args[0] == "":
		return "unknown"
	}
	return filepath.Base(os.Args[0])
}
