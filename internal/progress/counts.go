// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/timeline"
)

// counts contains the number of nodes of a chart or an operation by their state, and the
// time from the start of the first node to the end of the last one.
type counts struct {
	all, done, running, failed, waiting int
	// doneAs is the word for finished nodes, "ready" or "deleted".
	doneAs       string
	began, ended time.Time
}

func newCounts(nodes []*timeline.Span) counts {
	c := counts{all: len(nodes), doneAs: "ready"}
	for _, n := range nodes {
		if n.Kind == timeline.Remove {
			c.doneAs = "deleted"
		}
		switch n.State {
		case timeline.Done:
			c.done++
		case timeline.Waiting:
			c.waiting++
			continue
		case timeline.Failed:
			c.failed++
		default:
			c.running++
		}
		if c.began.IsZero() || n.Start.Before(c.began) {
			c.began = n.Start
		}
		if n.End.After(c.ended) {
			c.ended = n.End
		}
	}
	return c
}

// text returns a text such as "4 of 12 nodes ready".
func (c counts) text() string {
	return fmt.Sprintf("%d of %s %s", c.done, text.Count(c.all, "node"), c.doneAs)
}

// nodeCounts returns a text such as "4 of 12 nodes ready, 2 running, 6 waiting" about the
// nodes of an operation. It is empty if there are no nodes.
func nodeCounts(o *timeline.Operation) string {
	kind, ended := timeline.Deploy, !o.End.IsZero()
	if removes(o) {
		kind = timeline.Remove
	}
	var nodes []*timeline.Span
	for _, n := range o.Spans {
		hadNothingToDelete := kind == timeline.Remove && n.State == timeline.Waiting && ended && o.Err == nil
		if n.Kind == kind && !hadNothingToDelete {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	running, waiting := "running", "waiting"
	if ended {
		running, waiting = "not finished", "skipped"
	}
	c := newCounts(nodes)
	parts := []string{c.text()}
	for _, part := range []struct {
		n    int
		what string
	}{{c.failed, "failed"}, {c.running, running}, {c.waiting, waiting}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
