// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"strings"
	"time"
)

// runOperation runs an operation and checks its result.
func (l *releaseRun) runOperation(o *operation) {
	l.Helper()
	step := o.step(&l.model)
	fails := o.fails(step.ordered)
	chart, values := l.write(o)
	args := o.arguments(chart, values, fails)
	l.story = append(l.story, fmt.Sprintf("%2d. %s", len(l.story)+1, o.describe(args)))
	before := l.listObjects()
	began := time.Now()
	said := l.execute(o, args)
	l.story[len(l.story)-1] += fmt.Sprintf(" [%.1fs]", time.Since(began).Seconds())
	if failed := said.ExitCode != 0; failed != fails {
		l.fatalf("exit code %d, must fail: %t\n%s%s\n%s", said.ExitCode, fails, said.Stdout, said.Stderr, chainText(step))
	}
	check := &operationCheck{modelStep: step, before: before, after: l.listObjects(), loose: l.model.loose}
	newest := l.model.lastRevision()
	switch {
	case o.verb == "uninstall":
		l.uninstalled(o, check)
	case !fails:
		l.succeeded(o, check)
	default:
		l.failed(o, check)
	}
	l.left += check.left
	check.problems = append(check.problems, append(l.history(o, newest), l.changedForeign()...)...)
	if len(check.problems) > 0 {
		l.fatalf("%s\n\nit said:\n%s\nwhat counted:\n%s", strings.Join(check.problems, "\n"), said.Stderr, chainText(check.modelStep))
	}
}

// chainText describes the revisions that a step involves.
func chainText(s *modelStep) string {
	text := ""
	for _, r := range s.chain {
		text += fmt.Sprintf("revision %d, %s, ordered %t, record %t, pruned %t, bad %q, remembers %v\n",
			r.version, r.status, r.ordered, r.record, r.pruned, r.bad, sorted(r.remembers))
		for _, id := range sorted(r.declared) {
			text += fmt.Sprintf("    %s: %s\n", id, formatFields(r.declared[id]))
		}
	}
	return text
}

// uninstalled checks that only kept objects of the release are left.
func (l *releaseRun) uninstalled(o *operation, c *operationCheck) {
	m := &l.model
	if m.uninstalled {
		c.chain = nil // only the history was left
	}
	c.checkSuccess()
	m.recordLeftovers(c.modelStep)
	if !o.keepHistory {
		m.revisions, m.chain, m.uninstalled = nil, nil, false
		return
	}
	m.supersede()
	m.lastRevision().status = "uninstalled"
	m.chain, m.uninstalled = []*revision{m.lastRevision()}, true
}

// succeeded checks that the cluster contains what the new revision declares.
func (l *releaseRun) succeeded(o *operation, c *operationCheck) {
	c.checkSuccess()
	l.model.recordLeftovers(c.modelStep)
	l.acceptCharts(o)
	switch last := l.model.lastRevision(); {
	case o.verb == "install" && last != nil:
		last.status = "superseded"
	case o.verb == "upgrade":
		l.model.current().status = "superseded" // also if it failed
	}
	l.model.deploy(o.revision)
	l.recordPods(o.revision)
}

// acceptCharts continues with the charts of an operation.
func (l *releaseRun) acceptCharts(o *operation) {
	if o.next == nil {
		return
	}
	l.family, l.healed = o.next, o.healed
}

func (l *releaseRun) recordPods(r *revision) {
	for id, facts := range r.declared {
		if facts["play"] != "" {
			l.played[id] = true
		}
	}
}

// failed checks that a failed operation has left everything else unchanged, and that
// undoing it has left nothing.
func (l *releaseRun) failed(o *operation, c *operationCheck) {
	m := &l.model
	undo, target := (*modelStep)(nil), (*revision)(nil)
	if o.verb == "upgrade" && o.atomic {
		undo, target = o.undo(m)
	}
	l.recordFailure(o, c)
	switch {
	case o.verb == "install" && o.atomic:
		c.removed = true
		c.checkFailure(false, true)
	case undo == nil:
		waited := o.wait && !c.ordered && !o.isRefused()
		c.checkFailure(waited, o.cleanup && (!waited || o.verb != "rollback"))
	default:
		m.prune(l.statuses())
		undo.found = c.before
		c.modelStep = undo
		c.checkSuccess()
		m.recordLeftovers(undo)
		back := *target
		back.ordered = undo.ordered
		m.deploy(&back)
	}
}

// recordFailure records the failed revision. The next operation continues with its charts,
// or with the previous ones.
func (l *releaseRun) recordFailure(o *operation, c *operationCheck) {
	if o.next != nil {
		l.family.made = o.next.made
		if l.IntN(2) == 0 {
			l.acceptCharts(o)
		}
	}
	l.recordPods(o.revision)
	m := &l.model
	if o.verb == "install" && o.atomic {
		return
	}
	last := m.lastRevision()
	undeployed := o.verb == "rollback" && !c.ordered && o.isRefused() && (o.stock || last.status == "deployed")
	if undeployed || o.verb == "install" && last != nil {
		last.status = "superseded"
	}
	m.add(o.revision)
	o.revision.status = "failed"
	m.chain, m.uninstalled = append(m.chain[:len(m.chain):len(m.chain)], o.revision), false
}

// mostHistory is how many revisions Helm keeps by default.
const mostHistory = 10

// history compares the stored revisions with the expected ones.
func (l *releaseRun) history(o *operation, last *revision) (problems []string) {
	l.Helper()
	m := &l.model
	statuses := l.statuses()
	limit := o.historyMax
	if limit == 0 {
		limit = mostHistory
	}
	if (o.verb == "upgrade" || o.verb == "rollback") && !o.atomic && len(statuses) > limit {
		problems = append(problems, fmt.Sprintf("there are %d revisions, and no more than %d should be kept", len(statuses), limit))
	}
	if m.lastRevision() != last {
		m.prune(statuses)
	}
	for _, r := range m.revisions {
		if status := statuses[r.version]; !r.pruned && status != r.status || r.pruned && status != "" {
			problems = append(problems, fmt.Sprintf("revision %d is %q, want %s (pruned: %t)", r.version, status, r.status, r.pruned))
		}
		delete(statuses, r.version)
	}
	for version, status := range statuses {
		problems = append(problems, fmt.Sprintf("there is a revision %d, %s", version, status))
	}
	return problems
}
