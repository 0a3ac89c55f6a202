// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/harness"
)

// hookPlan is the order in which the hooks of an operation are expected to run. A run is one
// execution of a hook; the second run of hook ID is named ID#2.
type hookPlan struct {
	// ids contains all runs.
	ids []string
	// after contains for each run all runs that must have ended before it.
	after map[string]map[string]bool
	// loose contains the runs for which Helm does not wait.
	loose map[string]bool
}

// parsePlan parses a plan, such as "a b | c > ~d". ">" separates stages; a stage starts when
// the previous one has ended. "|" separates the chains of a stage, which run in parallel. The
// hooks of a chain are separated by spaces and run sequentially. "~" marks hooks for which
// Helm does not wait.
func parsePlan(text string) *hookPlan {
	p := &hookPlan{after: map[string]map[string]bool{}, loose: map[string]bool{}}
	for stage := range strings.SplitSeq(text, ">") {
		before := slices.Clone(p.ids)
		for chain := range strings.SplitSeq(stage, "|") {
			earlier := slices.Clone(before)
			for _, id := range strings.Fields(chain) {
				id, loose := strings.CutPrefix(id, "~")
				p.add(id, loose, earlier)
				earlier = append(earlier, id)
			}
		}
	}
	return p
}

// add adds a run to the plan. after contains all runs that must have ended before it,
// including indirect ones.
func (p *hookPlan) add(id string, loose bool, after []string) {
	set := map[string]bool{}
	for _, earlier := range after {
		set[earlier] = true
		maps.Copy(set, p.after[earlier])
	}
	p.ids, p.after[id], p.loose[id] = append(p.ids, id), set, loose
}

// ready returns the runs that can start when the runs in done have ended, except runs for
// which Helm does not wait.
func (p *hookPlan) ready(done map[string]bool) []string {
	all := maps.Clone(done)
	for { // a run without waiting is done when it can start
		n := len(all)
		for _, id := range p.ids {
			if p.loose[id] && p.isFree(id, all) {
				all[id] = true
			}
		}
		if len(all) == n {
			break
		}
	}
	var ready []string
	for _, id := range p.ids {
		if !all[id] && p.isFree(id, all) {
			ready = append(ready, id)
		}
	}
	return ready
}

func (p *hookPlan) isFree(id string, done map[string]bool) bool {
	for earlier := range p.after[id] {
		if !done[earlier] {
			return false
		}
	}
	return true
}

// followers returns the number of runs that must not start before a run has ended.
func (p *hookPlan) followers(id string) int {
	n := 0
	for _, after := range p.after {
		if after[id] {
			n++
		}
	}
	return n
}

// hookOrderCheck opens the gates of hooks in the order of a plan, and checks that the hooks
// run in that order.
type hookOrderCheck struct {
	plan *hookPlan
	// limit is the maximum number of parallel runs; 0 means no limit.
	limit int
	// pick chooses which of the running hooks completes next. The default is the hook with the
	// most followers, so that chains progress while other hooks are still running.
	pick func(running []string) string
	// together contains the pairs of runs that were kept running until both had started.
	together map[[2]string]bool
}

// checkHookOrder runs helm, which must succeed, and checks that its hooks run according to
// a plan.
func checkHookOrder(tb testing.TB, h *harness.Helm, plan string, args ...string) {
	tb.Helper()
	c := hookOrderCheck{plan: parsePlan(plan)}
	c.run(tb, h, args...)
}

// run runs helm. It lets a hook end only when all hooks that can run in parallel are running,
// up to the limit. This proves that they run in parallel, independently of timing. Afterwards,
// it checks the order of the hooks with the audit log.
func (c *hookOrderCheck) run(tb testing.TB, h *harness.Helm, args ...string) {
	tb.Helper()
	began := time.Now()
	s := startOperation(tb, h, args...)
	defer func() { tb.Logf("helm %s: %d hooks, %s", args[0], len(c.plan.ids), time.Since(began)) }()
	c.together = map[[2]string]bool{}
	done := map[string]bool{}
	for ready := c.plan.ready(done); len(ready) > 0; ready = c.plan.ready(done) {
		want := len(ready)
		if c.limit > 0 {
			want = min(want, c.limit)
		}
		started := func() []string {
			return slices.DeleteFunc(slices.Clone(ready), func(id string) bool { return !s.started[id] })
		}
		s.await("start of "+strings.Join(ready, ", "), func() bool { return len(started()) >= want })
		running := started()
		for _, a := range running {
			for _, b := range running {
				if a < b && !s.finished[a] && !s.finished[b] {
					c.together[[2]string{a, b}] = true
				}
			}
		}
		next := c.choose(running)
		hook, _, _ := strings.Cut(next, "#")
		h.OpenGates(tb, gateOf(hook))
		s.awaitFinished(next)
		done[next] = true
	}
	r := s.end()
	if r.ExitCode != 0 {
		tb.Fatalf("helm %s: exit code %d\n%s%s", strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	}
	c.checkRuns(tb, recordedRuns(tb, h))
}

func (c *hookOrderCheck) choose(running []string) string {
	if c.pick != nil {
		return c.pick(running)
	}
	return slices.MaxFunc(running, func(a, b string) int { return c.plan.followers(a) - c.plan.followers(b) })
}

// checkRuns checks the runs in the audit log: they are exactly those of the plan, each was
// created after all runs before it had ended, the runs in c.together ran in parallel, and no
// more than the limit ran in parallel.
func (c *hookOrderCheck) checkRuns(tb testing.TB, recorded []*hookRun) {
	tb.Helper()
	runs := map[string]*hookRun{}
	for _, r := range recorded {
		runs[r.id] = r
	}
	if got, want := slices.Sorted(maps.Keys(runs)), slices.Sorted(slices.Values(c.plan.ids)); !slices.Equal(got, want) {
		tb.Fatalf("the hooks that ran are\n%v\nwant\n%v", got, want)
	}
	for _, r := range recorded {
		if r.ended.IsZero() || r.failed {
			tb.Errorf("%s did not complete", r.id)
		}
		for _, earlier := range slices.Sorted(maps.Keys(c.plan.after[r.id])) {
			if e := runs[earlier]; r.created.Before(e.ended) {
				tb.Errorf("%s was created at %s, before %s had ended at %s", r.id, r.created, earlier, e.ended)
			}
		}
	}
	for pair := range c.together {
		if a, b := runs[pair[0]], runs[pair[1]]; !a.created.Before(b.ended) || !b.created.Before(a.ended) {
			tb.Errorf("%s and %s did not run together", a.id, b.id)
		}
	}
	if most := maxConcurrent(recorded); c.limit > 0 && most > c.limit {
		tb.Errorf("%d hooks ran at once, more than %d", most, c.limit)
	}
}

// maxConcurrent returns the maximum number of hooks that ran in parallel. A hook runs from the
// request that created it to the request that recorded its end.
func maxConcurrent(runs []*hookRun) int {
	most := 0
	for _, at := range runs {
		n := 0
		for _, r := range runs {
			if !r.created.After(at.created) && at.created.Before(r.ended) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
