// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Progress records in the release record which nodes of the deployment graph an operation
// has started and finished, so that another operation can continue it.
type Progress struct {
	current *workingCopy
	// mu guards the nodes that were started and finished since the record was last updated.
	// It is never locked during a request or while the release is encoded, so that neither
	// delays a node.
	mu            sync.Mutex
	started, done []string
}

// NodeStarted records that the node with the given ID was started. The next write in the
// background stores it.
func (p *Progress) NodeStarted(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, node)
}

// NodeDone records that the node with the given ID is finished. The next write in the
// background stores it.
func (p *Progress) NodeDone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, node)
}

// take returns the collected nodes, and clears them.
func (p *Progress) take() (started, done []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	started, done = p.started, p.done
	p.started, p.done = nil, nil
	return started, done
}

// ExpectNodes resets the progress in the record: none of the given number of nodes is
// finished yet. removing says whether the nodes are deleted instead of deployed. The next
// write stores it.
func (p *Progress) ExpectNodes(nodes int, removing bool) error {
	return p.current.changeRecord(func(rec *orderrecord.Record) *orderrecord.Record {
		if rec.Ordered {
			rec.Progress = &orderrecord.Progress{Revision: p.current.rel.Version, TotalNodes: nodes, Uninstalling: removing}
		}
		return rec
	})
}

// Finish is called when no more nodes will be deployed. If complete is true, all nodes are
// deployed, and Finish removes the progress and the data about earlier revisions from the
// record. The next write stores the record.
func (p *Progress) Finish(complete bool) error {
	return p.current.changeRecord(func(rec *orderrecord.Record) *orderrecord.Record {
		p.addTo(rec)
		if complete {
			rec.Progress, rec.Earlier = nil, nil
			if !rec.Ordered && !RunsHooksInParallel(rec.Charts) {
				return nil // the record was only needed for earlier revisions
			}
		}
		return rec
	})
}

// moveToRecord moves the collected nodes into the record, and reports whether this changed
// the record.
func (p *Progress) moveToRecord() (changed bool) {
	p.current.withRecord(func(rec *orderrecord.Record) { changed = p.addTo(rec) })
	return changed
}

// addTo moves the collected nodes into rec, which can be nil, and reports whether this
// changed rec.
func (p *Progress) addTo(rec *orderrecord.Record) bool {
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
