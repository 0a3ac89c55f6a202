// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
	"github.com/ordered-helm/helm/internal/watcher/observation"
)

func TestWatchStartsFromTheVersionWritten(t *testing.T) {
	runTest(t, func(b *fixture) {
		a, c := b.deployment("a", false), b.deployment("c", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a), targetOf(deployments, c))
		first := b.api.Put(deployments, a)
		second := b.api.Put(deployments, c)
		b.api.Put(deployments, b.deployment("a", true)) // before anybody watches
		b.applied(g, second)
		b.applied(g, first)
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("c", true))
		b.expectOver(w, nil)
		b.expectRequests("watch deployments")
		if got := b.api.WatchedFrom()[0]; got != first.GetResourceVersion() {
			b.Errorf("watched from %s, want %s", got, first.GetResourceVersion())
		}
		b.expectChanges(w, "a InProgress LessAvailable", "c InProgress LessAvailable", "a Ready Ready", "c Ready Ready")
		if w.reports[0].Object.GetManagedFields() != nil || w.reports[1].Target.Name != "c" {
			b.Errorf("reports are fat or out of order: %v", w.reports)
		}
	})
}

func TestEventsBetweenWriteAndAppliedAreKept(t *testing.T) {
	runTest(t, func(b *fixture) {
		other := b.expectOne("other")
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a))
		written := b.api.Put(deployments, a)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectWaiting(other) // the watch has delivered all earlier events
		b.applied(g, written)
		w := b.wait(g)
		b.expectOver(w, nil)
		b.expectChanges(w, "a InProgress LessAvailable", "a Ready Ready")
		b.expectRequests("watch deployments")
	})
}

