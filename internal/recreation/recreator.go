// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// Config contains the parameters of New.
type Config struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	Storage *Storage
	// Owner is the release, and Revision the revision that is being deployed. Installed is when the release was
	// installed.
	Owner     object.OwningRelease
	Revision  int
	Installed time.Time
	// Rules say which objects the user allows to be recreated.
	Rules Rules
	// Undo says that the operation undoes a failed one (--atomic): it creates the objects that the failed operation has
	// recreated as they were before.
	Undo bool
	// Timeout limits the wait for the deletion of an object; 0 means no limit except that of the context.
	Timeout time.Duration
}

// Recreator recreates objects of one release during one operation. It implements objectwriter.Recreator.
type Recreator struct {
	Config

	// stale contains copies that are only deleted.
	stale []*storedCopy
	// mu guards copies, which contains the other stored copies that are known.
	mu     sync.Mutex
	copies map[sequencer.ID]*storedCopy
}

// New returns a Recreator.
func New(c Config) *Recreator { return &Recreator{Config: c, copies: map[sequencer.ID]*storedCopy{}} }

// SetOwner makes the objects that are created from now on refer to the Release that owns them; nil if there is none.
func (r *Recreator) SetOwner(release *object.ReleaseReference) { r.Writer = r.Writer.OwnedBy(release) }

// Decision says whether an object whose change the server rejects would be recreated.
type Decision struct {
	// Reason says which fields are immutable; empty if the server rejects the change for another reason.
	Reason string
	// Allowed says whether the user or the chart allows to recreate the object. Err then says why it cannot be
	// recreated; nil if it can be.
	Allowed bool
	Err     error
}

// Decide finds out, without changing anything, whether Recreate would recreate an object. live is its state in the
// cluster, and rejected the error with which the server rejected the change.
func (r *Recreator) Decide(ctx context.Context, info *object.Info, live *unstructured.Unstructured, rejected error) Decision {
	d := r.decide(ctx, info, live, rejected)
	if d.Reason != "" && d.Allowed && d.Err == nil {
		if err := r.Writer.DryRunDelete(ctx, object.WithState(info, live), propagationOf(info)); err != nil {
			d.Err = fmt.Errorf("it could not be deleted: %w", err)
		}
	}
	return d
}

// decide does what Decide does, but does not ask the server whether the object can be deleted.
func (r *Recreator) decide(ctx context.Context, info *object.Info, live *unstructured.Unstructured, rejected error) Decision {
	if live == nil {
		return Decision{}
	}
	declared, err := object.AsUnstructured(info.Object)
	if err != nil {
		return Decision{}
	}
	id := object.IDOf(info)
	isDeclared, _ := annotation.ReadOnImmutable(declared.Object) // an invalid value was reported before
	d := Decision{Reason: Reason(declared, live, rejected), Allowed: r.Rules.Allow(id) || isDeclared}
	if d.Reason != "" && d.Allowed {
		d.Err = r.check(ctx, info, live)
	}
	return d
}

// check returns an error if an object must not be deleted, or could then not be created as target.
func (r *Recreator) check(ctx context.Context, target *object.Info, live *unstructured.Unstructured) error {
	declared, err := object.AsUnstructured(target.Object)
	if err != nil {
		return err
	}
	if err := refusal(declared, live, r.Owner); err != nil {
		return err
	}
	probe := *target
	probe.Object = withoutOwnAddresses(declared, live)
	if err := r.Writer.DryRunCreate(ctx, &probe); err != nil {
		return fmt.Errorf("the server would not create it as declared: %w", err)
	}
	return nil
}

// Recreate implements objectwriter.Recreator.
func (r *Recreator) Recreate(ctx context.Context, info *object.Info, live *unstructured.Unstructured, rejected error) (*unstructured.Unstructured, error) {
	d := r.decide(ctx, info, live, rejected)
	if d.Reason == "" || !d.Allowed {
		return nil, rejected
	}
	state, err := (*unstructured.Unstructured)(nil), d.Err
	if err == nil {
		r.Events.Warnf("%s is deleted and created again: %s", object.Describe(info), d.Reason)
		state, err = r.recreate(ctx, info, live)
	}
	if err != nil {
		return nil, &failure.NotRecreatedError{Rejected: rejected, Reason: fmt.Errorf("%s was not recreated: %w", object.IDOf(info), err)}
	}
	return state, nil
}

