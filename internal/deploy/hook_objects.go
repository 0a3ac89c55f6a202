// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"maps"

	"github.com/ordered-helm/helm/internal/hookobjects"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// obsoleteHookObjects returns the Removal of what managed hooks of earlier revisions have left, and neither
// the hooks nor the manifest of the new revision declare.
func (r *Run) obsoleteHookObjects() (*hookobjects.Removal, error) {
	return hookobjects.Obsolete(r.op, r.writer, r.strategy.built(), r.options.Hooks.Modes)
}

// deleteHookObjects deletes what obsoleteHookObjects returns. If that fails, it emits a warning, but returns
// no error: the revision is deployed, and the objects stay recorded. It returns an error only if ctx is done.
func (r *Run) deleteHookObjects(ctx context.Context) error {
	removal, err := r.obsoleteHookObjects()
	if err == nil {
		_, err = removal.Run(ctx, r.options.Timeout)
	}
	if err != nil && ctx.Err() == nil {
		r.op.Events.Warnf("failed to delete what hooks of earlier revisions left; the next upgrade, rollback or uninstall tries again: %s", text.OneLine(err.Error()))
	}
	return context.Cause(ctx)
}

// findHookObjects calls visit for each object that deleteHookObjects would delete or keep.
func (r *Run) findHookObjects(ctx context.Context, visit func(node string, found *prune.FoundObjects)) error {
	removal, err := r.obsoleteHookObjects()
	if err != nil {
		return err
	}
	return removal.Visit(ctx, visit)
}

// spared returns the objects that must not be pruned: those of the options, and those that managed hooks of
// the new revision have created, because they may have been resources of an earlier one.
func (r *Run) spared() map[sequencer.ID]bool {
	created := hookobjects.Declared(r.op, r.writer, r.options.Hooks.Modes)
	if len(created) == 0 {
		return r.options.Spared
	}
	spared := maps.Clone(r.options.Spared)
	if spared == nil {
		spared = map[sequencer.ID]bool{}
	}
	for _, info := range created {
		spared[object.IDOf(info)] = true
	}
	return spared
}
