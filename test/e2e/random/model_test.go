// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// revision contains what is known about a revision of a release.
type revision struct {
	version  int
	status   string
	declared map[string]map[string]string
	bad      defect
	// absent is the "Kind/name" of a declared object that was not created, or empty.
	absent string
	// record is true if the stored revision contains an order record, ordered if it was
	// deployed in order. The two differ if stock Helm has copied the order record in a
	// rollback.
	record, ordered bool
	// remembers contains the objects of earlier revisions that are stored with the revision,
	// because they may exist in the cluster as long as the revision is not deployed.
	remembers map[string]bool
	// pruned is true if the revision is no longer in the history.
	pruned           bool
	config, defaults chartValues
}

// releaseModel contains the expected state of a release.
type releaseModel struct {
	// revisions contains all revisions since the release was installed.
	revisions []*revision
	// chain contains the last revision that was deployed, and all failed revisions since then.
	// The objects of all of them may exist in the cluster.
	chain []*revision
	// uninstalled is true if the release was uninstalled with --keep-history.
	uninstalled bool
	// loose contains undeclared fields that objects may keep, by UID of the object: those of
	// failed revisions, if stock Helm or an upgrade without an order came after them.
	loose map[types.UID]map[string]bool
	// outside contains the objects that the release may have left in the cluster: those with
	// the policy keep, and those of failed revisions, if stock Helm or an upgrade without an
	// order came after them.
	outside map[string]bool
}

func (m *releaseModel) lastRevision() *revision {
	if len(m.revisions) == 0 {
		return nil
	}
	return m.revisions[len(m.revisions)-1]
}

// deployed returns the newest revision with one of the statuses, or nil if there is none.
func (m *releaseModel) deployed(statuses ...string) *revision {
	for _, r := range slices.Backward(m.revisions) {
		if !r.pruned && slices.Contains(statuses, r.status) {
			return r
		}
	}
	return nil
}

// current returns the revision whose values and manifest an upgrade uses as its base.
func (m *releaseModel) current() *revision {
	if r := m.deployed("deployed"); r != nil {
		return r
	}
	return m.lastRevision()
}

// required returns the objects that must exist in the cluster, if this is known.
func (m *releaseModel) required() map[string]map[string]string {
	if len(m.chain) == 0 || m.uninstalled || m.chain[0].status != "deployed" {
		return nil
	}
	return m.chain[0].declared
}

// add adds a revision that an operation created.
func (m *releaseModel) add(r *revision) {
	r.version = 1
	if last := m.lastRevision(); last != nil {
		r.version = last.version + 1
	}
	m.revisions = append(m.revisions, r)
}

// supersede records that all deployed revisions are superseded.
func (m *releaseModel) supersede() {
	for _, r := range m.revisions {
		if r.status == "deployed" {
			r.status = "superseded"
		}
	}
}

// deploy adds a revision and records that only this revision is deployed.
func (m *releaseModel) deploy(r *revision) {
	m.supersede()
	m.add(r)
	r.status, r.pruned, r.remembers = "deployed", false, nil
	m.chain, m.uninstalled = []*revision{r}, false
}

// prune records which revisions are no longer in the history, whose statuses are given.
func (m *releaseModel) prune(statuses map[int]string) {
	for _, r := range m.revisions {
		if statuses[r.version] == "" && r != m.lastRevision() && r.status != "deployed" {
			r.pruned = true
		}
	}
}

// recordLeftovers adds the objects that a step may have left in the cluster to m.outside.
func (m *releaseModel) recordLeftovers(s *modelStep) {
	for _, r := range s.chain {
		for id := range r.declared {
			if s.declared[id] == nil && (!s.mustTrack(id) || r.declared[id]["policy"] != "" || s.leavesAlone(id)) {
				m.outside[id] = true
			}
		}
	}
	for id := range s.declared {
		delete(m.outside, id)
	}
}

// knownObjects returns the objects that an ordered operation knows to be possible leftovers:
// those of the revisions of the chain that are in the history, and those that these remember.
func knownObjects(chain []*revision) map[string]bool {
	ids := map[string]bool{}
	for _, r := range chain {
		if r.pruned {
			continue
		}
		for id := range r.declared {
			ids[id] = true
		}
		maps.Copy(ids, r.remembers)
	}
	return ids
}

// hasRecord reports whether a revision of the chain that is in the history has an order
// record, or remembers objects.
func hasRecord(chain []*revision) bool {
	return slices.ContainsFunc(chain, func(r *revision) bool { return (r.record || len(r.remembers) > 0) && !r.pruned })
}

