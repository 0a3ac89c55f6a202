// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package earlierjobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// pollInterval is the time after which the Jobs that are waited for are read again. They are
// not watched, because it is their pods that show whether a container runs.
const pollInterval = time.Second

// awaitBlockers waits until no earlier Job that must not run at the same time as info runs.
func (g *Guard) awaitBlockers(ctx context.Context, info *object.Info) error {
	began, reported := time.Now(), []*earlierJob(nil)
	next := time.NewTicker(pollInterval)
	defer next.Stop()
	var unfinished []*unfinishedJob
	for {
		current, err := g.unfinished(ctx, g.blockersOf(object.IDOf(info)))
		if err != nil {
			return g.stillRunning(ctx, info, unfinished, began, err)
		}
		unfinished = current
		reported = g.report(info, unfinished, reported)
		if len(unfinished) == 0 {
			return nil
		}
		if list := g.toDelete(unfinished); len(list) > 0 {
			if err := g.delete(ctx, list); err != nil {
				return g.stillRunning(ctx, info, unfinished, began, err)
			}
			continue
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return g.stillRunning(ctx, info, unfinished, began, ctx.Err())
		}
	}
}

// toDelete returns the Jobs of which no container runs or, if Stop is set, all that can be
// deleted.
func (g *Guard) toDelete(jobs []*unfinishedJob) kube.ResourceList {
	var list kube.ResourceList
	for _, job := range jobs {
		if g.mustDelete(job) {
			list.Append(job.live)
		}
	}
	return list
}

func (g *Guard) mustDelete(job *unfinishedJob) bool {
	return job.live != nil && !job.kept && (g.Stop || !job.running)
}

// delete deletes Jobs, and waits until they and their pods no longer exist. list contains the
// Jobs as the server returned them.
func (g *Guard) delete(ctx context.Context, list kube.ResourceList) error {
	if len(list) == 0 {
		return nil
	}
	waiter, err := g.Waiter.NewDeletionWaiter(ctx)
	if err != nil {
		return err
	}
	defer waiter.Close()
	await, err := waiter.Expect(ctx, list, nil, metav1.DeletePropagationBackground)
	if err != nil {
		return err
	}
	deletion, errs := g.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	if len(errs) > 0 {
		return fmt.Errorf("delete Jobs of an earlier revision: %w", errors.Join(errs...))
	}
	return await(ctx, deletion.Terminating, nil)
}

// report emits an event for each Job that info has to wait for or that is deleted, and for each
// that has ended since the last call. reported is the result of the last call: the Jobs that
// had not ended.
func (g *Guard) report(info *object.Info, jobs []*unfinishedJob, reported []*earlierJob) []*earlierJob {
	var remaining []*earlierJob
	for _, job := range jobs {
		remaining = append(remaining, job.earlierJob)
		if slices.Contains(reported, job.earlierJob) {
			continue
		}
		message := "still running since an earlier revision; " + resourceName(info.Mapping.GroupVersionKind.Kind, info.Name) + " starts when it has finished"
		if g.mustDelete(job) {
			message = "unfinished since another revision; deleting it"
		}
		g.emit(info, job.earlierJob, readiness.InProgress, message)
	}
	for _, job := range reported {
		if !slices.Contains(remaining, job) {
			g.emit(info, job, readiness.Ready, "no longer running")
		}
	}
	return remaining
}

// emit emits an event about a Job of an earlier revision that info has to wait for.
func (g *Guard) emit(info *object.Info, job *earlierJob, state readiness.State, message string) {
	e := event.Event{
		Type: event.ResourceChanged, Node: g.nodeOf(info).ID(), Resource: resourceName(job.id.Kind, job.id.Name),
		State: string(state), Message: message,
	}
	if job.info.Namespace != g.Namespace {
		e.Namespace = job.info.Namespace
	}
	if state != readiness.Ready {
		e.Deadline = g.Deadline
	}
	g.Events.Emit(e)
}

func resourceName(kind, name string) string { return kind + "/" + name }

func (g *Guard) nodeOf(info *object.Info) *sequencer.Node {
	return g.Plan.Nodes[g.declared[object.IDOf(info)].node]
}

// stillRunning returns the error of waiting for Jobs, of which err is the reason: a
// failure.Resources if ctx is done, otherwise err. jobs are the Jobs that were unfinished when
// they were read last.
func (g *Guard) stillRunning(ctx context.Context, info *object.Info, jobs []*unfinishedJob, began time.Time, err error) error {
	if ctx.Err() == nil || len(jobs) == 0 {
		return err
	}
	ended := "when the operation was cancelled"
	if timeout, timedOut := errors.AsType[*failure.TimeoutError](context.Cause(ctx)); timedOut {
		ended = fmt.Sprintf("when the operation timed out after %s", timeout.Limit)
	}
	var failures failure.Resources
	for _, job := range jobs {
		outcome := "was still running "
		if g.mustDelete(job) {
			outcome = "still existed, although it was deleted, "
		}
		n := g.nodeOf(info)
		f := &failure.Resource{
			Resource: resourceName(job.id.Kind, job.id.Name), Namespace: job.info.Namespace, Node: n.ID(), Title: n.Title(),
			State: string(readiness.InProgress), Reason: "EarlierRevision", Waited: time.Since(began), Err: context.Cause(ctx), Outcome: outcome + ended,
			Message: fmt.Sprintf("it belongs to an earlier revision, and %s must not run at the same time", resourceName(info.Mapping.GroupVersionKind.Kind, info.Name)),
			Remedy:  remedy(job),
		}
		f.SetReleaseNamespace(g.Namespace)
		failures = append(failures, f)
	}
	return failures
}

// remedy tells the user how to continue if a Job of an earlier revision does not end.
func remedy(job *unfinishedJob) string {
	if job.live == nil { // it is deleted, and only its pods remain
		return "to allow its pods more time to stop, increase --timeout"
	}
	return fmt.Sprintf("to allow it more time, increase --timeout; to end it, run: kubectl delete %s %s --namespace %s",
		strings.ToLower(job.id.Kind), job.id.Name, job.info.Namespace)
}
