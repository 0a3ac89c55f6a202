// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

func terminating(obj *unstructured.Unstructured, finalizers ...string) *unstructured.Unstructured {
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	obj.SetFinalizers(finalizers)
	return obj
}

func TestDeletionByOthersIsReported(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.Put(deployments, terminating(b.deployment("a", true), "x.example/hold"))
		b.api.Delete(deployments, namespace, "a")
		b.expectWaiting(w)
		b.expectChanges(w, "a InProgress LessAvailable", "a Terminating Terminating", "a Missing Deleted")
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
		if r := w.reports[0]; !r.Deleted || r.Object == nil || r.String() != "Deployment shop/a: Missing: deleted while waiting for it" {
			b.Errorf("got report %+v", r)
		}
	})
}

func TestReplacementIsJudgedAnew(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.Delete(deployments, namespace, "a")
		b.api.Put(deployments, b.deployment("a", false))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectChanges(w, "a InProgress LessAvailable", "a Missing Deleted", "a InProgress LessAvailable", "a Ready Ready")
		if r := w.reports[0]; !r.Replaced || r.Deleted || !strings.Contains(r.String(), "replaced by another object") {
			b.Errorf("got report %+v", r)
		}
	})
}

func TestJobThatGoesAfterItsEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		happen  func(b *fixture)
		ready   bool
		changes []string
	}{
		{"complete, then deleted", func(b *fixture) {
			b.api.Put(jobs, b.job("j", jobComplete))
			b.api.Delete(jobs, namespace, "j")
		}, true, []string{"j Ready Complete"}},
		{"complete and terminating in one event", func(b *fixture) {
			b.api.Put(jobs, terminating(b.job("j", jobComplete), "foregroundDeletion"))
			b.api.Delete(jobs, namespace, "j")
		}, true, []string{"j Ready Complete"}},
		{"complete, seen only by the deletion", func(b *fixture) {
			gate := b.api.Block("watch jobs")
			b.api.Put(jobs, b.job("other", jobRuns)) // the watch is healthy, so it is restarted immediately
			b.expectNotices()
			b.api.CloseWatches()
			b.expectNotices()
			b.api.Put(jobs, b.job("j", jobComplete))
			b.api.Delete(jobs, namespace, "j")
			close(gate)
		}, true, []string{"j Ready Complete"}},
		{"deleted while it ran", func(b *fixture) {
			b.api.Delete(jobs, namespace, "j")
		}, false, []string{"j Missing Deleted"}},
		{"terminating while it ran", func(b *fixture) {
			b.api.Put(jobs, terminating(b.job("j", jobRuns), "foregroundDeletion"))
		}, false, []string{"j Terminating Terminating"}},
		{"complete, deleted, and created again", func(b *fixture) {
			b.api.Put(jobs, b.job("j", jobComplete))
			b.api.Delete(jobs, namespace, "j")
			b.api.Put(jobs, b.job("j", jobRuns))
		}, false, []string{"j Ready Complete", "j InProgress JobRunning"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				a, j := b.deployment("a", false), b.job("j", jobRuns)
				g := b.watcher.ExpectReady(targetOf(deployments, a), targetOf(jobs, j))
				b.write(g, deployments, a)
				b.write(g, jobs, j)
				w := b.wait(g)
				b.expectWaiting(w)
				c.happen(b)
				b.expectWaiting(w)
				b.expectChanges(w, append([]string{"a InProgress LessAvailable", "j InProgress JobRunning"}, c.changes...)...)
				b.api.Put(deployments, b.deployment("a", true))
				time.Sleep(initialRetryInterval * 2) // its watch ended before any event
				if c.ready {
					b.expectOver(w, nil)
				} else {
					b.expectWaiting(w)
				}
			})
		})
	}
}

func TestJobThatWentUnseen(t *testing.T) {
	runTest(t, func(b *fixture) {
		written := b.api.Put(jobs, b.job("j", jobRuns))
		b.api.Delete(jobs, namespace, "j")
		b.api.Compact()
		g := b.watcher.ExpectReady(targetOf(jobs, written))
		b.applied(g, written)
		w := b.wait(g)
		b.expectWaiting(w)
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
		if got := w.err.Error(); !strings.Contains(got, "ttlSecondsAfterFinished") {
			b.Errorf("got error %q", got)
		}
	})
}