// recordedObjects returns the objects that a new revision has to remember; see
// revision.remembers.
func recordedObjects(chain []*revision, declared map[string]map[string]string) map[string]bool {
	ids := knownObjects(chain)
	maps.DeleteFunc(ids, func(id string, _ bool) bool {
		newest := newestWith(chain, id)
		return declared[id] != nil || newest != nil && isKeepPolicy(newest.declared[id]["policy"])
	})
	return ids
}

func newestWith(chain []*revision, id string) *revision {
	for _, r := range slices.Backward(chain) {
		if r.declared[id] != nil {
			return r
		}
	}
	return nil
}

// isKeepPolicy reports whether a resource policy is keep, ignoring case and surrounding space.
func isKeepPolicy(policy string) bool { return strings.EqualFold(strings.TrimSpace(policy), "keep") }

// modelStep is a change of the cluster to the objects that a revision declares, or to none. A
// failed upgrade with --atomic consists of two steps.
type modelStep struct {
	// ordered is true if the order is followed, unordered if --wait=false disables that.
	stock, ordered, unordered, force bool
	verb                             string
	// base is the revision with which the new one is compared if the order is not followed, or
	// nil.
	base *revision
	// chain contains the revisions whose objects may exist in the cluster; see
	// releaseModel.chain.
	chain    []*revision
	declared map[string]map[string]string
	// undone is the failed revision that the step rolls back, or nil. found contains the
	// objects that existed before that revision.
	undone *revision
	found  map[string]liveObject
}

// deletionOutcome tells what happens to an object that is no longer declared.
type deletionOutcome int

const (
	deleted deletionOutcome = iota
	kept
	// deletedOrKept applies to objects that the operation may not know, because it is one of
	// stock Helm or does not follow the order.
	deletedOrKept
)

// knowsAllRevisions reports whether the step takes all revisions of the chain into account: if
// it follows the order, or rolls back a release that was deployed in order.
func (s *modelStep) knowsAllRevisions() bool {
	return s.ordered || s.verb == "rollback" && !s.stock && !s.unordered && hasRecord(s.chain)
}

// inChain reports whether a revision of the chain declares an object.
func (s *modelStep) inChain(id string) bool { return newestWith(s.chain, id) != nil }

// outcomeOf returns what happens to an object of the chain that is no longer declared. live
// contains its fields before the step.
func (s *modelStep) outcomeOf(id string, live map[string]string) deletionOutcome {
	if s.leavesAlone(id) {
		return kept
	}
	newest, agreed := newestWith(s.chain, id), true
	policy := newest.declared[id]["policy"]
	for _, r := range s.chain {
		agreed = agreed && (r.declared[id] == nil || r.declared[id]["policy"] == policy)
	}
	agreed = agreed && (live == nil && policy == "" || live != nil && live["policy"] == policy)
	switch {
	case !s.mustTrack(id), !agreed:
		return deletedOrKept
	case s.knowsAllRevisions(), s.verb == "uninstall", s.base == nil, s.base.declared[id] == nil:
		if isKeepPolicy(policy) {
			return kept
		}
	case policy == "keep":
		return kept
	}
	return deleted
}

// leavesAlone reports whether a rollback keeps an object because only the failed revision
// declares it, and the object existed before that revision.
func (s *modelStep) leavesAlone(id string) bool {
	if s.undone == nil || s.stock || newestWith(s.chain[:len(s.chain)-1], id) != nil {
		return false
	}
	_, was := s.found[id]
	return was
}

// mustTrack reports whether the step must know that an object may exist. Stock Helm, and an
// operation on a release that was never deployed in order, know only the objects of one
// revision.
func (s *modelStep) mustTrack(id string) bool {
	switch {
	case s.ordered:
		return knownObjects(s.chain)[id]
	case s.base != nil && s.base.declared[id] != nil:
		return true
	case s.base == nil || s.stock || !hasRecord(s.chain):
		return false
	}
	return knownObjects(s.chain)[id]
}

// mayHaveField reports whether a declared object may have an undeclared field after the step.
// live contains its fields before the step.
func (s *modelStep) mayHaveField(id, key string, live map[string]string) bool {
	if s.force {
		return false
	}
	_, had := live[key]
	if !s.inChain(id) {
		return had // taken over unchanged
	}
	if !s.knowsAllRevisions() && (s.base == nil || s.base.declared[id] == nil) && had {
		return true
	}
	for _, r := range s.chain {
		if _, declares := r.declared[id][key]; declares && r != s.base && (!s.knowsAllRevisions() || r.pruned) {
			return true
		}
	}
	return false
}

// mustKeepFields reports whether the step must keep the fields that other clients have set on
// an object.
func (s *modelStep) mustKeepFields(id string) bool {
	if s.ordered || s.verb != "rollback" || s.declared[id] == nil || s.base.declared[id] != nil {
		return true
	}
	return !s.stock && hasRecord(s.chain) && knownObjects(s.chain)[id]
}
