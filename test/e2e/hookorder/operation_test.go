// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// How long tests wait for watch events of hooks: while helm is running, and after it has
// exited.
const (
	eventTimeout          = time.Minute
	eventTimeoutAfterExit = 10 * time.Second
)

// hookOperation is a run of helm whose hooks wait for their gates. The test observes the hooks
// by watching Jobs and Pods.
type hookOperation struct {
	tb         testing.TB
	h          *harness.Helm
	args       []string
	process    *harness.Process
	jobs, pods watch.Interface
	count      map[string]int
	runs       map[types.UID]string
	// started contains the IDs of the runs of hooks that were created, finished those that
	// completed or failed. The second run of hook ID is ID#2.
	started, finished map[string]bool
}

// startOperation closes all gates, sets h.Started, and starts helm, which is killed at the end
// of the test.
func startOperation(tb testing.TB, h *harness.Helm, args ...string) *hookOperation {
	tb.Helper()
	closeGates(tb, h)
	s := &hookOperation{
		tb: tb, h: h, args: args,
		count: map[string]int{}, runs: map[types.UID]string{}, started: map[string]bool{}, finished: map[string]bool{},
	}
	s.watch(tb.Context())
	tb.Cleanup(func() {
		s.jobs.Stop()
		s.pods.Stop()
	})
	h.Started = harness.Now()
	s.process = h.Start(tb, args...)
	return s
}

// watch starts the watches of Jobs and Pods. Objects that already exist are ignored.
func (s *hookOperation) watch(ctx context.Context) {
	s.tb.Helper()
	jobs, pods := s.h.Cluster.Client().BatchV1().Jobs(s.h.Namespace), s.h.Cluster.Client().CoreV1().Pods(s.h.Namespace)
	oldJobs, err := jobs.List(ctx, metav1.ListOptions{})
	oldPods, err2 := pods.List(ctx, metav1.ListOptions{})
	if err = errors.Join(err, err2); err != nil {
		s.tb.Fatal(err)
	}
	s.jobs, err = jobs.Watch(ctx, metav1.ListOptions{ResourceVersion: oldJobs.ResourceVersion})
	harness.NoError(s.tb, err)
	s.pods, err = pods.Watch(ctx, metav1.ListOptions{ResourceVersion: oldPods.ResourceVersion})
	harness.NoError(s.tb, err)
	for _, job := range oldJobs.Items {
		s.runs[job.UID] = ""
	}
	for _, pod := range oldPods.Items {
		s.runs[pod.UID] = ""
	}
}

// handle updates started and finished with a watch event.
func (s *hookOperation) handle(e watch.Event) {
	s.tb.Helper()
	var o recordedHook
	switch object := e.Object.(type) {
	case *batchv1.Job:
		o.Metadata = object.ObjectMeta
		for _, c := range object.Status.Conditions {
			o.Status.Conditions = append(o.Status.Conditions, struct{ Type, Status string }{string(c.Type), string(c.Status)})
		}
	case *corev1.Pod:
		o.Metadata, o.Status.Phase = object.ObjectMeta, string(object.Status.Phase)
	default:
		s.tb.Fatalf("the watch of hooks: %s %v", e.Type, e.Object)
	}
	id := o.Metadata.Annotations[charts.IDAnnotation]
	if id == "" {
		return
	}
	run, known := s.runs[o.Metadata.UID]
	if !known {
		run = runID(id, s.count)
		s.runs[o.Metadata.UID] = run
	}
	if run == "" { // of an earlier operation
		return
	}
	s.started[run] = true
	if ended, _ := o.ended(); ended {
		s.finished[run] = true
	}
}

// await waits until holds, a condition on the started and finished runs, returns true. It ends
// the test if that takes too long, or if helm exits first.
func (s *hookOperation) await(what string, holds func() bool) {
	s.tb.Helper()
	late, ended := time.After(eventTimeout), s.process.Ended
	for !holds() {
		select {
		case e := <-s.jobs.ResultChan():
			s.handle(e)
		case e := <-s.pods.ResultChan():
			s.handle(e)
		case <-ended:
			late, ended = time.After(eventTimeoutAfterExit), nil
		case <-late:
			s.giveUp(what)
		}
	}
}

func (s *hookOperation) giveUp(what string) {
	s.tb.Helper()
	select {
	case <-s.process.Ended:
		r := s.process.Wait(s.tb)
		s.tb.Fatalf("helm %s ended, exit code %d, before the %s; %s\n%s%s", strings.Join(s.args, " "), r.ExitCode, what, s, r.Stdout, r.Stderr)
	default:
		s.tb.Fatalf("the %s never came; %s", what, s)
	}
}

// awaitStarted waits until hooks were created.
func (s *hookOperation) awaitStarted(ids ...string) {
	s.tb.Helper()
	s.await("start of "+strings.Join(ids, ", "), func() bool { return containsAll(s.started, ids) })
}

// awaitFinished waits until hooks have completed or failed.
func (s *hookOperation) awaitFinished(ids ...string) {
	s.tb.Helper()
	s.await("end of "+strings.Join(ids, ", "), func() bool { return containsAll(s.finished, ids) })
}

func containsAll(set map[string]bool, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !set[id] })
}

// end waits until helm exits, and returns its result.
func (s *hookOperation) end() harness.Result {
	s.tb.Helper()
	return s.process.Wait(s.tb)
}

func (s *hookOperation) String() string {
	return fmt.Sprintf("started %v, finished %v", slices.Sorted(maps.Keys(s.started)), slices.Sorted(maps.Keys(s.finished)))
}
