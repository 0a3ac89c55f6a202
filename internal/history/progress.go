// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Progress records in the order record which nodes of the deployment graph an operation has
// started and finished, so that another operation can continue its work.
type Progress struct {
	current *workingCopy
	// mu guards started and done: the IDs of the nodes that were started and finished since
	// they were last moved to the order record. NodeStarted and NodeDone must return
	// quickly, so mu is never locked during a request or while the release is encoded.
	mu            sync.Mutex
	started, done []string
}

// NodeStarted records that the node with this ID was started. The BackgroundWriter stores
// this with its next write.
func (p *Progress) NodeStarted(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, node)
}

// NodeDone records that the node with this ID is finished. The BackgroundWriter stores this
// with its next write.
func (p *Progress) NodeDone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, node)
}

// take returns the node IDs that are not in the order record yet, and clears them in p.
func (p *Progress) take() (started, done []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	started, done = p.started, p.done
	p.started, p.done = nil, nil
	return started, done
}

// Reset sets the progress in the order record: none of the given number of nodes is
// finished. uninstalling says whether the operation deletes the nodes instead of deploying
// them. Reset does not store the release; the next write does.
func (p *Progress) Reset(nodes int, uninstalling bool) error {
	return p.current.changeRecord(func(rec *orderrecord.Record) *orderrecord.Record {
		if rec.Ordered {
			rec.Progress = &orderrecord.Progress{Revision: p.current.rel.Version, TotalNodes: nodes, Uninstalling: uninstalling}
		}
		return rec
	})
}

// Finish must be called when the operation deploys no more nodes. If complete is true, all
// nodes are deployed; Finish then deletes from the order record the progress and the data
// about earlier revisions, which are no longer needed. It does not store the release; the
// next write does.
func (p *Progress) Finish(complete bool) error {
	return p.current.changeRecord(func(rec *orderrecord.Record) *orderrecord.Record {
		p.moveNodesTo(rec)
		if complete {
			rec.Progress, rec.Earlier = nil, nil
			if !rec.Ordered && rec.HookObjects == nil && !DeclaresHooks(rec.Charts) {
				return nil // the record contained only data about earlier revisions
			}
		}
		return rec
	})
}

// moveToRecord moves the collected node IDs to the order record, and reports whether this
// changed the order record.
func (p *Progress) moveToRecord() (changed bool) {
	p.current.withRecord(func(rec *orderrecord.Record) { changed = p.moveNodesTo(rec) })
	return changed
}

// moveNodesTo moves the collected node IDs to rec, and reports whether this changed rec. If rec is
// nil or contains no progress, the node IDs are dropped.
func (p *Progress) moveNodesTo(rec *orderrecord.Record) bool {
	started, done := p.take()
	if rec == nil || rec.Progress == nil || len(started)+len(done) == 0 {
		return false
	}
	rec.Progress.DoneNodes = union(rec.Progress.DoneNodes, done)
	rec.Progress.RunningNodes = slices.DeleteFunc(union(rec.Progress.RunningNodes, started), func(node string) bool {
		_, done := slices.BinarySearch(rec.Progress.DoneNodes, node)
		return done
	})
	return true
}

// union returns the elements of both lists, sorted and without duplicates.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}
