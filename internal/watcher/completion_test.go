// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/readiness"
)

const (
	gonePlainly = "deleted while waiting for it"
	goneByTTL   = "deleted before its completion was observed; increase ttlSecondsAfterFinished to keep it longer"
)

// pod returns a pod that runs to completion.
func (b *fixture) pod(status string) *unstructured.Unstructured {
	b.Helper()
	return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: %s}, status: %s}`, namespace, status))
}

// keptJob returns a Job that is not deleted after it has completed.
func (b *fixture) keptJob(name, status string) *unstructured.Unstructured {
	b.Helper()
	return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: %s, namespace: %s}, status: %s}`, name, namespace, status))
}

// expectCompletion starts to wait for objects that were just written.
func (b *fixture) expectCompletion(gvr schema.GroupVersionResource, objects ...*unstructured.Unstructured) *waiting {
	b.Helper()
	var targets []Target
	for _, obj := range objects {
		targets = append(targets, targetOf(gvr, obj))
	}
	g := b.watcher.ExpectCompletion(targets...)
	g.SetOptions(WaitOptions{WaitForAll: true})
	for _, obj := range objects {
		b.write(g, gvr, obj)
	}
	return b.wait(g)
}

// unwatched calls a function whose effects no watch reports, so that the objects are read
// afterwards.
func (b *fixture) unwatched(gvr schema.GroupVersionResource, do func()) {
	b.Helper()
	b.api.Fail("watch "+gvr.Resource, http.StatusGone)
	b.api.CloseWatches()
	do()
	b.api.Compact()
	b.api.Fail("watch "+gvr.Resource, 0)
	time.Sleep(maxRetryInterval * 2)
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		name    string
		gvr     schema.GroupVersionResource
		object  func(b *fixture) *unstructured.Unstructured
		happen  func(b *fixture)
		failed  bool
		message string
		changes []string
	}{
		{
			name: "a Job that is complete", gvr: jobs, message: "complete, succeeded: 1",
			object:  func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen:  func(b *fixture) { b.api.Put(jobs, b.keptJob("j", jobComplete)) },
			changes: []string{"j InProgress JobRunning", "j Ready Complete"},
		},
		{
			name: "a Job that is complete when it is written", gvr: jobs, message: "complete, succeeded: 1",
			object:  func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobComplete) },
			changes: []string{"j Ready Complete"},
		},
		{
			name: "a Job that failed", gvr: jobs, failed: true, message: "failed",
			object:  func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen:  func(b *fixture) { b.api.Put(jobs, b.keptJob("j", jobFailed)) },
			changes: []string{"j InProgress JobRunning", "j Failed BackoffLimitExceeded"},
		},
		{
			name: "a Job that was deleted before", gvr: jobs, failed: true, message: gonePlainly,
			object:  func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen:  func(b *fixture) { b.api.Delete(jobs, namespace, "j") },
			changes: []string{"j InProgress JobRunning", "j Failed Deleted"},
		},
		{
			name: "a Job that is deleted by its own time", gvr: jobs, failed: true, message: goneByTTL,
			object:  func(b *fixture) *unstructured.Unstructured { return b.job("j", jobRuns) },
			happen:  func(b *fixture) { b.api.Delete(jobs, namespace, "j") },
			changes: []string{"j InProgress JobRunning", "j Failed Deleted"},
		},
		{
			name: "a Job that was complete when it was deleted, which one event tells", gvr: jobs, message: "complete, succeeded: 1",
			object: func(b *fixture) *unstructured.Unstructured { return b.job("j", jobRuns) },
			happen: func(b *fixture) {
				b.api.Put(jobs, terminating(b.job("j", jobComplete), "foregroundDeletion"))
				b.api.Delete(jobs, namespace, "j")
			},
			changes: []string{"j InProgress JobRunning", "j Ready Complete"},
		},
		{
			name: "a Job that failed and was deleted", gvr: jobs, failed: true, message: "failed",
			object: func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen: func(b *fixture) {
				b.api.Put(jobs, terminating(b.keptJob("j", jobFailed), "x.example/hold"))
				b.api.Delete(jobs, namespace, "j")
			},
			changes: []string{"j InProgress JobRunning", "j Failed BackoffLimitExceeded"},
		},
		{
			name: "a Job that goes unseen", gvr: jobs, failed: true, message: goneByTTL,
			object:  func(b *fixture) *unstructured.Unstructured { return b.job("j", jobRuns) },
			happen:  func(b *fixture) { b.unwatched(jobs, func() { b.api.Delete(jobs, namespace, "j") }) },
			changes: []string{"j InProgress JobRunning", "j Failed Deleted"},
		},
		{
			name: "a Job whose name another one has taken, which is complete", gvr: jobs, failed: true, message: gonePlainly,
			object: func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen: func(b *fixture) {
				b.unwatched(jobs, func() {
					b.api.Delete(jobs, namespace, "j")
					b.api.Put(jobs, b.keptJob("j", jobComplete))
				})
			},
			changes: []string{"j InProgress JobRunning", "j Failed Deleted"},
		},
		{
			name: "a Job that is being deleted, and then is complete", gvr: jobs, message: "complete, succeeded: 1",
			object: func(b *fixture) *unstructured.Unstructured { return b.keptJob("j", jobRuns) },
			happen: func(b *fixture) {
				b.api.Put(jobs, terminating(b.keptJob("j", jobRuns), "x.example/hold"))
				time.Sleep(time.Minute)
				b.api.Put(jobs, terminating(b.keptJob("j", jobComplete), "x.example/hold"))
			},
			changes: []string{"j InProgress JobRunning", "j Terminating Terminating", "j Ready Complete"},
		},
		{
			name: "a Pod that is ready, and then has completed", gvr: pods, message: "completed successfully",
			object: func(b *fixture) *unstructured.Unstructured { return b.pod("{phase: Pending}") },
			happen: func(b *fixture) {
				b.api.Put(pods, b.pod(`{phase: Running, conditions: [{type: Ready, status: "True"}]}`))
				time.Sleep(time.Minute)
				b.api.Put(pods, b.pod("{phase: Succeeded}"))
			},
			changes: []string{"p InProgress PodRunning", "p Ready Succeeded"},
		},
		{
			name: "a Pod that failed", gvr: pods, failed: true, message: "container app exited with code 3",
			object: func(b *fixture) *unstructured.Unstructured { return b.pod("{phase: Running}") },
			happen: func(b *fixture) {
				b.api.Put(pods, b.pod("{phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3}}}]}"))
			},
			changes: []string{"p InProgress PodRunning", "p Failed PodFailed"},
		},
		{
			name: "a Pod that is gone", gvr: pods, failed: true, message: gonePlainly,
			object:  func(b *fixture) *unstructured.Unstructured { return b.pod("{phase: Running}") },
			happen:  func(b *fixture) { b.api.Delete(pods, namespace, "p") },
			changes: []string{"p InProgress PodRunning", "p Failed Deleted"},
		},
		{
			name: "a Pod that nothing can run at first", gvr: pods, message: "completed successfully",
			object: func(b *fixture) *unstructured.Unstructured {
				return b.pod("{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff}}}]}")
			},
			happen:  func(b *fixture) { b.api.Put(pods, b.pod("{phase: Succeeded}")) },
			changes: []string{"p InProgress ImagePullBackOff", "p Ready Succeeded"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				w := b.expectCompletion(c.gvr, c.object(b))
				if c.happen != nil {
					b.expectWaiting(w)
					c.happen(b)
				}
				want := error(nil)
				if c.failed {
					want = ErrFailed
				}
				b.expectOver(w, want)
				b.expectChanges(w, c.changes...)
				r := w.reports[0]
				isGone := r.Status.Reason == readiness.ReasonDeleted
				if !strings.Contains(r.Status.Message, c.message) || r.Deleted != isGone || r.Object == nil || r.Replaced {
					b.Errorf("got report %+v", r)
				}
			})
		})
	}
}

