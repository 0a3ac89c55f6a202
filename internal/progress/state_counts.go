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

// stateCounts holds the number of graph nodes in each state, for one chart or a whole
// operation.
type stateCounts struct {
	all, done, running, failed, waiting int
	// doneWord describes finished nodes: "ready", or "deleted" if the nodes are deleted.
	doneWord string
	// began is when the first node, or wait for external dependencies, started, and ended is when
	// the last one ended.
	began, ended time.Time
}

func newCounts(nodes []*timeline.Span) stateCounts {
	c := stateCounts{doneWord: "ready"}
	for _, n := range nodes {
		c.count(n)
		if n.Start.IsZero() {
			continue
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

// count adds a node to the number of nodes with its state. Waits for external dependencies are
// not counted.
func (c *stateCounts) count(n *timeline.Span) {
	if n.Kind == timeline.External {
		return
	}
	c.all++
	if n.Kind == timeline.Remove {
		c.doneWord = "deleted"
	}
	switch n.State {
	case timeline.Done:
		c.done++
	case timeline.Waiting:
		c.waiting++
	case timeline.Failed:
		c.failed++
	case timeline.Running, timeline.Unfinished:
		c.running++
	}
}

// text formats the number of finished nodes, as in "4 of 12 nodes ready". It is empty if there
// are no nodes.
func (c stateCounts) text() string {
	if c.all == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s %s", c.done, text.Count(c.all, "node"), c.doneWord)
}

// nodeCounts formats how many nodes of an operation are in each state, as in "4 of 12 nodes
// ready, 2 running, 6 waiting". It returns "" if the operation has no nodes.
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
