// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/readiness"
)

const namespace = "shop"

// deployment returns a Deployment with a single replica, ready or not.
func (b *fixture) deployment(name string, isReady bool) *unstructured.Unstructured {
	b.Helper()
	n := 0
	if isReady {
		n = 1
	}
	return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s, generation: 1,
		managedFields: [{manager: m, fieldsV1: {"f:spec": {}}}]},
		spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: %d, availableReplicas: %d,
		conditions: [{type: Available, status: "True"}]}}`, name, namespace, n, n))
}

func (b *fixture) job(name, status string) *unstructured.Unstructured {
	b.Helper()
	return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: %s, namespace: %s, generation: 1},
		spec: {ttlSecondsAfterFinished: 0}, status: %s}`, name, namespace, status))
}

const (
	jobRuns     = `{startTime: "2024-01-01T00:00:00Z", active: 1}`
	jobComplete = `{startTime: "2024-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}`
	jobFailed   = `{startTime: "2024-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}`
)

func targetOf(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) Target {
	return Target{GVR: gvr, GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// waiting is a Wait that runs in the background.
type waiting struct {
	done    chan struct{}
	reports []Report
	err     error
	changes recorder[string]
}

func (b *fixture) background(wait func(onChange func(Report)) ([]Report, error)) *waiting {
	w := &waiting{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.reports, w.err = wait(func(r Report) {
			w.changes.add(fmt.Sprintf("%s %s %s", r.Target.Name, r.Status.State, r.Status.Reason))
		})
	}()
	return w
}

func (b *fixture) wait(g *TargetGroup) *waiting {
	return b.background(func(onChange func(Report)) ([]Report, error) { return g.Wait(b.Context(), onChange) })
}

// write writes an object and calls Applied, as an installer does.
func (b *fixture) write(g *TargetGroup, gvr schema.GroupVersionResource, obj *unstructured.Unstructured) {
	b.Helper()
	b.applied(g, b.api.Put(gvr, obj))
}

func (b *fixture) applied(g *TargetGroup, obj *unstructured.Unstructured) {
	b.Helper()
	if err := g.Applied(obj); err != nil {
		b.Fatal(err)
	}
}

// expectOver waits until nothing more happens without time passing, and fails the test
// unless the wait has ended.
func (b *fixture) expectOver(w *waiting, want error) {
	b.Helper()
	synctest.Wait()
	select {
	case <-w.done:
	default:
		b.Fatalf("still waiting, changes so far: %v", w.changes.all())
	}
	if !errors.Is(w.err, want) {
		b.Fatalf("got error %v, want %v", w.err, want)
	}
}

// expectDenied is expectOver for a wait that ends because of a missing permission.
func (b *fixture) expectDenied(w *waiting) *ForbiddenError {
	b.Helper()
	synctest.Wait()
	select {
	case <-w.done:
	default:
		b.Fatalf("still waiting, changes so far: %v", w.changes.all())
	}
	var forbidden *ForbiddenError
	if !errors.As(w.err, &forbidden) {
		b.Fatalf("got error %v, want a ForbiddenError", w.err)
	}
	return forbidden
}

func (b *fixture) expectWaiting(w *waiting) {
	b.Helper()
	synctest.Wait()
	select {
	case <-w.done:
		b.Fatalf("the waiting is over: %v %v", w.reports, w.err)
	default:
	}
}

func (b *fixture) expectChanges(w *waiting, want ...string) {
	b.Helper()
	if got := w.changes.all(); !slices.Equal(got, want) {
		b.Errorf("got changes\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// expectRequests compares all requests received so far.
func (b *fixture) expectRequests(want ...string) {
	b.Helper()
	if !slices.Equal(b.api.Requests(), want) {
		b.Errorf("got requests %q, want %q", b.api.Requests(), want)
	}
}

// expectOne starts to wait for one Deployment that is not ready.
func (b *fixture) expectOne(name string) *waiting {
	b.Helper()
	obj := b.deployment(name, false)
	g := b.watcher.ExpectReady(targetOf(deployments, obj))
	b.write(g, deployments, obj)
	w := b.wait(g)
	b.expectWaiting(w)
	return w
}

func TestReadyWhenWrittenCostsNoRequest(t *testing.T) {
	runTest(t, func(b *fixture) {
		configMap := fakeapi.Object(b.T, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}`)
		unchanged := b.deployment("b", true)
		g := b.watcher.ExpectReady(
			targetOf(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, configMap),
			targetOf(deployments, unchanged))
		b.write(g, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, configMap)
		b.write(g, deployments, unchanged)
		w := b.wait(g)
		b.expectOver(w, nil)
		b.expectRequests()
		b.expectChanges(w, "a Ready Ready", "b Ready Ready")
	})
}

func TestGroupsShareOneWatchForEachNamespace(t *testing.T) {
	runTest(t, func(b *fixture) {
		var all []*waiting
		for n := range 50 {
			all = append(all, b.expectOne(fmt.Sprintf("d%d", n)))
		}
		elsewhere := b.deployment("e", false)
		elsewhere.SetNamespace("other")
		g := b.watcher.ExpectReady(targetOf(deployments, elsewhere))
		b.write(g, deployments, elsewhere)
		all = append(all, b.wait(g))
		b.expectWaiting(all[50])
		for n := range 50 {
			b.api.Put(deployments, b.deployment(fmt.Sprintf("d%d", n), true))
		}
		ready := b.deployment("e", true)
		ready.SetNamespace("other")
		b.api.Put(deployments, ready)
		for _, w := range all {
			b.expectOver(w, nil)
		}
		b.expectRequests("watch deployments", "watch deployments")
		for _, path := range b.api.Paths() {
			if !strings.HasPrefix(path, "/apis/apps/v1/namespaces/") {
				b.Errorf("%s reaches beyond one namespace", path)
			}
		}
		// One after the other, with the same watch.
		for n := range 10 {
			w := b.expectOne(fmt.Sprintf("later%d", n))
			b.api.Put(deployments, b.deployment(fmt.Sprintf("later%d", n), true))
			b.expectOver(w, nil)
		}
		b.expectRequests("watch deployments", "watch deployments")
	})
}

func TestFailureEndsTheWaitAtOnce(t *testing.T) {
	runTest(t, func(b *fixture) {
		a, j := b.deployment("a", false), b.job("j", jobRuns)
		g := b.watcher.ExpectReady(targetOf(deployments, a), targetOf(jobs, j))
		b.write(g, deployments, a)
		b.write(g, jobs, j)
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.Put(jobs, b.job("j", jobFailed))
		b.expectOver(w, ErrFailed)
		var notReady *NotReadyError
		if !errors.As(w.err, &notReady) || len(notReady.Reports) != 2 {
			b.Fatalf("got %v, want a NotReadyError with both targets", w.err)
		}
		if len(w.reports) != 2 || w.reports[1].Status.State != readiness.Failed {
			b.Errorf("got reports %v", w.reports)
		}
		want := "failed permanently: Job shop/j: Failed: the job failed; Deployment shop/a: InProgress: Available: 0/1"
		if got := w.err.Error(); got != want {
			b.Errorf("got error  %s\nwant error %s", got, want)
		}
	})
}

func TestReadinessCountsAtTheSameTime(t *testing.T) {
	runTest(t, func(b *fixture) {
		a, c := b.deployment("a", false), b.deployment("c", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a), targetOf(deployments, c))
		b.write(g, deployments, a)
		b.write(g, deployments, c)
		w := b.wait(g)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", false))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("c", true))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
	})
}

func TestEveryVersionIsJudged(t *testing.T) {
	runTest(t, func(b *fixture) {
		a := b.deployment("a", false)
		target := targetOf(deployments, a)
		target.Evaluate = func(_ context.Context, obj *unstructured.Unstructured) readiness.Status {
			if obj.GetLabels()["broken"] != "" {
				return readiness.Status{State: readiness.Failed, Reason: "Broken"}
			}
			return readiness.Compute(obj)
		}
		g := b.watcher.ExpectReady(target)
		b.write(g, deployments, a)
		broken := b.deployment("a", false)
		broken.SetLabels(map[string]string{"broken": "yes"})
		b.api.Put(deployments, broken)
		b.api.Put(deployments, b.deployment("a", true))
		w := b.wait(g)
		b.expectOver(w, ErrFailed)
		b.expectChanges(w, "a InProgress LessAvailable", "a Failed Broken")
	})
}

func TestEndOfTheContext(t *testing.T) {
	runTest(t, func(b *fixture) {
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a))
		b.write(g, deployments, a)
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		go func() {
			time.Sleep(5 * time.Second) // the same state with another reason
			b.api.Put(deployments, fakeapi.Object(b.T, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}}`))
		}()
		reports, err := g.Wait(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			b.Errorf("got %v after %s", err, time.Since(began))
		}
		if len(reports) != 1 || reports[0].Status.Reason != "NotObserved" || reports[0].Since != began {
			b.Errorf("got reports %v", reports)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
		if n := b.api.OpenWatches(); n != 0 {
			b.Errorf("%d watches are open", n)
		}
		late := b.deployment("late", false)
		g := b.watcher.ExpectReady(targetOf(deployments, late))
		b.write(g, deployments, late)
		b.expectOver(b.wait(g), ErrClosed)
		b.expectRequests("watch deployments")
	})
}

func TestAppliedRefusesWhatIsNotExpected(t *testing.T) {
	runTest(t, func(b *fixture) {
		g := b.watcher.ExpectReady(targetOf(deployments, b.deployment("a", false)))
		defer g.Close()
		if err := g.Applied(b.deployment("b", true)); err == nil || !strings.Contains(err.Error(), `Deployment.apps "b"`) {
			b.Errorf("got %v", err)
		}
	})
}

func TestTargetThatWasNotWrittenIsRead(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Put(deployments, b.deployment("a", false))
		w := b.wait(b.watcher.ExpectReady(targetOf(deployments, b.deployment("a", false))))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectRequests("get deployments", "watch deployments")

		absent := b.wait(b.watcher.ExpectReady(targetOf(deployments, b.deployment("absent", false))))
		b.expectWaiting(absent)
		b.expectChanges(absent, "absent Missing NotFound")
		b.api.Put(deployments, b.deployment("absent", true))
		b.expectOver(absent, nil)
	})
}

func TestRecheckJudgesAgainWithoutAnEvent(t *testing.T) {
	runTest(t, func(b *fixture) {
		began := time.Now()
		a := b.deployment("a", false)
		target := targetOf(deployments, a)
		calls := 0
		target.Evaluate = func(context.Context, *unstructured.Unstructured) readiness.Status {
			calls++
			if time.Since(began) < 3*time.Second {
				return readiness.Status{State: readiness.InProgress, Reason: "NotYet", RecheckAfter: time.Second}
			}
			return readiness.Status{State: readiness.Ready, Reason: "Now"}
		}
		g := b.watcher.ExpectReady(target)
		b.write(g, deployments, a)
		if _, err := g.Wait(b.Context(), nil); err != nil || calls != 4 || time.Since(began) != 3*time.Second {
			b.Errorf("got %v after %d calls and %s", err, calls, time.Since(began))
		}
	})
}

// TestRemove checks that a group does not wait for a target that was removed.
func TestRemove(t *testing.T) {
	runTest(t, func(b *fixture) {
		done, running := b.deployment("done", true), b.job("running", jobRuns)
		g := b.watcher.ExpectReady(targetOf(jobs, running), targetOf(deployments, done))
		b.write(g, deployments, done)
		g.Remove(targetOf(jobs, running))
		w := b.wait(g)
		b.expectOver(w, nil)
		if len(w.reports) != 1 || w.reports[0].Target.Name != "done" {
			b.Errorf("got %v", w.reports)
		}
	})
}
