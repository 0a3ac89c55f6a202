// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/record"
	"github.com/ordered-helm/helm/pkg/action"
)

// orderNote is what status says about the order of a revision: the order, or why
// it is not known.
type orderNote struct {
	*action.Order
	Error string `json:"error,omitempty"`
}

// noteOrder returns what is to be said about a revision's order; nil if it has
// none. What cannot be read must not keep the rest from being shown.
func noteOrder(rel *release.Release) *orderNote {
	order, err := action.OrderOf(rel)
	switch {
	case err != nil:
		return &orderNote{Error: err.Error()}
	case order == nil:
		return nil
	}
	return &orderNote{Order: order}
}

// String is the note in a line of a text.
func (n *orderNote) String() string {
	if n.Order == nil {
		return unknown(n.Error)
	}
	kind := "ordered"
	if !n.Followed {
		kind = "not followed"
	}
	count := "1 node"
	if n.Nodes != 1 {
		count = fmt.Sprintf("%d nodes", n.Nodes)
	}
	switch {
	case !n.Interrupted:
		return kind + ", " + count
	case n.Removing:
		return fmt.Sprintf("%s, %d of %s removed", kind, len(n.Done), count)
	default:
		return fmt.Sprintf("%s, %d of %s done", kind, len(n.Done), count)
	}
}

func unknown(reason string) string { return "unknown (" + reason + ")" }

// wasOrdered tells whether a revision was deployed in order, without rebuilding
// its graph: a history may be long.
func wasOrdered(rel *release.Release) (bool, error) {
	rec, err := record.Read(rel)
	if err != nil || rec == nil {
		return false, err
	}
	return rec.Sequenced && rec.Revision == rel.Version, nil
}
