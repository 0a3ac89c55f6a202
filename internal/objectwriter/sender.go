// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/patch"
)

// sender sends the requests of one call of Create, CreateHook, Apply or DryRunApply.
type sender struct {
	client  dynamic.Interface
	get     func(context.Context, *object.Info) (*unstructured.Unstructured, error)
	log     func(string, ...any)
	options ApplyOptions
	// release is the owner of the objects; nil if they have none.
	release *object.ReleaseReference
	// fieldManager is the name under which the server records who manages a field.
	fieldManager string
	// dryRun is the option DryRun of all requests; nil unless they are dry-run requests.
	dryRun []string
}

func (w *requestWriter) newSender(o ApplyOptions) (*sender, error) {
	client, err := w.cluster.Dynamic()
	if err != nil {
		return nil, err
	}
	return &sender{client: client, get: w.cluster.Get, log: w.cluster.Log, options: o, release: w.release, fieldManager: FieldManager()}, nil
}

// resourceOf returns the client that reads and writes an object.
func resourceOf(client dynamic.Interface, info *object.Info) dynamic.ResourceInterface {
	return client.Resource(info.Mapping.Resource).Namespace(object.Namespace(info))
}

// write creates or changes the object of ch, and records the result in ch.
func (s *sender) write(ctx context.Context, ch *objectChange) {
	if ch.earlier != nil && ch.earlier.succeeded() {
		ch.live, ch.assumedAbsent = ch.earlier.live, false
	}
	if ch.live == nil && !s.createMissing(ctx, ch) {
		return
	}
	if err := s.mayChange(ch); err != nil {
		ch.outcome, ch.err = createFailed, err
		return
	}
	err := s.changeOrRecreate(ctx, ch)
	switch {
	case apierrors.IsNotFound(err): // the object was deleted after it was read
		s.createAgain(ctx, ch)
	case err != nil:
		ch.outcome, ch.err = changeFailed, err
		s.log("error updating %s: %v", object.Describe(ch.info), err)
	}
}

// change changes the existing object of ch in the way that the options say.
func (s *sender) change(ctx context.Context, ch *objectChange) error {
	switch {
	case s.options.Force:
		return s.replace(ctx, ch)
	case s.options.OptimisticLocking:
		return s.patchUnlessChanged(ctx, ch)
	}
	return s.patch(ctx, ch)
}

// createAgain creates the object of ch, which was deleted after it was read.
func (s *sender) createAgain(ctx context.Context, ch *objectChange) {
	ch.assumedAbsent = false
	if s.options.OptimisticLocking { // the decisions that depended on the live object must be made again
		ch.live = nil
		if s.defers(ctx, ch, false) {
			return
		}
	}
	s.create(ctx, ch)
}

// defers reports whether the change ch is not made because of the option Defer, and records
// this in ch.
func (s *sender) defers(ctx context.Context, ch *objectChange, isUnchanged bool) bool {
	if s.options.Defer == nil {
		return false
	}
	later, err := s.options.Defer(ctx, ch.info, ch.live, isUnchanged)
	switch {
	case err != nil:
		ch.outcome, ch.err = changeFailed, err
	case later:
		ch.outcome = deferred
	}
	return err != nil || later
}

// mayChange returns an error if the option MayChange forbids changing the existing object of
// ch. An object that was already written by this call of Apply may always be changed.
func (s *sender) mayChange(ch *objectChange) error {
	if s.options.MayChange == nil || ch.earlier != nil && ch.earlier.succeeded() {
		return nil
	}
	return s.options.MayChange(ch.info, ch.live)
}

// create creates the object of ch, and records the result in ch. It returns true if the
// object was assumed to be absent but exists; the caller must then change it instead.
func (s *sender) create(ctx context.Context, ch *objectChange) (exists bool) {
	live, err := s.post(ctx, ch.info)
	if apierrors.IsAlreadyExists(err) && ch.assumedAbsent {
		if ch.live, err = s.get(ctx, ch.info); err == nil {
			return true
		}
		ch.outcome, ch.err = createFailed, err
		return false
	}
	if err != nil {
		ch.outcome, ch.err, ch.noResponse = createFailed, fmt.Errorf("failed to create resource: %w", err), !isStatusError(err)
		return false
	}
	s.log("created %s", object.Describe(ch.info))
	ch.succeed(created, live)
	return false
}

