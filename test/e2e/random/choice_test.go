// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"slices"
	"strings"
)

// chooseOperation returns a random operation whose result the model can predict.
func (l *releaseRun) chooseOperation() *operation {
	l.Helper()
	for range 1000 {
		o := l.drawOperation()
		o.prepare(&l.model)
		if l.isFeasible(o) {
			return o
		}
	}
	l.fatalf("found nothing to do")
	return nil
}

// drawOperation returns a random operation; see isFeasible.
func (l *releaseRun) drawOperation() *operation {
	m := &l.model
	switch n := l.IntN(100); {
	case m.lastRevision() == nil:
		return l.drawInstall()
	case m.uninstalled && n < 15:
		return l.drawUninstall()
	case m.uninstalled && n < 55:
		o := l.drawInstall()
		o.replace = !o.upgradeInstall
		return o
	case !m.uninstalled && n < 70:
		return l.drawUpgrade()
	case !m.uninstalled && n < 79:
		return l.drawUninstall()
	}
	return l.drawRollback()
}

// drawCharts returns an install or upgrade with random charts, program and options.
func (l *releaseRun) drawCharts(verb string) *operation {
	o := &operation{verb: verb, next: l.generator.clone(), given: chartValues{}}
	o.next.nextVersion()
	switch n := l.IntN(100); {
	case n < 55:
		o.ordered = true
	case n < 75:
		o.wait = l.IntN(3) == 0
	default:
		o.stock, o.wait = true, l.IntN(6) == 0
	}
	if o.ordered && l.healed != nil && l.IntN(2) == 0 {
		o.next.root.things = append(o.next.root.things, l.healed.clone())
	}
	l.removeLeftovers(o.next)
	o.generator = o.next
	if l.IntN(100) < 40 {
		bads := []defect{rejectedByServer, changeRejectedByServer, neverReadyNode, neverReadyLeaf, failingJob, hangingNode}
		o.bad, o.generator = bads[l.IntN(len(bads))], o.next.clone()
		o.healed, o.absent = o.generator.addDefect(o.bad)
		o.next.made = o.generator.made
		o.cleanup = verb == "upgrade" && l.IntN(4) == 0
	}
	if l.IntN(3) == 0 {
		o.given["global.salt"] = []string{"one", "two", "three"}[l.IntN(3)]
	}
	if titles := sorted(l.generator.defaults); l.IntN(4) == 0 {
		if title := titles[l.IntN(len(titles))]; strings.HasSuffix(title, ".enabled") {
			o.given[title] = l.IntN(3) > 0
		}
	}
	o.atomic = l.IntN(6) == 0
	if o.bad == hangingNode && o.ordered {
		o.interrupt = 1 + l.IntN(4)
	}
	return o
}

// removeLeftovers removes templates of objects that may exist in the cluster outside the
// release, and that were once declared so that they never become ready: an operation would
// adopt them and keep them so.
func (l *releaseRun) removeLeftovers(f *chartGenerator) {
	for _, c := range f.root.all() {
		c.things = slices.DeleteFunc(c.things, func(th *template) bool {
			return l.everUnready[th.id()] && l.model.outside[th.id()]
		})
	}
}

func (l *releaseRun) drawInstall() *operation {
	o := l.drawCharts("install")
	o.upgradeInstall = l.IntN(4) == 0
	return o
}

func (l *releaseRun) drawUpgrade() *operation {
	o := l.drawCharts("upgrade")
	o.force = l.IntN(8) == 0
	o.reuse = []string{"", "", "", "--reuse-values", "--reset-values", "--reset-then-reuse-values"}[l.IntN(6)]
	o.historyMax = l.drawHistoryMax()
	return o
}

func (l *releaseRun) drawHistoryMax() int { return []int{0, 0, 0, 2, 3, 4}[l.IntN(6)] }

func (l *releaseRun) drawRollback() *operation {
	o := &operation{verb: "rollback", stock: l.IntN(4) == 0}
	var targets []*revision
	for _, r := range l.model.revisions {
		if !r.pruned {
			targets = append(targets, r)
		}
	}
	o.target = targets[l.IntN(len(targets))]
	o.unordered = !o.stock && l.IntN(4) == 0
	o.wait = (o.stock || !o.target.record) && !o.unordered && l.IntN(4) == 0
	o.cleanup = o.target.bad != "" && l.IntN(4) == 0
	o.historyMax = l.drawHistoryMax()
	if o.target.bad == hangingNode && o.target.record && !o.stock && !o.unordered {
		o.interrupt = 1 + l.IntN(4)
	}
	return o
}