// recreate stores a copy of an object, deletes it, and creates it as it is declared.
func (r *Recreator) recreate(ctx context.Context, info *object.Info, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c, err := r.storeCopy(ctx, info, live)
	if err != nil {
		return nil, fmt.Errorf("store a copy of it: %w", err)
	}
	if err := r.deleteAndWait(ctx, info, live); err != nil {
		return nil, fmt.Errorf("%w; its copy is in Secret %s, from which the next operation on the release creates it again", err, c.secret)
	}
	state, err := r.create(ctx, info)
	if err == nil {
		// Without this, recovery creates the object as it was if somebody else deletes it before an operation succeeds.
		if err := r.Storage.setCreated(ctx, r.Owner, c, true); err != nil {
			r.Events.Warnf("failed to record in Secret %s that %s was created: %v", c.secret, object.Describe(info), err)
		}
		return state, nil
	}
	if ctx.Err() != nil || c.hasEnded() {
		return nil, fmt.Errorf("it was deleted, but not created: %w; its copy is in Secret %s", err, c.secret)
	}
	if _, undoErr := r.createCopy(ctx, info, c); undoErr != nil {
		return nil, fmt.Errorf("it was deleted, but not created: %w; its copy is in Secret %s, from which it could not be created either: %w", err, c.secret, undoErr)
	}
	return nil, fmt.Errorf("it was deleted, and created again as it was before: %w", err)
}

// storeCopy stores a copy of an object, unless there already is one of an earlier revision that failed: that is the
// object as the last successful operation left it.
func (r *Recreator) storeCopy(ctx context.Context, info *object.Info, live *unstructured.Unstructured) (*storedCopy, error) {
	id := object.IDOf(info)
	if c := r.copyOf(id); c != nil {
		return c, r.setDeleted(ctx, c)
	}
	c := &storedCopy{revision: r.Revision, live: live.DeepCopy(), installed: r.installedAt()}
	c.live.SetManagedFields(nil)
	if err := r.Storage.store(ctx, r.Owner, c); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies[id] = c
	return c, nil
}

// setDeleted makes the next operation create the object of a copy again, because it is about to be deleted, and this
// operation may end before it creates the object.
func (r *Recreator) setDeleted(ctx context.Context, c *storedCopy) error {
	if !c.created {
		return nil
	}
	return r.Storage.setCreated(ctx, r.Owner, c, false)
}

func (r *Recreator) installedAt() string { return r.Installed.UTC().Format(time.RFC3339) }

func (r *Recreator) copyOf(id sequencer.ID) *storedCopy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copies[id]
}

// Restore implements objectwriter.Recreator.
func (r *Recreator) Restore(ctx context.Context, info *object.Info) (*unstructured.Unstructured, error) {
	c := r.copyOf(object.IDOf(info))
	if !r.Undo || c == nil {
		return nil, nil
	}
	return r.createCopy(ctx, info, c)
}

// Replace implements objectwriter.Recreator.
func (r *Recreator) Replace(ctx context.Context, info *object.Info, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c := r.copyOf(object.IDOf(info))
	if !r.Undo || c == nil || live.GetDeletionTimestamp() == nil && (live.GetUID() == c.live.GetUID() || reflect.DeepEqual(restorable(live), restorable(c.live))) {
		return nil, nil
	}
	target := restorable(c.live)
	if err := refusal(target, live, r.Owner); err != nil {
		return nil, fmt.Errorf("%s was not created again as it was before: %w", object.IDOf(info), err)
	}
	if err := r.setDeleted(ctx, c); err != nil {
		return nil, fmt.Errorf("%s was not created again as it was before: %w", object.IDOf(info), err)
	}
	if err := r.deleteAndWait(ctx, info, live); err != nil {
		return nil, fmt.Errorf("%s was not created again as it was before: %w; its copy is in Secret %s", object.IDOf(info), err, c.secret)
	}
	return r.createCopy(ctx, info, c)
}

// RemoveCopies deletes the stored copies that are known, because the operation has succeeded. If that fails, it emits a
// warning.
func (r *Recreator) RemoveCopies(ctx context.Context) {
	r.mu.Lock()
	copies := slices.Concat(r.stale, slices.Collect(maps.Values(r.copies)))
	r.mu.Unlock()
	if len(copies) == 0 {
		return
	}
	if err := r.Storage.remove(ctx, r.Owner.Namespace, copies); err != nil {
		r.Events.Warnf("failed to delete the copies of recreated objects (Secrets in namespace %s with the label %s=%s): %v", r.Owner.Namespace, releaseLabel, r.Owner.Name, err)
	}
}
