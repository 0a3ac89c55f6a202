// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/pkg/action"
)

// orderNote is what status prints about the order of a revision. If the record of the
// revision cannot be read, Error says why, and Order is nil.
type orderNote struct {
	*action.Order
	Error string `json:"error,omitempty"`
}

// noteOrder returns what to print about the order of a revision, or nil if the revision was
// not deployed in order.
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

// String returns the text in the line ORDER of status.
func (n *orderNote) String() string {
	if n.Order == nil {
		return unknown(n.Error)
	}
	kind := "ordered"
	if !n.Followed {
		kind = "ignored (rolled back by another program)"
	}
	count := text.Count(n.Nodes, "node")
	switch {
	case !n.Interrupted:
		return kind + ", " + count
	case n.Removing:
		return fmt.Sprintf("%s, %d of %s deleted%s", kind, len(n.Done), count, n.inProgress())
	default:
		return fmt.Sprintf("%s, %d of %s done%s", kind, len(n.Done), count, n.inProgress())
	}
}

// maxNamedNodes is the maximum number of nodes that the line ORDER names.
const maxNamedNodes = 3

// inProgress returns the end of the line ORDER: the nodes that have started but are not
// finished.
func (n *orderNote) inProgress() string {
	if len(n.At) == 0 {
		return ""
	}
	return ", in progress: " + text.List(n.At, maxNamedNodes)
}

// holderNote returns the text in the line LOCK HOLDER of status: which process works on the
// release, and what happens if it is no longer alive.
func holderNote(h *action.Holder) string {
	note := h.String() + ", " + h.Age()
	switch {
	case h.Dead:
		note += "; it is no longer alive, and the next upgrade, rollback or uninstall takes over the release"
	case h.Expired:
		note += "; if it is no longer alive, the next upgrade, rollback or uninstall takes over the release"
	}
	return note
}

func unknown(reason string) string { return "unknown (" + reason + ")" }

// wasOrdered reports whether a revision was deployed in order. It reads only the record and
// does not rebuild the graph, because a history can contain many revisions.
func wasOrdered(rel *release.Release) (bool, error) {
	rec, err := orderrecord.Read(rel)
	if err != nil || rec == nil {
		return false, err
	}
	return rec.Ordered && rec.Revision == rel.Version, nil
}
