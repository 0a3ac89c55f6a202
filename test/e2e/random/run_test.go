// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"strings"
	"time"
)

// runOperation runs an operation, checks its result, and updates the model.
func (l *releaseRun) runOperation(o *operation) {
	l.Helper()
	step := o.step(&l.model)
	fails := o.fails(step.ordered)
	chart, values := l.write(o)
	args := o.arguments(chart, values, fails)
	l.log = append(l.log, fmt.Sprintf("%2d. %s", len(l.log)+1, o.describe(args)))
	before := l.listObjects()
	began := time.Now()
	said := l.execute(o, args)
	l.log[len(l.log)-1] += fmt.Sprintf(" [%.1fs]", time.Since(began).Seconds())
	if failed := said.ExitCode != 0; failed != fails {
		l.fatalf("exit code %d, must fail: %t\n%s%s\n%s", said.ExitCode, fails, said.Stdout, said.Stderr, describeChain(step))
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
		l.fatalf("%s\n\nit said:\n%s\nwhat counted:\n%s", strings.Join(check.problems, "\n"), said.Stderr, describeChain(check.modelStep))
	}
}

// describeChain describes the revisions in the chain of a step, for the messages of failed
// tests.
func describeChain(s *modelStep) string {
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

// uninstalled checks that an uninstall has left only objects with the policy keep, and updates
// the model.
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

// succeeded checks that the cluster contains the objects that the new revision declares, and
// updates the model.
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

// acceptCharts makes later operations start from the charts of this operation.
func (l *releaseRun) acceptCharts(o *operation) {
	if o.next == nil {
		return
	}
	l.generator, l.healed = o.next, o.healed
}

func (l *releaseRun) recordPods(r *revision) {
	for id, fields := range r.declared {
		if fields["play"] != "" {
			l.everUnready[id] = true
		}
	}
}

// failed checks that a failed operation has not changed other objects, and that nothing is
// left after --atomic or --cleanup-on-fail. It updates the model.
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
		waited := o.wait && !c.ordered && !o.rejectedByServer()
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

// recordFailure adds the failed revision to the model. Later operations start from its charts
// or from the previous ones, at random.
func (l *releaseRun) recordFailure(o *operation, c *operationCheck) {
	if o.next != nil {
		l.generator.made = o.next.made
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
	undeployed := o.verb == "rollback" && !c.ordered && o.rejectedByServer() && (o.stock || last.status == "deployed")
	if undeployed || o.verb == "install" && last != nil {
		last.status = "superseded"
	}
	m.add(o.revision)
	o.revision.status = "failed"
	m.chain, m.uninstalled = append(m.chain[:len(m.chain):len(m.chain)], o.revision), false
}

// maxHistory is the default of --history-max.
const maxHistory = 10

// history compares the stored revisions with the model. last is the last revision before the
// operation.
func (l *releaseRun) history(o *operation, last *revision) (problems []string) {
	l.Helper()
	m := &l.model
	statuses := l.statuses()
	limit := o.historyMax
	if limit == 0 {
		limit = maxHistory
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
