// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// hooks lists all hooks in the order of the buckets.
func (w *world) hooks() []*release.Hook {
	var all []*release.Hook
	for _, b := range w.buckets {
		all = append(all, b.Hooks()...)
	}
	return all
}

func (w *world) log() string {
	var lines []string
	for _, c := range w.calls {
		lines = append(lines, fmt.Sprintf("%s - %s %s %s: %v", c.begin, c.end, c.step, c.hook.Name, c.err))
	}
	return strings.Join(lines, "\n")
}

// mostAtOnce returns the largest number of hooks that were in a step at the same time. The
// argument is a prefix of the name of the step; "" matches any step.
func (w *world) mostAtOnce(step string) int {
	most := 0
	for _, c := range w.calls {
		at := map[*release.Hook]bool{}
		for _, other := range w.calls {
			if strings.HasPrefix(other.step, step) && other.begin <= c.begin && c.begin < other.end {
				at[other.hook] = true
			}
		}
		most = max(most, len(at))
	}
	return most
}

// fate is the result of a hook.
type fate int

const (
	neverCreated fate = iota // and did not fail
	notCreated
	inVain
	completed
)

// outcome derives the result of each hook from the calls.
func (w *world) outcome() map[*release.Hook]fate {
	all := map[*release.Hook]fate{}
	for _, h := range w.hooks() {
		prepared, created, waited := w.find("prepare", h), w.find("create", h), w.find("wait", h)
		switch {
		case prepared == nil, prepared.ended:
			all[h] = neverCreated
		case prepared.err != nil, created != nil && created.err != nil:
			all[h] = notCreated
		case waited == nil:
			w.Errorf("%s is created and not waited for", h.Name)
		case waited.err != nil:
			all[h] = inVain
		default:
			all[h] = completed
		}
	}
	return all
}

// checkOrder checks that the hooks ran in the order of the buckets and within the limit,
// and that no hook started after a failure or the end of the operation.
func (w *world) checkOrder(limit int) {
	if most := w.mostAtOnce(""); limit > 0 && most > limit {
		w.Errorf("%d at once", most)
	}
	stop := time.Duration(1 << 62)
	if w.cancelled > 0 {
		stop = w.cancelled
	}
	for _, c := range w.calls {
		if (c.step == "prepare" || c.step == "create" || c.step == "wait") && c.err != nil {
			stop = min(stop, c.end)
		}
	}
	var last time.Duration // the time at which the previous stage ended
	for _, b := range w.buckets {
		for _, s := range b.Stages {
			until := last
			for _, c := range s.Chains {
				previous := last
				for _, h := range c {
					prepared := w.find("prepare", h)
					switch {
					case prepared == nil:
						continue
					case prepared.begin < previous:
						w.Errorf("%s begins before what it comes after has ended", h.Name)
					case prepared.begin >= stop:
						w.Errorf("%s begins after the end", h.Name)
					}
					for _, step := range []string{"prepare", "create", "wait"} {
						if call := w.find(step, h); call != nil {
							previous = call.end
						}
					}
				}
				until = max(until, previous)
			}
			last = until
		}
	}
	for _, c := range w.calls { // a hook that was interrupted before its creation must not be created
		if prepared := w.find("prepare", c.hook); c.step == "create" && prepared.ended {
			w.Errorf("%s is created after the end of the operation", c.hook.Name)
		}
	}
	if len(w.calls) > 0 && stop > w.ended && limit >= 0 {
		for _, h := range w.hooks() {
			if w.find("wait", h) == nil {
				w.Errorf("%s has not run, and nothing kept it", h.Name)
			}
		}
	}
}

// checkError compares the error with the results of the hooks.
func (w *world) checkError(err error, outcome map[*release.Hook]fate) {
	var failed, notStarted []string
	for _, h := range w.hooks() {
		switch outcome[h] {
		case neverCreated:
			notStarted = append(notStarted, h.Name)
		case notCreated, inVain:
			failed = append(failed, fmt.Sprintf("%s %v", h.Name, outcome[h] == inVain))
		}
	}
	var run *hookorder.RunError
	if !errors.As(err, &run) {
		if len(failed)+len(notStarted) > 0 {
			w.Errorf("got %v, failed %q, not started %q", err, failed, notStarted)
		}
		return
	}
	var got []string
	for _, f := range run.Failed {
		got = append(got, fmt.Sprintf("%s %v", f.Hook.Name, f.Created))
		if !errors.Is(err, f.Err) || f.Err == nil {
			w.Errorf("%v of %s is not in the error", f.Err, f.Hook.Name)
		}
	}
	if !slices.Equal(got, failed) || !slices.Equal(strings.Fields(names(run.NotStarted)), notStarted) {
		w.Errorf("got failed %q and not started %q, want %q and %q", got, names(run.NotStarted), failed, notStarted)
	}
	if wasCancelled := w.cancelled > 0 && w.cancelled <= w.runEnd(); wasCancelled != (run.Cause != nil) || wasCancelled != errors.Is(err, errInterrupted) {
		w.Errorf("cancelled: %v, and the cause is %v", wasCancelled, run.Cause)
	}
}

