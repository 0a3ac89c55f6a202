// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/object"
)

// createMissing creates the object of ch, which does not exist, unless this is deferred. A Recreator can create it as
// it was before. createMissing returns true if the object exists afterwards, but must still be changed.
func (s *sender) createMissing(ctx context.Context, ch *objectChange) (exists bool) {
	if s.defers(ctx, ch, false) {
		return false
	}
	if s.options.Recreator == nil {
		return s.create(ctx, ch)
	}
	live, err := s.options.Recreator.Restore(ctx, ch.info)
	switch {
	case err != nil:
		ch.outcome, ch.err = createFailed, err
		return false
	case live == nil:
		return s.create(ctx, ch)
	}
	ch.live, ch.restored = live, true
	return true
}

// changeOrRecreate changes the existing object of ch. If the server rejects that, or if the object must be as it was
// before, a Recreator can delete it and create it again.
func (s *sender) changeOrRecreate(ctx context.Context, ch *objectChange) error {
	r := s.options.Recreator
	if r == nil {
		return s.change(ctx, ch)
	}
	if !ch.restored {
		live, err := r.Replace(ctx, ch.info, ch.live)
		if err != nil {
			return err
		}
		if live != nil {
			ch.live, ch.restored = live, true
		}
	}
	err := s.change(ctx, ch)
	if !apierrors.IsInvalid(err) {
		return err
	}
	live, err := r.Recreate(ctx, ch.info, ch.live, err)
	if err == nil {
		s.log("recreated %s", object.Describe(ch.info))
		ch.succeed(recreated, live)
	}
	return err
}
