// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/readiness"
)

const (
	// firstPeek is after what time the first look is taken at why something is
	// not ready; each further one takes longer, up to slowestPeek.
	firstPeek   = 2 * time.Second
	slowestPeek = 30 * time.Second
	// mostPeeks is how many of the resources that are waited for are looked at.
	mostPeeks = 10
)

// peeks looks now and then below a resource that is waited for, so that trouble
// that may heal is seen while it lasts.
type peeks struct {
	end  context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	last readiness.Report
}

// peek begins to look, if anybody listens.
func (r *rollout) peek(ctx context.Context, a *await) *peeks {
	p := &peeks{}
	ctx, p.end = context.WithCancel(ctx)
	if r.events.notify != nil && r.explain.during != nil {
		p.done.Go(func() { p.run(ctx, r, a) })
	}
	return p
}

func (p *peeks) saw(report readiness.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = report
}

// stop returns when no look is under way any more.
func (p *peeks) stop() {
	p.end()
	p.done.Wait()
}

func (p *peeks) run(ctx context.Context, r *rollout, a *await) {
	told, chosen := "", false
	defer func() {
		if chosen {
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
		if !chosen {
			select {
			case r.peeking <- struct{}{}:
				chosen = true
			default:
				continue // others are looked at
			}
		}
		told = p.look(ctx, r, a, told)
	}
}

// look tells what it finds if that is news.
func (p *peeks) look(ctx context.Context, r *rollout, a *await, told string) string {
	p.mu.Lock()
	report := p.last
	p.mu.Unlock()
	d := r.explain.diagnoser()
	if d == nil || report.Status.State == "" || report.Status.State == readiness.Ready {
		return told
	}
	var found []string
	for _, cause := range d.Peek(ctx, subjectOf(report)) {
		found = append(found, cause.String())
	}
	text := progress(report.Status) + " - " + strings.Join(found, "; ")
	if len(found) == 0 || text == told || ctx.Err() != nil {
		return told
	}
	r.changed(a, text)
	return text
}
