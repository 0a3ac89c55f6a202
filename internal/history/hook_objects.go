// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// HookObjects records in the order record which objects of managed hooks exist in the cluster, so
// that they can be deleted with the release. Its methods do not store the release; the next write
// does.
type HookObjects struct{ current *workingCopy }

// List returns the recorded objects, in the order in which their hooks ran.
func (h *HookObjects) List() (list []orderrecord.HookObject) {
	h.current.withRecord(func(rec *orderrecord.Record) {
		if rec != nil && rec.HookObjects != nil {
			list = slices.Clone(rec.HookObjects.Objects)
		}
	})
	return list
}

// Expect records that an object is about to be created. If an object with the same name is
// already recorded, it does nothing until Created is called.
func (h *HookObjects) Expect(o orderrecord.HookObject) {
	h.change(func(list []orderrecord.HookObject) []orderrecord.HookObject {
		if slices.ContainsFunc(list, o.IsSameName) {
			return list
		}
		return append(list, o)
	})
}

// Created records an object that was created, as the last one.
func (h *HookObjects) Created(o orderrecord.HookObject) {
	h.change(func(list []orderrecord.HookObject) []orderrecord.HookObject {
		return append(slices.DeleteFunc(list, o.IsSameName), o)
	})
}

// Forget removes objects that no longer exist, or no longer belong to the release.
func (h *HookObjects) Forget(isForgotten func(orderrecord.HookObject) bool) {
	if slices.ContainsFunc(h.List(), isForgotten) {
		h.change(func(list []orderrecord.HookObject) []orderrecord.HookObject {
			return slices.DeleteFunc(list, isForgotten)
		})
	}
}

// Set replaces the recorded objects. It does nothing if there are none.
func (h *HookObjects) Set(list []orderrecord.HookObject) {
	if len(list) > 0 || len(h.List()) > 0 {
		h.change(func([]orderrecord.HookObject) []orderrecord.HookObject { return slices.Clone(list) })
	}
}

// change replaces the list with the result of do. If the release cannot contain an order record,
// because it has no chart, it does nothing.
func (h *HookObjects) change(do func([]orderrecord.HookObject) []orderrecord.HookObject) {
	c := h.current
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chartWithoutRecord == nil {
		return
	}
	if c.rec == nil {
		c.rec = &orderrecord.Record{Revision: c.rel.Version, Charts: &sequencer.Chart{Name: ChartName(c.rel)}}
	}
	var list []orderrecord.HookObject
	if c.rec.HookObjects != nil {
		list = slices.Clone(c.rec.HookObjects.Objects)
	}
	c.rec.HookObjects = &orderrecord.HookObjects{Revision: c.rel.Version, Objects: do(list)}
	c.changes++
	c.writeRequested = true
}

// RecordHookObjects prepares a Writer that NewHookResultWriter returned to record objects of hooks.
func (w *Writer) RecordHookObjects() error {
	rec, err := orderrecord.Read(w.Release())
	if err != nil {
		return err
	}
	return w.SetStoredRecord(rec)
}

// CurrentHookObjects returns the objects that managed hooks of a release may have left in the
// cluster, according to its stored revisions. The newest revision that says anything about them
// counts, because it includes those of earlier revisions.
func CurrentHookObjects(revisions []*release.Release) (list []orderrecord.HookObject) {
	newest := 0
	for _, rel := range revisions {
		if rel.Version <= newest {
			continue
		}
		if objects := orderrecord.HookObjectsOf(rel); objects != nil {
			list, newest = objects.Objects, rel.Version
		}
	}
	return list
}

// mergeHookObjects replaces the objects of hooks in the order record of stored with those of
// changed, if changed says anything about them.
func mergeHookObjects(stored, changed *release.Release) error {
	objects := orderrecord.HookObjectsOf(changed)
	if objects == nil || stored.Chart == nil {
		return nil
	}
	rec, err := orderrecord.Read(stored)
	if err != nil {
		return err
	}
	if rec == nil {
		rec = &orderrecord.Record{Revision: stored.Version, Charts: &sequencer.Chart{Name: ChartName(stored)}}
	}
	rec.HookObjects = objects
	stored.Chart, err = orderrecord.WithRecord(stored.Chart, rec)
	return err
}
