// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"slices"
	"strings"
)

// choose makes a random operation whose outcome is known.
func (l *randomLife) choose() *randomOperation {
	l.Helper()
	for range 1000 {
		o := l.draw()
		o.prepare(&l.model)
		if l.isFeasible(o) {
			return o
		}
	}
	l.fatalf("found nothing to do")
	return nil
}

// draw draws an operation, which may not be possible.
func (l *randomLife) draw() *randomOperation {
	m := &l.model
	switch n := l.IntN(100); {
	case m.newest() == nil:
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

// drawCharts draws what an install or upgrade deploys, and who does it how.
func (l *randomLife) drawCharts(verb string) *randomOperation {
	o := &randomOperation{verb: verb, next: l.family.clone(), given: randomValues{}}
	o.next.evolve()
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
	l.forget(o.next)
	o.family = o.next
	if l.IntN(100) < 40 {
		bads := []randomBad{isRefused, wasRefused, isNever, isNeverLast, isFailing, isHanging}
		o.bad, o.family = bads[l.IntN(len(bads))], o.next.clone()
		o.healed, o.absent = o.family.spoil(o.bad)
		o.next.made = o.family.made
		o.cleanup = verb == "upgrade" && l.IntN(4) == 0
	}
	if l.IntN(3) == 0 {
		o.given["global.salt"] = []string{"one", "two", "three"}[l.IntN(3)]
	}
	if titles := sorted(l.family.defaults); l.IntN(4) == 0 {
		if title := titles[l.IntN(len(titles))]; strings.HasSuffix(title, ".enabled") {
			o.given[title] = l.IntN(3) > 0
		}
	}
	o.atomic = l.IntN(6) == 0
	if o.bad == isHanging && o.ordered {
		o.interrupt = 1 + l.IntN(4)
	}
	return o
}

// forget takes out what may still be in the cluster, outside of the release, as
// something that never gets ready: it would stay that.
func (l *randomLife) forget(f *randomFamily) {
	for _, c := range f.root.all() {
		c.things = slices.DeleteFunc(c.things, func(th *randomThing) bool {
			return l.played[th.id()] && l.model.outside[th.id()]
		})
	}
}

func (l *randomLife) drawInstall() *randomOperation {
	o := l.drawCharts("install")
	o.upgradeInstall = l.IntN(4) == 0
	return o
}

func (l *randomLife) drawUpgrade() *randomOperation {
	o := l.drawCharts("upgrade")
	o.force = l.IntN(8) == 0
	o.reuse = []string{"", "", "", "--reuse-values", "--reset-values", "--reset-then-reuse-values"}[l.IntN(6)]
	o.historyMax = l.drawHistoryMax()
	return o
}

func (l *randomLife) drawHistoryMax() int { return []int{0, 0, 0, 2, 3, 4}[l.IntN(6)] }

func (l *randomLife) drawRollback() *randomOperation {
	o := &randomOperation{verb: "rollback", stock: l.IntN(4) == 0}
	var targets []*randomRevision
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
	if o.target.bad == isHanging && o.target.record && !o.stock && !o.unordered {
		o.interrupt = 1 + l.IntN(4)
	}
	return o
}

func (l *randomLife) drawUninstall() *randomOperation {
	o := &randomOperation{verb: "uninstall", stock: l.IntN(4) == 0, keepHistory: l.IntN(2) == 0}
	if l.model.uninstalled {
		o.keepHistory = false
	}
	o.unordered = !o.stock && l.IntN(6) == 0
	return o
}

// isFeasible leaves out operations whose outcome depends on more than the model
// knows.
func (l *randomLife) isFeasible(o *randomOperation) bool {
	m := &l.model
	s := o.step(m)
	switch {
	case o.atomic && o.verb == "install" && m.uninstalled,
		o.atomic && o.wait,
		o.force && (o.atomic || l.hasFixed(s)),
		l.leaks(s), l.isStuck(s), l.meetsStranger(s):
		return false
	}
	if o.verb == "rollback" && l.takesOverFixed(s) {
		return false
	}
	if o.verb == "upgrade" && o.atomic && o.fails(s.ordered) {
		undo, target := o.undo(m)
		if undo == nil || target.bad != "" || !s.ordered && !o.isRefused() {
			return false
		}
		return !l.leaks(undo) && !l.isStuck(undo) && !l.takesOverFixed(undo)
	}
	return true
}

// isFixed reports whether most of an object cannot be changed.
func isFixed(id string) bool { return strings.HasPrefix(id, "Pod/") || strings.HasPrefix(id, "Job/") }

// mayBeThere reports whether an object may be in the cluster before a step.
func (l *randomLife) mayBeThere(s *randomStep, id string) bool {
	return s.inChain(id) || l.model.outside[id]
}

// hasFixed reports whether something is declared that --force cannot replace.
func (l *randomLife) hasFixed(s *randomStep) bool {
	for id := range s.declared {
		if isFixed(id) && l.mayBeThere(s, id) {
			return true
		}
	}
	return false
}

// takesOverFixed reports whether a rollback would have to change what it does not
// know to be there: as in stock Helm, without an order, everything that the server
// has set would be taken away, and it refuses that.
func (l *randomLife) takesOverFixed(s *randomStep) bool {
	for id := range s.declared {
		if !s.mustSpare(id) && isFixed(id) && l.mayBeThere(s, id) {
			return true
		}
	}
	return false
}

// meetsStranger reports whether a step has to do with what somebody else has made:
// it may not be taken over, and stock Helm deletes it.
func (l *randomLife) meetsStranger(s *randomStep) bool {
	for id := range l.strangers {
		if s.declared[id] != nil || !s.mindful() && s.base != nil && s.base.declared[id] != nil {
			return true
		}
	}
	return false
}

// leaks reports whether a step may leave objects, and must not in this life.
func (l *randomLife) leaks(s *randomStep) bool {
	if !l.strict || s.ordered || l.model.uninstalled {
		return false
	}
	for _, r := range s.chain {
		for id := range r.declared {
			if s.declared[id] == nil && !s.mustKnow(id) {
				return true
			}
		}
	}
	return false
}

// isStuck reports whether something may not get ready because the step does not
// know that it was declared never to.
func (l *randomLife) isStuck(s *randomStep) bool {
	for id, facts := range s.declared {
		if facts["play"] != "" {
			continue
		}
		if l.model.outside[id] && l.played[id] {
			return true
		}
		for _, r := range s.chain {
			if r != s.base && r.declared[id]["play"] != "" && (!s.mindful() && (s.base == nil || s.base.declared[id]["play"] == "") || r.pruned) {
				return true
			}
		}
	}
	return false
}
