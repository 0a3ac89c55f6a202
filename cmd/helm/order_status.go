// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/pkg/action"
)

// orderStatus is what the command status prints about the order of a revision. If the order
// record of the revision cannot be read, Error says why, and Order is nil.
type orderStatus struct {
	*action.Order
	Error string `json:"error,omitempty"`
}

// orderStatusOf returns the orderStatus of a revision, or nil if it was not deployed in order.
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

// String returns the text in the line ORDER of the command status.
func (s *orderStatus) String() string {
	if s.Order == nil {
		return unknown(s.Error)
	}
	kind := string(action.OrderFollowed)
	if !s.Followed {
		kind = string(action.OrderIgnored) + " (rolled back by another program; uninstalled in reverse order)"
	}
	count := text.Count(s.Nodes, "node")
	switch {
	case !s.Interrupted:
		return kind + ", " + count
	case s.Removing:
		return fmt.Sprintf("%s, %d of %s deleted%s", kind, len(s.Done), count, s.notFinished())
	default:
		return fmt.Sprintf("%s, %d of %s done%s", kind, len(s.Done), count, s.notFinished())
	}
}

// maxNamedNodes is the maximum number of nodes that notFinished lists by name.
const maxNamedNodes = 3

// notFinished returns the end of the line ORDER, which lists the nodes that have started but
// not finished. It is empty if there are none.
func (s *orderStatus) notFinished() string {
	if len(s.At) == 0 {
		return ""
	}
	return ", not finished: " + text.List(s.At, maxNamedNodes)
}

// describeHolder returns the text in the line LOCK HOLDER of the command status: which process
// holds the lock on the release, and what happens if it is no longer alive.
func describeHolder(h *action.Holder) string {
	text := h.String() + ", " + h.Age()
	switch {
	case h.Dead:
		text += "; it is no longer alive, and the next upgrade, rollback or uninstall takes over the release"
	case h.Expired:
		text += "; if it is no longer alive, the next upgrade, rollback or uninstall takes over the release"
	}
	return text
}

// unknown returns the text for an order that cannot be determined.
func unknown(reason string) string { return "unknown (" + reason + ")" }