func (l *releaseRun) drawUninstall() *operation {
	o := &operation{verb: "uninstall", stock: l.IntN(4) == 0, keepHistory: l.IntN(2) == 0}
	if l.model.uninstalled {
		o.keepHistory = false
	}
	o.unordered = !o.stock && l.IntN(6) == 0
	return o
}

// isFeasible reports whether the model can predict the result of an operation.
func (l *releaseRun) isFeasible(o *operation) bool {
	m := &l.model
	s := o.step(m)
	switch {
	case o.atomic && o.verb == "install" && m.uninstalled,
		o.atomic && o.wait,
		o.force && (o.atomic || l.hasImmutable(s)),
		l.mayLeaveObjects(s), l.mayNeverBeReady(s), l.touchesForeign(s):
		return false
	}
	if o.verb == "rollback" && l.adoptsImmutable(s) {
		return false
	}
	if o.verb == "upgrade" && o.atomic && o.fails(s.ordered) {
		undo, target := o.undo(m)
		if undo == nil || target.bad != "" || !s.ordered && !o.rejectedByServer() {
			return false
		}
		return !l.mayLeaveObjects(undo) && !l.mayNeverBeReady(undo) && !l.adoptsImmutable(undo)
	}
	return true
}

// isImmutable reports whether an object is of a kind most of whose fields are immutable.
func isImmutable(id string) bool {
	return strings.HasPrefix(id, "Pod/") || strings.HasPrefix(id, "Job/")
}

// mayExist reports whether an object may exist in the cluster before a step.
func (l *releaseRun) mayExist(s *modelStep, id string) bool {
	return s.inChain(id) || l.model.outside[id]
}

// hasImmutable reports whether a step changes an immutable object, so that it fails with
// --force.
func (l *releaseRun) hasImmutable(s *modelStep) bool {
	for id := range s.declared {
		if isImmutable(id) && l.mayExist(s, id) {
			return true
		}
	}
	return false
}

// adoptsImmutable reports whether a rollback declares an immutable object that it does not
// know to exist. As in stock Helm, its patch would remove all fields that the server has set,
// which the server rejects.
func (l *releaseRun) adoptsImmutable(s *modelStep) bool {
	for id := range s.declared {
		if !s.mustKeepFields(id) && isImmutable(id) && l.mayExist(s, id) {
			return true
		}
	}
	return false
}

// touchesForeign reports whether a step affects an object that another client has created:
// Ordered Helm rejects its adoption, and stock Helm may delete it.
func (l *releaseRun) touchesForeign(s *modelStep) bool {
	for id := range l.foreignObjects {
		if s.declared[id] != nil || !s.knowsAllRevisions() && s.base != nil && s.base.declared[id] != nil {
			return true
		}
	}
	return false
}

// mayLeaveObjects reports whether a step may leave undeclared objects, although l.strict is
// set.
func (l *releaseRun) mayLeaveObjects(s *modelStep) bool {
	if !l.strict || s.ordered || l.model.uninstalled {
		return false
	}
	for _, r := range s.chain {
		for id := range r.declared {
			if s.declared[id] == nil && !s.mustTrack(id) {
				return true
			}
		}
	}
	return false
}

// mayNeverBeReady reports whether an object may never become ready although the step declares
// that it does, because the step does not know an earlier declaration and cannot remove its
// fields.
func (l *releaseRun) mayNeverBeReady(s *modelStep) bool {
	for id, fields := range s.declared {
		if fields["play"] != "" {
			continue
		}
		if l.model.outside[id] && l.everUnready[id] {
			return true
		}
		for _, r := range s.chain {
			if r != s.base && r.declared[id]["play"] != "" && (!s.knowsAllRevisions() && (s.base == nil || s.base.declared[id]["play"] == "") || r.pruned) {
				return true
			}
		}
	}
	return false
}
