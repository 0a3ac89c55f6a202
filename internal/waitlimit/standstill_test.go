// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/podwatch"
)

var (
	podResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	setResource   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
)

// fixture has a Standstill with a limit of ten seconds for a Deployment, and a fake API server
// that contains its ReplicaSet.
type fixture struct {
	*testing.T
	api     *fakeapi.Server
	pods    *podwatch.Watcher
	failure *FirstFailure
	limit   *Standstill
	began   time.Time
}

// runTest runs a test in fake time.
func runTest(t *testing.T, limit time.Duration, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewServer(t)
		f := &fixture{T: t, api: api, failure: &FirstFailure{}, began: time.Now()}
		f.pods = podwatch.New(t.Context(), fakeapi.Client(t, "http://127.0.0.1", &fakeapi.Transport{Handler: api}))
		defer f.pods.Close()
		f.put(setResource, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, uid: set-1, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: '1'}, "+
			"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]}}")
		f.limit = NewStandstill(StandstillConfig{Limit: limit, Pods: f.pods, Failure: f.failure})
		f.limit.Start(f.began)
		f.limit.Observe(f.deployment(0), false, f.began)
		test(f)
		f.pods.Close()
		synctest.Wait()
		if n := api.OpenWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}

func (f *fixture) put(resource schema.GroupVersionResource, manifest string) {
	f.Helper()
	f.api.Put(resource, fakeapi.Object(f.T, manifest))
	synctest.Wait() // until it has been observed
}

// now returns a timestamp.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

func (f *fixture) deployment(ready int) *unstructured.Unstructured {
	f.Helper()
	return fakeapi.Object(f.T, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: web, generation: 1, creationTimestamp: %q}, "+
		"spec: {selector: {matchLabels: {app: web}}}, status: {observedGeneration: 1, readyReplicas: %d}}", f.began.UTC().Format(time.RFC3339), ready))
}

// putPod stores a pod of the Deployment that was created at a time. spec and status are
// additional entries of its spec and status.
func (f *fixture) putPod(created, spec, status string) {
	f.Helper()
	f.put(podResource, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: shop, uid: pod, labels: {app: web}, creationTimestamp: %q, "+
		"ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: set-1, controller: true}]}, spec: {containers: [{name: app}]%s}, status: {phase: Pending%s}}", created, spec, status))
}

const (
	noSpec    = ""
	scheduled = ", nodeName: node"
)

func (f *fixture) putEvent(reason string) {
	f.Helper()
	f.put(eventResource, fmt.Sprintf("{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: shop}, reason: %s, "+
		"involvedObject: {kind: Pod, name: web-1-a, uid: pod, fieldPath: 'spec.containers{app}'}, firstTimestamp: %q, lastTimestamp: %q}", "e-"+time.Now().Format("150405"), reason, now(), now()))
}

// pass lets a time pass, and calls the limit like package watcher. It returns whether the time
// of the Deployment is used up, and stops then.
func (f *fixture) pass(duration time.Duration) (expired bool) {
	f.Helper()
	examined := false
	for end := time.Now().Add(duration); time.Now().Before(end); {
		again := f.limit.Check(time.Now())
		switch {
		case again > time.Second:
			f.Fatalf("to be called again after %s", again)
		case again > 0:
			examined = false
			time.Sleep(min(again, time.Until(end)))
			synctest.Wait()
		case examined:
			return true
		default:
			f.limit.Examine(f.Context())
			examined = true
		}
	}
	return false
}

// expectExpired lets time pass until the time of the Deployment is used up, and checks that
// this happens after the given time since the start.
func (f *fixture) expectExpired(want time.Duration) {
	f.Helper()
	if !f.pass(time.Hour) {
		f.Fatal("its time is not used up")
	}
	if got := time.Since(f.began); got != want {
		f.Errorf("its time was used up after %s, want %s", got, want)
	}
	var stoodStill *StandstillError
	if err := f.limit.Err(); !errors.As(err, &stoodStill) || err.Error() != "stood still for 10s" {
		f.Errorf("got %v", err)
	}
}

func (f *fixture) expectRequests(want int) {
	f.Helper()
	if got := f.api.Requests(); len(got) != want {
		f.Errorf("got requests %q, want %d", got, want)
	}
}

const ten = 10 * time.Second

func TestStandstillWithoutProgress(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		f.putPod(now(), scheduled, "")
		if f.pass(ten - 1) {
			t.Error("too early")
		}
		f.expectRequests(0)
		f.expectExpired(11 * time.Second) // the timestamp of the pod may have been rounded
		f.expectRequests(6)               // a list and a watch of pods, ReplicaSets and events
	})
}

// TestStandstillReadsNothing checks that no request is sent for a resource whose status
// changes often enough.
func TestStandstillReadsNothing(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		for ready := 1; ready < 10; ready++ {
			if f.pass(9 * time.Second) {
				t.Fatal("too early")
			}
			f.limit.Observe(f.deployment(ready), false, time.Now())
		}
		f.expectRequests(0)
		f.expectExpired(9*9*time.Second + ten)
	})
}

