// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/pkg/action"
)

// orderNote is what status prints about the order of a revision: the order, or why it is
// unknown.
type orderNote struct {
	*action.Order
	Error string `json:"error,omitempty"`
}

// noteOrder returns what to print about the order of a revision, or nil if the revision has
// no order. An unreadable record does not prevent the rest from being shown.
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

// String returns the note as one line of text.
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
		return fmt.Sprintf("%s, %d of %s removed%s", kind, len(n.Done), count, n.at())
	default:
		return fmt.Sprintf("%s, %d of %s done%s", kind, len(n.Done), count, n.at())
	}
}

// maxNamedNodes is the maximum number of nodes that a line lists.
const maxNamedNodes = 3

// at lists the nodes that have begun and are not finished.
func (n *orderNote) at() string {
	if len(n.At) == 0 {
		return ""
	}
	named := strings.Join(n.At[:min(len(n.At), maxNamedNodes)], ", ")
	if more := len(n.At) - maxNamedNodes; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return ", at " + named
}

// holderNote returns a line of text that says which process works on a release.
func holderNote(h *action.Holder) string {
	text := h.String() + ", " + h.Age()
	switch {
	case h.Dead:
		text += "; it is no longer alive, and the next upgrade, rollback or uninstall takes over the release"
	case h.Expired:
		text += "; if it is no longer alive, the next upgrade, rollback or uninstall takes over the release"
	}
	return text
}

func unknown(reason string) string { return "unknown (" + reason + ")" }

// wasOrdered reports whether a revision was deployed in order. It does not rebuild the
// graph, because a history can be long.
func wasOrdered(rel *release.Release) (bool, error) {
	rec, err := releaserecord.Read(rel)
	if err != nil || rec == nil {
		return false, err
	}
	return rec.Ordered && rec.Revision == rel.Version, nil
}
