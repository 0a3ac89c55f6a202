// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"strings"
)

// operation is an operation on a release.
type operation struct {
	// verb is install, upgrade, rollback or uninstall.
	verb  string
	stock bool
	// ordered is --wait=ordered. unordered is --wait=false, with which the order of a release
	// is not followed. wait is --wait without a value.
	ordered, unordered, wait bool
	atomic, cleanup, force   bool
	keepHistory, replace     bool
	// upgradeInstall is true for an install with upgrade --install.
	upgradeInstall bool
	// interrupt is the number of applied nodes of the graph after which the operation is
	// interrupted, or 0.
	interrupt  int
	historyMax int
	// reuse is the flag for the values of an upgrade, such as --reuse-values. given contains
	// the values in the file of --values.
	reuse string
	given chartValues
	// target is the revision to which a rollback returns.
	target *revision
	// generator contains the charts of an install or upgrade, with the defect bad unless that
	// is empty, and next the charts without the defect. healed and absent are the results of
	// addDefect.
	generator, next *chartGenerator
	bad             defect
	healed, absent  *template
	// revision is the revision that the operation creates.
	revision *revision
}

// step returns the step of the operation, without the rollback of a failed --atomic upgrade.
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

// undo returns the step that rolls back a failed --atomic upgrade, and the revision to which
// it returns. Both are nil if there is no such revision.
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
	case rejectedByServer, changeRejectedByServer:
		return true
	case neverReadyNode, neverReadyLeaf, hangingNode:
		return ordered || o.wait || o.atomic
	case failingJob:
		return ordered
	}
	return false
}

// prepare sets o.revision to the revision that the operation will create.
func (o *operation) prepare(m *releaseModel) {
	switch o.verb {
	case "install", "upgrade":
		r := &revision{bad: o.bad, record: o.ordered, ordered: o.ordered}
		r.config, r.defaults = o.given, o.generator.defaults
		if o.verb == "upgrade" {
			r.config, r.defaults = o.values(m.current())
		}
		r.declared = o.generator.declare(r.config.merge(r.defaults))
		if o.absent != nil && (o.ordered || o.bad == rejectedByServer) {
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

// values returns the values of an upgrade from the revision current, and the default values of
// the chart.
func (o *operation) values(current *revision) (config, defaults chartValues) {
	switch {
	case o.reuse == "--reuse-values":
		return o.given.merge(current.config), current.config.merge(current.defaults)
	case o.reuse == "--reset-then-reuse-values":
		return o.given.merge(current.config), o.generator.defaults
	case o.reuse == "" && len(o.given) == 0:
		return current.config, o.generator.defaults
	}
	return o.given, o.generator.defaults
}

// arguments returns the arguments for helm. chart and values are the paths of the chart and of
// the file with values.
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

// rejectedByServer reports whether the server rejects an object of the operation.
func (o *operation) rejectedByServer() bool {
	return o.revision.bad == rejectedByServer || o.revision.bad == changeRejectedByServer
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