// runEnd returns the time at which the last hook finished, before the cleanup of completed
// hooks.
func (w *world) runEnd() time.Duration {
	end := w.start
	for _, c := range w.calls {
		if !strings.HasSuffix(c.step, "hook-succeeded") {
			end = max(end, c.end)
		}
	}
	return end
}

// checkCleaned checks that each created hook is cleaned up by exactly one policy, that its
// logs are read before its deletion, and that hooks are deleted in reverse order.
func (w *world) checkCleaned(outcome map[*release.Hook]fate) {
	for _, h := range w.hooks() {
		for policy, want := range map[string]bool{"hook-succeeded": outcome[h] == completed, "hook-failed": outcome[h] == inVain} {
			for _, step := range []string{"logs ", "delete "} {
				if n := w.times(step+policy, h); n != map[bool]int{true: 1}[want] {
					w.Errorf("%s of %s: %d times", step+policy, h.Name, n)
				}
			}
			logs, deleted := w.find("logs "+policy, h), w.find("delete "+policy, h)
			if logs != nil && deleted != nil && logs.last > deleted.first {
				w.Errorf("the logs of %s come when it is deleted", h.Name)
			}
		}
	}
	var before []*release.Hook // of earlier stages
	for _, b := range w.buckets {
		for _, s := range b.Stages {
			for _, c := range s.Chains {
				earlier := slices.Clone(before)
				for _, h := range c {
					for _, e := range earlier {
						if x, y := w.find("delete hook-succeeded", e), w.find("delete hook-succeeded", h); x != nil && y != nil && x.first < y.last {
							w.Errorf("%s is deleted before %s is", e.Name, h.Name)
						}
					}
					earlier = append(earlier, h)
				}
			}
			before = append(before, slices.Concat(s.Chains...)...)
		}
	}
}

func (w *world) times(step string, h *release.Hook) int {
	n := 0
	for _, c := range w.calls {
		if c.hook == h && c.step == step {
			n++
		}
	}
	return n
}

// checkCleanedAsHelm checks that hooks are cleaned up as in Helm. If a hook cannot be
// created, nothing is cleaned up. After another failure, the hooks before the failed one
// are deleted, starting with the first, without reading logs. Without a failure, all hooks
// are deleted, starting with the last, until one cannot be deleted.
func (w *world) checkCleanedAsHelm(outcome map[*release.Hook]fate) {
	var done []string
	var failed *release.Hook
	failure := neverCreated
	complete := true
	for _, h := range w.hooks() {
		switch outcome[h] {
		case completed:
			done = append(done, h.Name)
		case neverCreated:
			complete = false
		default:
			complete, failed, failure = false, h, outcome[h]
		}
	}
	var want []string
	if failure == inVain {
		want = append(want, "logs hook-failed "+failed.Name, "delete hook-failed "+failed.Name)
	}
	switch {
	case complete:
		for _, name := range slices.Backward(done) {
			want = append(want, "logs hook-succeeded "+name, "delete hook-succeeded "+name)
			if c := w.calls[len(w.calls)-1]; c.step == "delete hook-succeeded" && c.err != nil && c.hook.Name == name {
				break
			}
		}
	case failure != notCreated:
		for _, name := range done {
			want = append(want, "delete hook-succeeded "+name)
		}
	}
	got := slices.DeleteFunc(w.steps(), func(s string) bool { return !strings.HasPrefix(s, "logs") && !strings.HasPrefix(s, "delete") })
	if !slices.Equal(got, want) {
		w.Errorf("cleaned up %q, want %q", got, want)
	}
}

// checkTime checks that the contexts of creation and cleanup continue for ten seconds after
// the end of the operation.
func (w *world) checkTime() {
	const grace = 10 * time.Second
	latest := w.cancelled + grace
	for _, c := range w.calls {
		switch c.step {
		case "prepare", "wait":
			latest = max(latest, c.end) // the step may have ignored the end of its context
			continue
		case "create":
			latest = max(latest, c.end)
		}
		if c.live != (w.cancelled == 0 || c.begin < w.cancelled+grace) {
			w.Errorf("%s of %s at %s: its context goes on: %v", c.step, c.hook.Name, c.begin, c.live)
		}
	}
	if w.cancelled > 0 && w.ended > latest {
		w.Errorf("it took until %s after an end at %s", w.ended, w.cancelled)
	}
}