// TestCompletionOfSeveral checks that the wait continues for all objects, even if the first
// one fails.
func TestCompletionOfSeveral(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectCompletion(jobs, b.keptJob("a", jobRuns), b.keptJob("b", jobRuns), b.keptJob("c", jobRuns))
		b.expectWaiting(w)
		b.api.Put(jobs, b.keptJob("a", jobFailed))
		b.api.Put(jobs, b.keptJob("b", jobComplete))
		b.expectWaiting(w)
		b.api.Delete(jobs, namespace, "b") // this has no effect any more
		b.api.Delete(jobs, namespace, "a")
		b.expectWaiting(w)
		b.api.Put(jobs, b.keptJob("c", jobComplete))
		b.expectOver(w, ErrFailed)
		b.expectChanges(w, "a InProgress JobRunning", "b InProgress JobRunning", "c InProgress JobRunning",
			"a Failed BackoffLimitExceeded", "b Ready Complete", "c Ready Complete")
		var late *NotReadyError
		if !errors.As(w.err, &late) || len(late.Reports) != 1 || late.Reports[0].Target.Name != "a" || len(w.reports) != 3 {
			b.Errorf("got %v", w.err)
		}
	})
}

// TestCompletionIsNotWaitedForAnyMore checks the wait and its reports when the context
// ends.
func TestCompletionIsNotWaitedForAnyMore(t *testing.T) {
	over := errors.New("over")
	runTest(t, func(b *fixture) {
		ctx, cancel := context.WithCancelCause(b.Context())
		obj := b.keptJob("j", jobRuns)
		g := b.watcher.ExpectCompletion(targetOf(jobs, obj))
		b.write(g, jobs, obj)
		w := b.background(func(onChange func(Report)) ([]Report, error) { return g.Wait(ctx, onChange) })
		b.expectWaiting(w)
		b.api.Put(jobs, terminating(b.keptJob("j", jobRuns), "x.example/hold"))
		b.expectWaiting(w)
		cancel(over)
		b.expectOver(w, over)
		if got, want := w.reports[0].String(), "Job shop/j: Terminating: being deleted, waiting for finalizers: x.example/hold"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestCompletionOfWhatWasNeverWritten checks that objects that were not written are read
// first.
func TestCompletionOfWhatWasNeverWritten(t *testing.T) {
	runTest(t, func(b *fixture) {
		there := b.api.Put(jobs, b.keptJob("j", jobComplete))
		w := b.wait(b.watcher.ExpectCompletion(targetOf(jobs, there)))
		b.expectOver(w, nil)
		w = b.wait(b.watcher.ExpectCompletion(targetOf(jobs, b.keptJob("absent", jobRuns))))
		b.expectOver(w, ErrFailed)
		if r := w.reports[0]; r.Status.Reason != readiness.ReasonDeleted || r.Status.Message != "not found on the server" || r.Object != nil {
			b.Errorf("got %+v", r)
		}
	})
}

// TestCompletionOfWhatIsReplaced checks a completed object that is replaced with another of
// the same name, while the wait for another object continues.
func TestCompletionOfWhatIsReplaced(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectCompletion(jobs, b.keptJob("a", jobRuns), b.keptJob("b", jobRuns))
		b.expectWaiting(w)
		b.api.Put(jobs, b.keptJob("b", jobComplete))
		b.expectWaiting(w)
		b.api.Delete(jobs, namespace, "b")
		b.expectWaiting(w)
		b.api.Put(jobs, b.keptJob("b", jobRuns))
		b.expectWaiting(w)
		b.api.Put(jobs, b.keptJob("a", jobComplete))
		b.expectOver(w, nil)
	})
}