// isStatusError reports whether an error is the response of the server, rather than a
// problem of the connection.
func isStatusError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// post sends a create request, and returns the new state of the object.
func (s *sender) post(ctx context.Context, info *object.Info) (live *unstructured.Unstructured, err error) {
	target, err := object.AsUnstructured(info.Object)
	if err != nil {
		return nil, err
	}
	if target.GetResourceVersion() != "" {
		target = target.DeepCopy()
		target.SetResourceVersion("")
	}
	target = s.withOwner(info, target, target.GetOwnerReferences())
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err = resourceOf(s.client, info).Create(ctx, target, metav1.CreateOptions{FieldManager: s.fieldManager, DryRun: s.dryRun})
		return err
	})
	return live, err
}

// conflictBackoff says how often the replacement of an object, or a patch with its resource version, is tried while
// others change the object, for about a second in total. Controllers can change an object many times a second.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}
}

// replace replaces the live object of ch with its declaration.
func (s *sender) replace(ctx context.Context, ch *objectChange) error {
	if s.defers(ctx, ch, false) {
		return nil
	}
	declared, err := object.AsUnstructured(ch.info.Object)
	if err != nil {
		return err
	}
	target, resource := declared.DeepCopy(), resourceOf(s.client, ch.info)
	var replaced *unstructured.Unstructured
	live := ch.live
	err = retry.RetryOnConflict(conflictBackoff(), func() (err error) {
		if live == nil {
			if live, err = resource.Get(ctx, ch.info.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		target = s.withOwner(ch.info, target, live.GetOwnerReferences())
		target.SetResourceVersion(live.GetResourceVersion())
		replaced, err = resource.Update(ctx, target, metav1.UpdateOptions{FieldManager: s.fieldManager, DryRun: s.dryRun})
		live = nil // read the object again after a conflict
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to replace object: %w", err)
	}
	s.log("replaced %s", object.Describe(ch.info))
	ch.succeed(updated, replaced)
	return nil
}

// patchUnlessChanged does what patch does, with the option OptimisticLocking. After a conflict, it
// reads the object again.
func (s *sender) patchUnlessChanged(ctx context.Context, ch *objectChange) error {
	return retry.RetryOnConflict(conflictBackoff(), func() error {
		err := s.patch(ctx, ch)
		if !apierrors.IsConflict(err) {
			return err
		}
		live, readErr := s.get(ctx, ch.info)
		if readErr != nil {
			return readErr
		}
		ch.live = live
		if denied := s.mayChange(ch); denied != nil {
			return denied
		}
		return err
	})
}

// patch changes the live object of ch with a patch. It sends no request if the object
// already has the declared state.
func (s *sender) patch(ctx context.Context, ch *objectChange) error {
	if ch.base == nil {
		s.log("%s was not declared before: using the live object as the base of the merge", object.Describe(ch.info))
		ch.base = ch.live
	}
	p, err := s.computePatch(ch)
	if err != nil {
		return fmt.Errorf("failed to create patch: %w", err)
	}
	if s.defers(ctx, ch, p.IsEmpty()) {
		return nil
	}
	if p.IsEmpty() {
		s.log("%s is unchanged", object.Describe(ch.info))
		ch.succeed(unchanged, ch.live)
		return nil
	}
	patched, err := s.sendPatch(ctx, ch, p)
	if err != nil {
		return fmt.Errorf("cannot patch %q with kind %s: %w", ch.info.Name, ch.info.Mapping.GroupVersionKind.Kind, err)
	}
	if ch.isUnchangedBy(patched) {
		s.log("%s is unchanged", object.Describe(ch.info)) // the patch sets only fields that the server does not store
		ch.succeed(unchanged, patched)
		return nil
	}
	s.log("patched %s", object.Describe(ch.info))
	ch.succeed(updated, patched)
	return nil
}

// ComputePatch returns the patch with which Apply would change live, an object in the cluster that
// belongs to release, to the declaration info, without sending any request. The base is the
// declaration (see KeepForeignFields). It uses the options ThreeWay, SkipSameState and Declaration.
func ComputePatch(release *object.ReleaseReference, info *object.Info, live *unstructured.Unstructured, o ApplyOptions) (patch.Patch, error) {
	o.KeepForeignFields = true
	s := &sender{release: release, options: o}
	return s.computePatch(&objectChange{info: info, base: info.Object, live: live})
}

// computePatch returns the patch that changes the live object of ch to its declared state.
func (s *sender) computePatch(ch *objectChange) (patch.Patch, error) {
	declared := *ch
	if s.options.Declaration != nil {
		var err error
		if declared.info, err = s.options.Declaration(ch.info, ch.live); err != nil {
			return patch.Patch{}, err
		}
		if s.options.KeepForeignFields {
			declared.base = declared.info.Object
		}
	}
	info, base, err := s.withOwners(&declared)
	if err != nil {
		return patch.Patch{}, err
	}
	p, err := patch.Compute(info, base, ch.live, s.options.ThreeWay)
	if err == nil && s.options.SkipSameState && !p.IsEmpty() && p.StoresSame(info, ch.live) {
		return patch.Patch{}, nil
	}
	return p, err
}

// sendPatch sends a patch for the live object of ch, and returns the new state of the object.
func (s *sender) sendPatch(ctx context.Context, ch *objectChange, p patch.Patch) (patched *unstructured.Unstructured, err error) {
	backoff := retry.DefaultRetry
	if s.options.OptimisticLocking {
		backoff.Steps = 1 // the same patch would have the same conflict
		if p, err = p.WithResourceVersion(ch.live); err != nil {
			return nil, err
		}
	}
	err = retry.RetryOnConflict(backoff, func() (err error) {
		patched, err = resourceOf(s.client, ch.info).
			Patch(ctx, ch.info.Name, p.Type, p.Data, metav1.PatchOptions{FieldManager: s.fieldManager, DryRun: s.dryRun})
		return err
	})
	return patched, err
}

// isUnchangedBy reports whether patched, the object after the patch, equals the live object
// before the patch. It ignores the status, which a controller may have changed in between,
// unless the manifest declares a status.
func (ch *objectChange) isUnchangedBy(patched *unstructured.Unstructured) bool {
	declared, err := object.AsUnstructured(ch.info.Object)
	declaresStatus := err == nil && declared.Object["status"] != nil
	relevant := func(u *unstructured.Unstructured) map[string]any {
		content, metadata := maps.Clone(u.Object), maps.Clone(metadataOf(u))
		if !declaresStatus {
			delete(content, "status")
		}
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		return content
	}
	return equality.Semantic.DeepEqual(relevant(ch.live), relevant(patched))
}

func metadataOf(u *unstructured.Unstructured) map[string]any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	return metadata
}

// succeed records in ch the outcome o of a successful request, and live, the state of the
// object after the request.
func (ch *objectChange) succeed(o changeOutcome, live *unstructured.Unstructured) {
	if ch.before == nil && o != created {
		ch.before = ch.live
	}
	if ch.restored {
		o = recreated
	}
	ch.outcome, ch.live = o, live
}

func (ch *objectChange) succeeded() bool {
	return ch.outcome == created || ch.outcome == recreated || ch.outcome == updated || ch.outcome == unchanged
}

// FieldManager returns kube.ManagedFieldsManager, the field manager with which Helm is
// configured, or else the name of the program.
func FieldManager() string {
	switch {
	case kube.ManagedFieldsManager != "":
		return kube.ManagedFieldsManager
	case len(os.Args) == 0 || os.Args[0] == "":
		return "unknown"
	}
	return filepath.Base(os.Args[0])
}
