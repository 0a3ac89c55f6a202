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

// orderStatus is what status prints about the order of a revision. If the record of the
// revision cannot be read, Error says why, and Order is nil.
type orderStatus struct {
	*action.Order
	Error string `json:"error,omitempty"`
}

// orderStatusOf returns what to print about the order of a revision, or nil if the revision
// was not deployed in order.
func orderStatusOf(rel *release.Release) *orderStatus {
	order, err := action.OrderOf(rel)
	switch {
	case err != nil:
		return &orderStatus{Error: err.Error()}
	case order == nil:
		return nil
	}
	return &orderStatus{Order: order}
}

// String returns the text in the line ORDER of status.
func (s *orderStatus) String() string {
	if s.Order == nil {
		return unknown(s.Error)
	}
	kind := "ordered"
	if !s.Followed {
		kind = "ignored (rolled back by another program)"
	}
	count := text.Count(s.Nodes, "node")
	switch {
	case !s.Interrupted:
		return kind + ", " + count
	case s.Removing:
		return fmt.Sprintf("%s, %d of %s deleted%s", kind, len(s.Done), count, s.inProgress())
	default:
		return fmt.Sprintf("%s, %d of %s done%s", kind, len(s.Done), count, s.inProgress())
	}
}

// maxNamedNodes is the maximum number of nodes that the line ORDER names.
const maxNamedNodes = 3

// inProgress returns the end of the line ORDER: the nodes that have started but are not
// finished.
func (s *orderStatus) inProgress() string {
	if len(s.At) == 0 {
		return ""
	}
	return ", in progress: " + text.List(s.At, maxNamedNodes)
}

// describeHolder returns the text in the line LOCK HOLDER of status: which process works on
// the release, and what happens if it is no longer alive.
func describeHolder(h *action.Holder) string {
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