func TestPodThatSucceededAndWent(t *testing.T) {
	runTest(t, func(b *fixture) {
		pod := func(phase string) *unstructured.Unstructured {
			return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, status: {phase: %s}}`, phase))
		}
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a), targetOf(pods, pod("Pending")))
		b.write(g, deployments, a)
		b.write(g, pods, pod("Pending"))
		w := b.wait(g)
		b.api.Put(pods, pod("Succeeded"))
		b.api.Delete(pods, namespace, "p")
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
	})
}

func (b *fixture) waitGone(targets ...Target) *waiting {
	return b.background(func(onChange func(Report)) ([]Report, error) {
		return b.watcher.WaitDeleted(b.Context(), targets, onChange)
	})
}

func TestWaitGone(t *testing.T) {
	runTest(t, func(b *fixture) {
		kept := b.api.Put(deployments, b.deployment("a", true))
		b.api.Put(deployments, b.deployment("renewed", true))
		a, renewed, absent := targetOf(deployments, kept), targetOf(deployments, b.deployment("renewed", true)), targetOf(pods, fakeapi.Object(b.T,
			`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}}`))
		a.UID, renewed.UID, absent.UID = kept.GetUID(), "an-earlier-one", "any"

		b.expectOver(b.waitGone(renewed, absent), nil)
		b.expectRequests("get deployments", "get pods")

		w := b.waitGone(a, renewed, absent)
		b.expectWaiting(w)
		b.api.Put(deployments, terminating(b.deployment("a", true), "x.example/hold"))
		b.expectWaiting(w)
		b.api.Delete(deployments, namespace, "a")
		b.api.Put(deployments, b.deployment("a", true)) // a new object with the same name
		b.expectOver(w, nil)
		b.expectChanges(w, "a InProgress NotDeleted", "renewed Ready Gone", "p Ready Gone", "a Terminating Terminating", "a Ready Gone")
		if n := b.api.Count("watch pods") + b.api.Count("list deployments"); n != 0 {
			b.Errorf("%d needless requests", n)
		}
		if n := b.api.Count("watch deployments"); n != 1 {
			b.Errorf("%d watches, want 1", n)
		}
	})
}

func TestWaitGoneReadsManyByList(t *testing.T) {
	runTest(t, func(b *fixture) {
		var targets []Target
		for n := range 20 {
			name := fmt.Sprintf("d%d", n)
			targets = append(targets, targetOf(deployments, b.deployment(name, true)))
			if n%2 == 0 {
				b.api.Put(deployments, b.deployment(name, true))
			}
		}
		w := b.waitGone(targets...)
		b.expectWaiting(w)
		for n := 0; n < 20; n += 2 {
			b.api.Delete(deployments, namespace, fmt.Sprintf("d%d", n))
		}
		b.expectOver(w, nil)
		b.expectRequests("list deployments", "watch deployments")
	})
}

func TestWaitGoneNamesTheFinalizerThatHangs(t *testing.T) {
	runTest(t, func(b *fixture) {
		obj := b.api.Put(deployments, terminating(b.deployment("a", true), "x.example/hold"))
		ctx, cancel := context.WithTimeoutCause(b.Context(), time.Minute, errors.New("time is up"))
		defer cancel()
		reports, err := b.watcher.WaitDeleted(ctx, []Target{targetOf(deployments, obj)}, nil)
		want := "time is up: Deployment shop/a: Terminating: being deleted, waiting for finalizers: x.example/hold"
		if err == nil || err.Error() != want {
			b.Errorf("got error  %v\nwant error %s", err, want)
		}
		if len(reports) != 1 || reports[0].Object.GetUID() != obj.GetUID() {
			b.Errorf("got reports %v", reports)
		}
	})
}

func TestWaitGoneOutlivesAnOutageAtItsStart(t *testing.T) {
	runTest(t, func(b *fixture) {
		target := targetOf(deployments, b.deployment("a", true))
		target.UID = types.UID("u")
		b.transport.RefuseConnections(true)
		w := b.waitGone(target)
		time.Sleep(time.Minute)
		b.expectWaiting(w)
		b.transport.RefuseConnections(false)
		time.Sleep(2 * maxRetryInterval)
		b.expectOver(w, nil)
		b.expectNotices(notice.Unreachable, notice.Reachable)

		b.transport.RefuseConnections(true)
		w = b.waitGone(target)
		time.Sleep(time.Minute)
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
	})
}
