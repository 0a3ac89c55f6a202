// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
)

// counts contains the number of nodes of an operation by their state.
type counts struct {
	all, done, running, failed, waiting int
	// doneAs is the word that text uses for finished nodes, as in "ready"; runAs is that
	// for started nodes, and waitAs is that for nodes that have not started.
	doneAs, runAs, waitAs string
}

func newCounts(o *timeline.Operation) counts {
	kind, doneAs := timeline.Deploy, "ready"
	if removes(o) {
		kind, doneAs = timeline.Remove, "deleted"
	}
	c := counts{doneAs: doneAs, runAs: "running", waitAs: "waiting"}
	if !o.End.IsZero() {
		c.runAs, c.waitAs = "not finished", "skipped"
	}
	for _, n := range o.Spans {
		if n.Kind != kind {
			continue
		}
		if n.State == timeline.Waiting && kind == timeline.Remove && !o.End.IsZero() && o.Err == nil {
			continue // the node had nothing to delete
		}
		c.all++
		switch n.State {
		case timeline.Done:
			c.done++
		case timeline.Waiting:
			c.waiting++
		case timeline.Failed:
			c.failed++
		default:
			c.running++
		}
	}
	return c
}

// text returns a text such as "4 of 12 nodes ready, 2 running, 6 waiting". It is empty if
// there are no nodes.
func (c counts) text() string {
	if c.all == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d of %s %s", c.done, counted(c.all, "node"), c.doneAs)}
	for _, part := range []struct {
		n    int
		what string
	}{{c.failed, "failed"}, {c.running, c.runAs}, {c.waiting, c.waitAs}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// chartSummary contains the number of nodes of a chart by their state, and the time from the
// start of the first node to the end of the last one.
type chartSummary struct {
	all, done, waiting int
	doneAs             string
	began, ended       time.Time
}

func newChartSummary(nodes []*timeline.Span) chartSummary {
	f := chartSummary{all: len(nodes), doneAs: "ready"}
	for _, n := range nodes {
		if n.Kind == timeline.Remove {
			f.doneAs = "deleted"
		}
		switch n.State {
		case timeline.Done:
			f.done++
		case timeline.Waiting:
			f.waiting++
			continue
		}
		if f.began.IsZero() || n.Start.Before(f.began) {
			f.began = n.Start
		}
		if n.End.After(f.ended) {
			f.ended = n.End
		}
	}
	return f
}

func (f chartSummary) text() string {
	return fmt.Sprintf("%d of %s %s", f.done, counted(f.all, "node"), f.doneAs)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
