// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import "helm.sh/helm/v3/pkg/release"

// State says whether a revision has an order, as in the column ORDER of "helm history".
type State string

const (
	// NotOrdered is for a revision without an order.
	NotOrdered State = ""
	// Ordered is for a revision that was deployed in order.
	Ordered State = "ordered"
	// Ignored is for a revision that another program deployed without an order, with the order record of an
	// earlier revision. An uninstall follows this order.
	Ignored State = "ignored"
	// Unknown is for a revision whose order record cannot be used.
	Unknown State = "unknown"
)

// StateOf says whether a stored release has an order. It reads only the order record, and does not build the
// graph, because it is called for each revision of a history. The error says why the state is Unknown.
func StateOf(rel *release.Release) (State, error) {
	r, err := Read(rel)
	if err != nil {
		return Unknown, err
	}
	return r.State(rel.Version), nil
}

// State says whether the revision that contains the order record has an order. r can be nil.
func (r *Record) State(revision int) State {
	switch {
	case r == nil || !r.Ordered:
		return NotOrdered
	case r.Revision != revision:
		return Ignored
	}
	return Ordered
}