func TestVersionsBeforeTheWriteDoNotCount(t *testing.T) {
	runTest(t, func(b *fixture) {
		other := b.expectOne("other")
		thing := func(spec string, isReady string) *unstructured.Unstructured {
			return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, namespace: shop},
				spec: {size: %s}, status: {conditions: [{type: Ready, status: %q, reason: R}]}}`, spec, isReady))
		}
		watched := b.watcher.ExpectReady(targetOf(things, fakeapi.Object(b.T, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: z, namespace: shop}}`)))
		b.write(watched, things, fakeapi.Object(b.T, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: z, namespace: shop},
			status: {conditions: [{type: Ready, status: "False", reason: R}]}}`))
		open := b.wait(watched)
		b.expectWaiting(open)

		g := b.watcher.ExpectReady(targetOf(things, thing("1", "True")))
		b.api.Put(things, thing("1", "False"))
		b.api.Put(things, thing("1", "True")) // of the version before the upgrade
		written := b.api.Put(things, thing("2", "False"))
		synctest.Wait()
		b.applied(g, written)
		w := b.wait(g)
		b.expectWaiting(w)
		b.expectChanges(w, "a InProgress R")
		b.api.Put(things, thing("2", "True"))
		b.expectOver(w, nil)
		b.expectWaiting(other)
	})
}

func TestGroupThatWroteBeforeTheWatchStarted(t *testing.T) {
	runTest(t, func(b *fixture) {
		a, c := b.deployment("a", false), b.deployment("c", false)
		early, late := b.watcher.ExpectReady(targetOf(deployments, a)), b.watcher.ExpectReady(targetOf(deployments, c))
		firstWrite := b.api.Put(deployments, a)
		b.api.Put(deployments, b.deployment("a", true))
		b.write(late, deployments, c)
		lateWait := b.wait(late)
		b.expectWaiting(lateWait) // watches from a version after the change of a
		b.applied(early, firstWrite)
		b.expectOver(b.wait(early), nil)
		b.expectRequests("watch deployments", "watch deployments")
		b.api.Put(deployments, b.deployment("c", true))
		b.expectOver(lateWait, nil)
		b.expectChanges(lateWait, "c InProgress LessAvailable", "c Ready Ready")
	})
}

func TestUnchangedObjectDoesNotRestartTheWatch(t *testing.T) {
	runTest(t, func(b *fixture) {
		unchanged := b.api.Put(deployments, b.deployment("a", false))
		other := b.expectOne("other")
		g := b.watcher.ExpectReady(targetOf(deployments, unchanged))
		b.applied(g, unchanged) // a write that changed nothing
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectWaiting(other)
		b.expectRequests("watch deployments")
	})
}

func TestOldVersionOfAnUnchangedObject(t *testing.T) {
	runTest(t, func(b *fixture) {
		written := b.api.Put(deployments, b.deployment("a", false))
		b.api.SendBookmark(deployments, namespace)
		b.api.Compact()
		g := b.watcher.ExpectReady(targetOf(deployments, written))
		b.applied(g, written)
		w := b.wait(g)
		b.expectWaiting(w)
		b.expectRequests("watch deployments", "list deployments", "watch deployments")
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
	})
}

func TestVersionsThatCannotBeCompared(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.FormatVersion = func(v int64) string { return fmt.Sprintf("v-%d", v) }
		other := b.expectOne("other")
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a))
		b.api.Put(deployments, b.deployment("a", true)) // before the upgrade
		written := b.api.Put(deployments, b.deployment("a", false))
		b.expectWaiting(other)
		b.applied(g, written)
		w := b.wait(g)
		b.expectWaiting(w)
		b.expectChanges(w, "a InProgress LessAvailable")
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectRequests("list deployments", "watch deployments", "list deployments", "watch deployments")
		b.api.Delete(deployments, namespace, "other")
		b.expectWaiting(other)
		b.expectChanges(other, "other InProgress LessAvailable", "other Missing Deleted")
		b.api.Put(deployments, b.deployment("other", true))
		b.expectOver(other, nil)
	})
}

func TestLateEventsWithoutComparableVersions(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.FormatVersion = func(v int64) string { return fmt.Sprintf("v-%d", v) }
		other := b.expectOne("other")
		a := b.deployment("a", false)
		target := targetOf(deployments, a)
		target.Evaluate = func(_ context.Context, obj *unstructured.Unstructured) readiness.Status {
			if obj.GetLabels()["broken"] != "" {
				return readiness.Status{State: readiness.Failed, Reason: "Broken"}
			}
			return readiness.Compute(obj)
		}
		g := b.watcher.ExpectReady(target)
		b.api.PauseWatches(true)
		broken := b.deployment("a", false)
		broken.SetLabels(map[string]string{"broken": "yes"})
		b.api.Put(deployments, broken) // before the write, but reported after it
		written := b.api.Put(deployments, a)
		b.applied(g, written)
		b.api.PauseWatches(false)
		b.expectWaiting(other)
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectChanges(w, "a InProgress LessAvailable", "a Ready Ready")
	})
}

func TestWhatCameTooLateDoesNotCount(t *testing.T) {
	runTest(t, func(b *fixture) {
		early := b.deployment("early", false)
		g := b.watcher.ExpectReady(targetOf(deployments, early))
		written := b.api.Put(deployments, early)
		w := b.expectOne("a")
		b.applied(g, written) // the stream could not know this version
		s := b.watcher.streams[streamKey{deployments, namespace}]
		old := watchAttempt{stream: s, epoch: s.epoch}
		again := b.wait(g) // requires an earlier version
		b.expectWaiting(again)

		version := s.version
		late := b.deployment("a", true)
		late.SetResourceVersion("1000")
		if err := old.handleEvent(watch.Event{Type: watch.Modified, Object: late}); !errors.Is(err, errRestarted) || s.version != version {
			b.Errorf("got %v, and version %s in place of %s", err, s.version, version)
		}
		if old.handleReads(map[string]objectreader.Result{"a": {Object: late}}) {
			b.Error("a late reading counts")
		}
		second := b.watcher.ExpectReady(targetOf(deployments, late)) // nobody waits for it yet
		b.write(second, deployments, b.deployment("a", false))
		current := watchAttempt{stream: s, epoch: s.epoch}
		current.handleReads(map[string]objectreader.Result{"a": {Object: late, Version: "1000"}})
		if n := second.objects[0].queue.Len(); n != 1 {
			b.Errorf("a reading that may be older than the write counts")
		}
		b.expectWaiting(again)
		b.expectOver(w, nil) // the version counted for this wait
	})
}

func TestGoingBackDoesNotLoseAListUnderWay(t *testing.T) {
	runTest(t, func(b *fixture) {
		early := b.deployment("early", false)
		g := b.watcher.ExpectReady(targetOf(deployments, early))
		b.write(g, deployments, early)
		other := b.expectOne("other") // its watch starts after early was written
		list := b.api.Block("list deployments")
		absent := b.wait(b.watcher.ExpectReady(targetOf(deployments, b.deployment("absent", false))))
		b.expectWaiting(absent) // requires a list
		w := b.wait(g)          // requires events from before the watch
		b.expectWaiting(w)
		close(list)
		b.expectWaiting(other)
		b.api.Put(deployments, b.deployment("absent", true))
		b.api.Put(deployments, b.deployment("early", true))
		b.expectOver(absent, nil)
		b.expectOver(w, nil)
	})
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	runTest(t, func(b *fixture) {
		other := b.expectOne("other")
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a))
		b.write(g, deployments, a)
		for range 3 * observation.MaxQueued {
			b.api.Put(deployments, b.deployment("a", false))
		}
		b.api.Put(deployments, b.deployment("a", true))
		b.expectWaiting(other)
		if n := g.objects[0].queue.Len(); n != observation.MaxQueued {
			b.Errorf("%d versions are kept", n)
		}
		b.expectOver(b.wait(g), nil)
	})
}
