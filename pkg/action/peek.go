// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

const (
	// firstPeek is after what time the first look is taken at why something is
	// not ready; each further one takes longer, up to slowestPeek.
	firstPeek   = 2 * time.Second
	slowestPeek = 30 * time.Second
	// mostPeeks is how many of the resources that are waited for are looked at.
	mostPeeks = 10
)

// peeks looks now and then below resources of a node that are waited for, so
// that trouble that may heal is seen while it lasts.
type peeks struct {
	end  context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// reports are the last ones of what is not ready, by name.
	reports map[string]watcher.Report
}

// peek begins to look, if anybody listens.
func (r *rollout) peek(ctx context.Context, s *slice) *peeks {
	p := &peeks{reports: map[string]watcher.Report{}}
	ctx, p.end = context.WithCancel(ctx)
	if r.events.notify != nil && r.explain.during != nil {
		p.done.Go(func() { p.run(ctx, r, s) })
	}
	return p
}

// saw notes a report. It reports false for what was ready as soon as it was
// written: that is no news.
func (p *peeks) saw(report watcher.Report) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := report.Target.String()
	if report.Status.State == readiness.Ready {
		_, was := p.reports[name]
		delete(p.reports, name)
		return was
	}
	p.reports[name] = report
	return true
}

// open lists what is not ready, in the order of the node. Of what is gone there
// is nothing to be seen.
func (p *peeks) open(s *slice) []watcher.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	var open []watcher.Report
	for _, a := range s.awaits {
		t := watcher.Target{GVR: a.info.Mapping.Resource, GVK: a.info.Mapping.GroupVersionKind, Namespace: scopeOf(a.info), Name: a.info.Name}
		if report, found := p.reports[t.String()]; found && !report.Deleted {
			open = append(open, report)
		}
	}
	return open
}

// stop returns when no look is under way any more.
func (p *peeks) stop() {
	p.end()
	p.done.Wait()
}

func (p *peeks) run(ctx context.Context, r *rollout, s *slice) {
	told := map[string]string{}
	places := 0
	defer func() {
		for range places {
			<-r.peeking
		}
	}()
	for pause := firstPeek; ; pause = min(2*pause, slowestPeek) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		open := p.open(s)
		for places < len(open) && r.takePlace() {
			places++
		}
		for _, report := range open[:min(places, len(open))] {
			look(ctx, r, s, report, told)
		}
	}
}

// takePlace reports whether one more resource may be looked at.
func (r *rollout) takePlace() bool {
	select {
	case r.peeking <- struct{}{}:
		return true
	default:
		return false // enough others are
	}
}

// look tells what it finds below a resource if that is news.
func look(ctx context.Context, r *rollout, s *slice, report watcher.Report, told map[string]string) {
	d := r.explain.diagnoser()
	if d == nil {
		return
	}
	var found []string
	for _, cause := range d.DiagnoseBriefly(ctx, subjectOf(report)) {
		found = append(found, cause.String())
	}
	text := strings.Join(found, "; ")
	name := report.Target.String()
	if len(found) == 0 || text == told[name] || ctx.Err() != nil {
		return
	}
	told[name] = text
	r.changed(s, report, text)
}
