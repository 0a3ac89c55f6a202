// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"strings"
	"time"
)

// do does an operation and checks what became of it.
func (l *randomLife) do(o *randomOperation) {
	l.Helper()
	step := o.step(&l.model)
	fails := o.fails(step.ordered)
	chart, values := l.write(o)
	args := o.arguments(chart, values, fails)
	l.story = append(l.story, fmt.Sprintf("%2d. %s", len(l.story)+1, o.describe(args)))
	before := l.look()
	began := time.Now()
	said := l.execute(o, args)
	l.story[len(l.story)-1] += fmt.Sprintf(" [%.1fs]", time.Since(began).Seconds())
	if failed := said.ExitCode != 0; failed != fails {
		l.fatalf("exit code %d, must fail: %t\n%s%s\n%s", said.ExitCode, fails, said.Stdout, said.Stderr, chainText(step))
	}
	check := &randomCheck{randomStep: step, before: before, after: l.look(), loose: l.model.loose}
	newest := l.model.newest()
	switch {
	case o.verb == "uninstall":
		l.uninstalled(o, check)
	case !fails:
		l.succeeded(o, check)
	default:
		l.failed(o, check)
	}
	l.left += check.left
	check.problems = append(check.problems, append(l.history(o, newest), l.strangersHarmed()...)...)
	if len(check.problems) > 0 {
		l.fatalf("%s\n\nit said:\n%s\nwhat counted:\n%s", strings.Join(check.problems, "\n"), said.Stderr, chainText(check.randomStep))
	}
}

// chainText tells what is known of the revisions that a step has to do with.
func chainText(s *randomStep) string {
	text := ""
	for _, r := range s.chain {
		text += fmt.Sprintf("revision %d, %s, ordered %t, record %t, pruned %t, bad %q, remembers %v\n",
			r.version, r.status, r.ordered, r.record, r.pruned, r.bad, sorted(r.remembers))
		for _, id := range sorted(r.declared) {
			text += fmt.Sprintf("    %s: %s\n", id, told(r.declared[id]))
		}
	}
	return text
}

// uninstalled checks that of the release is left what is kept.
func (l *randomLife) uninstalled(o *randomOperation, c *randomCheck) {
	m := &l.model
	if m.uninstalled {
		c.chain = nil // only the history was left
	}
	c.done()
	m.leave(c.randomStep)
	if !o.keepHistory {
		m.revisions, m.chain, m.uninstalled = nil, nil, false
		return
	}
	m.supersede()
	m.newest().status = "uninstalled"
	m.chain, m.uninstalled = []*randomRevision{m.newest()}, true
}

// succeeded checks that there is what the new revision declares.
func (l *randomLife) succeeded(o *randomOperation, c *randomCheck) {
	c.done()
	l.model.leave(c.randomStep)
	l.proceed(o)
	switch last := l.model.newest(); {
	case o.verb == "install" && last != nil:
		last.status = "superseded"
	case o.verb == "upgrade":
		l.model.current().status = "superseded" // a failed one, too
	}
	l.model.deploy(o.revision)
	l.notePlayed(o.revision)
}

// proceed goes on with the charts of an operation.
func (l *randomLife) proceed(o *randomOperation) {
	if o.next == nil {
		return
	}
	l.family, l.healed = o.next, o.healed
}

func (l *randomLife) notePlayed(r *randomRevision) {
	for id, facts := range r.declared {
		if facts["play"] != "" {
			l.played[id] = true
		}
	}
}

// failed checks that what failed has left everything else as it was, and what undid
// it nothing at all.
func (l *randomLife) failed(o *randomOperation, c *randomCheck) {
	m := &l.model
	undo, target := (*randomStep)(nil), (*randomRevision)(nil)
	if o.verb == "upgrade" && o.atomic {
		undo, target = o.undo(m)
	}
	l.noteFailure(o, c)
	switch {
	case o.verb == "install" && o.atomic:
		c.removed = true
		c.gaveUp(false, true)
	case undo == nil:
		waited := o.wait && !c.ordered && !o.isRefused()
		c.gaveUp(waited, o.cleanup && (!waited || o.verb != "rollback"))
	default:
		m.prune(l.statuses())
		undo.found = c.before
		c.randomStep = undo
		c.done()
		m.leave(undo)
		back := *target
		back.ordered = undo.ordered
		m.deploy(&back)
	}
}

// noteFailure notes the failed revision. The next one goes on with its charts, or
// with those before.
func (l *randomLife) noteFailure(o *randomOperation, c *randomCheck) {
	if o.next != nil {
		l.family.made = o.next.made
		if l.IntN(2) == 0 {
			l.proceed(o)
		}
	}
	l.notePlayed(o.revision)
	m := &l.model
	if o.verb == "install" && o.atomic {
		return
	}
	last := m.newest()
	undeployed := o.verb == "rollback" && !c.ordered && o.isRefused() && (o.stock || last.status == "deployed")
	if undeployed || o.verb == "install" && last != nil {
		last.status = "superseded"
	}
	m.add(o.revision)
	o.revision.status = "failed"
	m.chain, m.uninstalled = append(m.chain[:len(m.chain):len(m.chain)], o.revision), false
}

// mostHistory is how many revisions Helm keeps if nobody says.
const mostHistory = 10

// history compares the stored revisions with those that there must be.
func (l *randomLife) history(o *randomOperation, last *randomRevision) (problems []string) {
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
	if m.newest() != last {
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