func TestStandstillWhileImageIsPulled(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		f.putPod(now(), scheduled, "")
		time.Sleep(time.Second)
		f.putEvent("Pulling")
		if f.pass(10 * time.Minute) {
			t.Fatal("too early")
		}
		f.putEvent("Failed")
		f.expectExpired(10*time.Minute + time.Second + ten)
	})
}

func TestStandstillWhileContainerStarts(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		f.putPod(now(), scheduled, "")
		if f.pass(10500 * time.Millisecond) {
			t.Fatal("too early")
		}
		f.putPod(f.began.UTC().Format(time.RFC3339), scheduled, ", containerStatuses: [{name: app, state: {running: {startedAt: "+now()+"}}}]")
		f.expectExpired(20500 * time.Millisecond)
	})
}

func TestStandstillWithoutNode(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		f.putPod(now(), noSpec, "")
		if f.pass(10 * time.Minute) {
			t.Fatal("too early")
		}
		f.putPod(f.began.UTC().Format(time.RFC3339), scheduled, "")
		f.expectExpired(10*time.Minute + ten)
	})
}

// TestStandstillOfPod checks that a Pod is one of its own pods: only events have to be read.
func TestStandstillOfPod(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		observe := func(spec, status string) {
			f.limit.Observe(fakeapi.Object(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: shop, uid: pod, creationTimestamp: %q}, "+
				"spec: {containers: [{name: app}]%s}, status: {phase: Pending%s}}", f.began.UTC().Format(time.RFC3339), spec, status)), false, time.Now())
		}
		observe(noSpec, "")
		if f.pass(time.Minute) {
			t.Fatal("too early: it has no node")
		}
		observe(scheduled, "")
		f.putEvent("Pulling")
		if f.pass(time.Minute) {
			t.Fatal("too early: its image is being pulled")
		}
		observe(scheduled, ", containerStatuses: [{name: app, state: {running: {startedAt: "+now()+"}}}]")
		f.expectExpired(2*time.Minute + ten)
		f.expectRequests(2)
	})
}

// TestStandstillOfPodsOfOthers checks that pods of an earlier generation, and pods of others
// that match the selector, do not count.
func TestStandstillOfPodsOfOthers(t *testing.T) {
	runTest(t, ten, func(f *fixture) {
		f.put(setResource, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, namespace: shop, uid: set-2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: '2'}, "+
			"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]}}")
		f.putPod(now(), noSpec, "")
		f.put(podResource, "{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: shop, labels: {app: web}}}")
		f.expectExpired(ten)
	})
}

// TestStandstillWithoutPermissions checks that all time counts if pods or events may not be
// read, and that they are read at intervals if they may not be watched.
func TestStandstillWithoutPermissions(t *testing.T) {
	for _, c := range []struct {
		denied string
		want   time.Duration
	}{
		{"list pods", ten},
		{"list replicasets", ten},
		{"list events", 11 * time.Second},
		{"watch events", time.Minute + ten},
	} {
		t.Run(c.denied, func(t *testing.T) {
			runTest(t, ten, func(f *fixture) {
				f.api.Fail(c.denied, http.StatusForbidden)
				f.putPod(now(), scheduled, "")
				f.putEvent("Pulling")
				if !f.pass(time.Minute) {
					f.putEvent("Failed")
					if !f.pass(time.Hour) {
						t.Fatal("its time is not used up")
					}
				}
				if got := time.Since(f.began); got < c.want || got > c.want+2*time.Second {
					t.Errorf("its time was used up after %s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestStandstillAfterFailure checks that the wait ends ten seconds after another resource has
// failed, whether or not there is a limit.
func TestStandstillAfterFailure(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		runTest(t, limit, func(f *fixture) {
			if f.pass(30 * time.Minute) {
				t.Fatal("too early")
			}
			f.failure.Record()
			if f.pass(ten - 1) {
				t.Error("too early")
			}
			f.failure.Record() // only the first one counts
			if !f.pass(time.Second) || !errors.Is(f.limit.Err(), ErrOtherFailure) {
				t.Error("it is still waited for")
			}
			f.expectRequests(0)
		})
	}
}

// TestFixed checks that the timeout starts again when the resource is no longer ready.
func TestFixed(t *testing.T) {
	f := NewFixed(ten)
	f.Start(started)
	f.Observe(nil, false, after(1))
	if got := f.Check(after(4)); got != 6*time.Second {
		t.Errorf("got %s", got)
	}
	f.Observe(nil, true, after(5))
	f.Observe(nil, false, after(8))
	f.Observe(nil, false, after(9))
	if got := f.Check(after(19)); got != -time.Second {
		t.Errorf("got %s", got)
	}
	if got := f.Err().Error(); got != "not ready within 10s" {
		t.Errorf("got %q", got)
	}
}
