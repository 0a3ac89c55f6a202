// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// chartWaits delays the readiness of charts with handlers of the event wait on which other charts depend.
// The last node of such a chart and its subcharts is ready when the handlers say so.
type chartWaits struct {
	run *Run

	mu     sync.Mutex
	charts []*chartWait
}

// chartWait is a chart with handlers of the event wait.
type chartWait struct {
	path string
	// last contains the IDs of those nodes of the chart and its subcharts on which only nodes of other
	// charts depend, and that are not ready.
	last map[string]bool
}

func newChartWaits(r *Run) *chartWaits {
	w := &chartWaits{run: r}
	for _, path := range r.options.Lifecycle.WaitingCharts() {
		if last := lastNodes(r.plan, path); len(last) > 0 {
			w.charts = append(w.charts, &chartWait{path, last})
		}
	}
	return w
}

// lastNodes returns the IDs of the nodes on which nodes outside of a chart and its subcharts depend, but
// no node inside does.
func lastNodes(p *sequencer.Plan, chart string) map[string]bool {
	path := strings.ReplaceAll(chart, "/charts/", "/")
	isInside := func(i int) bool { return p.Nodes[i].Chart == path || strings.HasPrefix(p.Nodes[i].Chart, path+"/") }
	last, inner := map[string]bool{}, map[int]bool{}
	for i := range p.Nodes {
		for _, dependency := range p.Dependencies(i) {
			if isInside(i) {
				inner[dependency] = true
			}
		}
	}
	for i, n := range p.Nodes {
		if isInside(i) && !inner[i] && n.Awaited {
			last[n.ID()] = true
		}
	}
	return last
}

// await waits for the handlers of the charts whose last node is n, after the resources of n are ready.
func (w *chartWaits) await(ctx context.Context, n *sequencer.Node) error {
	for _, path := range w.finish(n.ID()) {
		if err := w.run.options.Lifecycle.Await(ctx, lifecycle.WaitOptions{Chart: path, Observe: w.run.op.Events.HandlerProgress(n.ID())}); err != nil {
			return failure.Resources{w.failure(ctx, n, path, err)}
		}
	}
	return nil
}

// finish records that the resources of a node are ready, and returns the charts whose last node it is.
// Subcharts come before the charts around them.
func (w *chartWaits) finish(node string) (paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.charts {
		if !c.last[node] {
			continue
		}
		if delete(c.last, node); len(c.last) == 0 {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// failure describes that a handler has failed, or that it was interrupted.
func (w *chartWaits) failure(ctx context.Context, n *sequencer.Node, path string, err error) *failure.Resource {
	f := &failure.Resource{Node: n.ID(), Title: "chart " + path, State: string(readiness.InProgress), Reason: "WaitHandler", Err: err, Outcome: "is not ready"}
	cause := failure.Cause{Object: "handler of " + string(lifecycle.Wait), Reason: "NotDone", Message: err.Error()}
	if detailed, is := errors.AsType[failure.Detailed](err); is {
		cause.Log = detailed.Details()
	}
	if failed, is := errors.AsType[*lifecycle.Error](err); is {
		f.State, cause.Reason, cause.Message = string(readiness.Failed), "Failed", failure.Description(failed.Err)
	} else if ended := context.Cause(ctx); ended != nil {
		cause.Message = ended.Error()
	}
	f.Causes = []failure.Cause{cause}
	return f
}
