// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

const (
	// initialDiagnosisDelay is the delay before a resource that is not ready is diagnosed for
	// the first time. The delay doubles before each further diagnosis, up to
	// maxDiagnosisInterval.
	initialDiagnosisDelay = 2 * time.Second
	maxDiagnosisInterval  = 30 * time.Second
	// maxDiagnosed limits how many resources are diagnosed periodically, over all nodes.
	maxDiagnosed = 10
)

// periodicDiagnosis looks, while an operation waits for the objects of a node, for the causes
// why they are not ready, and emits events with the causes. So users see a problem before the
// timeout, although the problem may still resolve itself.
type periodicDiagnosis struct {
	nodes   *watchingNodeWaiter
	state   *nodeState
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// reports contains the last report on each object that is not ready, by
	// Target.String().
	reports map[string]watcher.Report
}

// startDiagnosis starts the periodic diagnosis of a node in the background, unless nobody
// listens to events. The caller must call stop in either case.
func (w *watchingNodeWaiter) startDiagnosis(ctx context.Context, s *nodeState) *periodicDiagnosis {
	d := &periodicDiagnosis{nodes: w, state: s, reports: map[string]watcher.Report{}}
	ctx, d.cancel = context.WithCancel(ctx)
	if w.events.HasListener() {
		d.running.Go(func() { d.run(ctx) })
	}
	return d
}

// stop stops the periodic diagnosis, and returns when its goroutine has ended.
func (d *periodicDiagnosis) stop() {
	d.cancel()
	d.running.Wait()
}

// update records the latest report on an object, and says whether to emit an event for the
// report. No event is emitted for an object that was ready as soon as it was written.
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
// node's resources. It omits deleted objects, which cannot be diagnosed.
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
	last := map[string]string{} // the text of the last event with causes, by Target.String()
	// Each object to diagnose needs a slot of the semaphore nodes.diagnosed. The node keeps
	// its slots until the periodic diagnosis ends.
	slots := 0
	defer func() {
		for range slots {
			<-d.nodes.diagnosed
		}
	}()
	for interval := initialDiagnosisDelay; ; interval = min(2*interval, maxDiagnosisInterval) {
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		unready := d.unready()
		for slots < len(unready) && d.reserveSlot() {
			slots++
		}
		for _, report := range unready[:min(slots, len(unready))] {
			d.diagnose(ctx, report, last)
		}
	}
}

// reserveSlot tries to take a slot of the semaphore for one more object, without blocking. It
// reports whether a slot was free.
func (d *periodicDiagnosis) reserveSlot() bool {
	select {
	case d.nodes.diagnosed <- struct{}{}:
		return true
	default:
		return false
	}
}

// diagnose looks for the causes why an object is not ready, and emits an event with them. It
// emits nothing if it finds no causes, or if last contains the same causes for the same status
// of the object. (An event about a new status of the object, which has no causes, replaces the
// one with the causes.)
func (d *periodicDiagnosis) diagnose(ctx context.Context, report watcher.Report, last map[string]string) {
	diagnoser := d.nodes.explainer.diagnoser()
	if diagnoser == nil {
		return
	}
	causes := diagnoser.DiagnoseBriefly(ctx, subjectOf(report))
	name, text := report.Target.String(), stateAndMessage(report.Status)+": "+causesText(causes)
	if len(causes) == 0 || text == last[name] || ctx.Err() != nil {
		return
	}
	last[name] = text
	d.nodes.emitChange(d.state, report, causes)
}

// causesText returns causes in one line.
func causesText(causes []failure.Cause) string {
	texts := make([]string, len(causes))
	for i, cause := range causes {
		texts[i] = cause.String()
	}
	return strings.Join(texts, "; ")
}
