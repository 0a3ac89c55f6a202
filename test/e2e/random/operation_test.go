// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"strings"
)

// operation is one operation on a random release.
type operation struct {
	// verb is install, upgrade, rollback or uninstall.
	verb  string
	stock bool
	// ordered is --wait=ordered. unordered is --wait=false for a release that would
	// otherwise be processed in order. wait is --wait without a value.
	ordered, unordered, wait bool
	atomic, cleanup, force   bool
	keepHistory, replace     bool
	// upgradeInstall installs with upgrade --install.
	upgradeInstall bool
	// interrupt interrupts the operation when this number of nodes is applied; 0 does not
	// interrupt it.
	interrupt  int
	historyMax int
	// reuse is a flag that says where values come from. given contains the given values.
	reuse string
	given chartValues
	// target is the revision to return to.
	target *revision
	// family is what is deployed, with the defect bad, if set. next is the same without the
	// defect, healed the object that would have become ready, and absent the object that is
	// not created.
	family, next   *chartGenerator
	bad            defect
	healed, absent *template
	// revision is the revision that the operation creates.
	revision *revision
}

// step returns what the operation does, without what undoes it.
func (o *operation) step(m *releaseModel) *modelStep {
	s := &modelStep{stock: o.stock, unordered: o.unordered, force: o.force, verb: o.verb, chain: m.chain}
	switch o.verb {
	case "install":
		s.ordered = o.ordered
		if m.uninstalled {
			s.chain = nil // kept objects are taken over unchanged
		}
	case "upgrade":
		s.ordered, s.base = o.ordered, m.current()
	case "rollback":
		s.ordered, s.base = !o.stock && !o.unordered && o.target.record, m.lastRevision()
	case "uninstall":
		s.ordered, s.base = !o.stock && !o.unordered && hasRecord(m.chain), m.lastRevision()
	}
	if o.revision != nil {
		s.declared = o.revision.declared
	}
	return s
}

// undo returns the step that undoes a failed atomic upgrade, and the revision that it
// returns to; nil if there is none.
func (o *operation) undo(m *releaseModel) (*modelStep, *revision) {
	target := m.deployed("deployed")
	if target == nil || o.stock {
		target = m.deployed("deployed", "superseded")
	}
	if target == nil {
		return nil, nil
	}
	return &modelStep{
		stock: o.stock, verb: "rollback", ordered: !o.stock && target.record, base: o.revision, undone: o.revision,
		chain: append(m.chain[:len(m.chain):len(m.chain)], o.revision), declared: target.declared,
	}, target
}

// fails reports whether the operation must fail.
func (o *operation) fails(ordered bool) bool {
	if o.revision == nil {
		return false
	}
	switch o.revision.bad {
	case isRefused, wasRefused:
		return true
	case isNever, isNeverLast, isHanging:
		return ordered || o.wait || o.atomic
	case isFailing:
		return ordered
	}
	return false
}

// prepare creates the revision that the operation will create.
func (o *operation) prepare(m *releaseModel) {
	switch o.verb {
	case "install", "upgrade":
		r := &revision{bad: o.bad, record: o.ordered, ordered: o.ordered}
		r.config, r.defaults = o.given, o.family.defaults
		if o.verb == "upgrade" {
			r.config, r.defaults = o.values(m.current())
		}
		r.declared = o.family.declare(r.config.merge(r.defaults))
		if o.absent != nil && (o.ordered || o.bad == isRefused) {
			r.absent = o.absent.id()
		}
		o.revision = r
	case "rollback":
		r := *o.target
		r.ordered, r.pruned, r.remembers, r.absent = !o.stock && !o.unordered && r.record, false, nil, ""
		o.revision = &r
	}
	if r := o.revision; r != nil && (r.ordered || o.verb == "upgrade" && !o.stock && hasRecord(m.chain)) {
		r.remembers = recordedObjects(m.chain, o.revision.declared)
	}
}

// values returns the values of an upgrade from a revision, with the chart's own values.
func (o *operation) values(current *revision) (config, defaults chartValues) {
	switch {
	case o.reuse == "--reuse-values":
		return o.given.merge(current.config), current.config.merge(current.defaults)
	case o.reuse == "--reset-then-reuse-values":
		return o.given.merge(current.config), o.family.defaults
	case o.reuse == "" && len(o.given) == 0:
		return current.config, o.family.defaults
	}
	return o.given, o.family.defaults
}

// arguments returns the arguments for Helm. The chart and the values are in directories.
func (o *operation) arguments(chart, values string, fails bool) []string {
	args := []string{o.verb, randomName}
	flag := func(given bool, name string) {
		if given {
			args = append(args, name)
		}
	}
	switch o.verb {
	case "install", "upgrade":
		if o.upgradeInstall {
			args = []string{"upgrade", randomName, "--install"}
		}
		args = append(args, chart)
		if len(o.given) > 0 {
			args = append(args, "--values", values)
		}
	case "rollback":
		args = append(args, fmt.Sprint(o.target.version))
	}
	flag(o.replace, "--replace")
	flag(o.verb == "uninstall" && o.keepHistory, "--keep-history")
	flag(o.ordered, "--wait=ordered")
	flag(o.unordered, "--wait=false")
	flag(o.wait, "--wait")
	flag(o.atomic, "--atomic")
	flag(o.cleanup, "--cleanup-on-fail")
	flag(o.force, "--force")
	flag(o.reuse != "", o.reuse)
	if o.historyMax > 0 {
		args = append(args, fmt.Sprintf("--history-max=%d", o.historyMax))
	}
	if o.wait && fails {
		return append(args, "--timeout=3s")
	}
	if !o.stock {
		args = append(args, "--readiness-timeout=60s")
	}
	return append(args, "--timeout=150s")
}

// isRefused reports whether the server rejects what the operation declares.
func (o *operation) isRefused() bool {
	return o.revision.bad == isRefused || o.revision.bad == wasRefused
}

// describe returns a readable description of the operation.
func (o *operation) describe(args []string) string {
	by := "ours "
	if o.stock {
		by = "stock"
	}
	text := by + " " + strings.Join(args, " ")
	if o.revision != nil && o.revision.bad != "" {
		text += fmt.Sprintf(" (%s)", o.revision.bad)
	}
	if len(o.given) > 0 {
		text += fmt.Sprint(" ", map[string]any(o.given))
	}
	if o.interrupt > 0 {
		text += fmt.Sprintf(", interrupted at node %d", o.interrupt)
	}
	return text
}
