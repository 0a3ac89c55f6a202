// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

const (
	// initialDiagnosis is the delay before a resource that is not ready is diagnosed for
	// the first time. The delay doubles before each further diagnosis, up to
	// maxDiagnosisInterval.
	initialDiagnosis     = 2 * time.Second
	maxDiagnosisInterval = 30 * time.Second
	// maxDiagnosed is the maximum number of resources that are diagnosed while the
	// operation waits for them.
	maxDiagnosed = 10
)

// periodicDiagnosis looks for the causes why objects of a node are not ready while the
// operation still waits for them, and emits these as events. So users see a problem before
// the timeout, even if it may go away.
type periodicDiagnosis struct {
	nodes   *watchedNodes
	state   *nodeState
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// reports has the last report on each object that is not ready. The key is
	// Target.String().
	reports map[string]watcher.Report
}

// startDiagnosis starts the periodic diagnosis of a node in the background. It does nothing
// if nobody listens to events. The caller must call stop.
func (w *watchedNodes) startDiagnosis(ctx context.Context, s *nodeState) *periodicDiagnosis {
	d := &periodicDiagnosis{nodes: w, state: s, reports: map[string]watcher.Report{}}
	ctx, d.cancel = context.WithCancel(ctx)
	if w.events.HasListener() {
		d.running.Go(func() { d.run(ctx) })
	}
	return d
}

// stop stops the diagnosis, and returns when none is running.
func (d *periodicDiagnosis) stop() {
	d.cancel()
	d.running.Wait()
}

// update records the latest report on an object, and reports whether to emit an event for
// it. The event is omitted for an object that was ready as soon as it was written.
func (d *periodicDiagnosis) update(report watcher.Report) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := report.Target.String()
	if report.Status.State == readiness.Ready {
		_, was := d.reports[name]
		delete(d.reports, name)
		return was
	}
	d.reports[name] = report
	return true
}

// unready returns the last reports on the objects that are not ready, in the order of the
// node. It omits deleted objects, which cannot be diagnosed.
func (d *periodicDiagnosis) unready() []watcher.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	var unready []watcher.Report
	for _, o := range d.state.objects {
		target := targetOf(o.info, "")
		if report, found := d.reports[target.String()]; found && !report.Deleted {
			unready = append(unready, report)
		}
	}
	return unready
}

func (d *periodicDiagnosis) run(ctx context.Context) {
	last := map[string]string{} // the causes last emitted for each object, by Target.String()
	// Each object to diagnose needs one of the places in nodes.diagnosed. The node keeps
	// its places until the diagnosis ends.
	places := 0
	defer func() {
		for range places {
			<-d.nodes.diagnosed
		}
	}()
	for interval := initialDiagnosis; ; interval = min(2*interval, maxDiagnosisInterval) {
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		unready := d.unready()
		for places < len(unready) && d.reserveSlot() {
			places++
		}
		for _, report := range unready[:min(places, len(unready))] {
			d.diagnose(ctx, report, last)
		}
	}
}

// reserveSlot takes a place in the semaphore for one more object, and returns false if
// maxDiagnosed objects have one already. It does not block.
func (d *periodicDiagnosis) reserveSlot() bool {
	select {
	case d.nodes.diagnosed <- struct{}{}:
		return true
	default:
		return false
	}
}

// diagnose emits an event with the causes why an object is not ready. It emits nothing if
// it finds none, or the same as in last.
func (d *periodicDiagnosis) diagnose(ctx context.Context, report watcher.Report, last map[string]string) {
	diagnoser := d.nodes.explainer.diagnoser()
	if diagnoser == nil {
		return
	}
	var found []string
	for _, cause := range diagnoser.DiagnoseBriefly(ctx, subjectOf(report)) {
		found = append(found, cause.String())
	}
	result := strings.Join(found, "; ")
	name := report.Target.String()
	if len(found) == 0 || result == last[name] || ctx.Err() != nil {
		return
	}
	last[name] = result
	d.nodes.changed(d.state, report, result)
}
