// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/watcher"
)

// mostExplained is how many of the resources that fail together are looked
// into; of the others only their own status is told.
const mostExplained = 10

// explainer finds out why resources are not ready. Its zero value finds nothing.
type explainer struct {
	// diagnoser returns the one of the operation; nil if the cluster cannot be
	// reached in the ways that it needs.
	diagnoser func() *diagnosis.Diagnoser
	// during calls a function with the context of the operation without its
	// timeout: what was too slow is still looked into, but not what was
	// cancelled.
	during func(func(context.Context))
	masker *redact.Redactor
}

// explain adds the causes to failures, of which each has its report.
func (x explainer) explain(failures []*ResourceFailure, reports []watcher.Report) {
	concealFailures(x.masker, resourceFailures(failures)) // before a summary cuts them off
	if x.during == nil || len(failures) == 0 {
		return
	}
	x.during(func(ctx context.Context) {
		d := x.diagnoser()
		if d == nil || ctx.Err() != nil {
			return
		}
		var subjects []diagnosis.Subject
		var of []*ResourceFailure
		for i, report := range reports {
			// Of what is gone, or cannot be observed, there is no more to tell.
			if !report.Deleted && report.ObserveError == nil && report.Forbidden == nil && len(subjects) < mostExplained {
				subjects, of = append(subjects, subjectOf(report)), append(of, failures[i])
			}
		}
		for i, causes := range d.Diagnose(ctx, subjects) {
			of[i].Causes = causes
		}
	})
}

func newDiagnoser(c *cluster.Client, masker *redact.Redactor, later func(kind schema.GroupKind, namespace, name string) string) *diagnosis.Diagnoser {
	if !c.Real() {
		return nil
	}
	dynamic, err := c.Dynamic()
	if err != nil {
		return nil
	}
	metadata, err := c.Metadata()
	if err != nil {
		return nil
	}
	clientset, err := c.Clientset()
	if err != nil {
		return nil
	}
	return diagnosis.New(diagnosis.Config{
		Dynamic: dynamic, Metadata: metadata, Clientset: clientset, DeployedLater: later, Redactor: masker,
	})
}

func subjectOf(r watcher.Report) diagnosis.Subject {
	return diagnosis.Subject{
		GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object,
	}
}

// failureOf puts a report into the words of a failure; how the waiting ended is
// for the caller to say, unless the resource has failed for good.
func failureOf(r watcher.Report, err *watcher.NotReadyError, waited time.Duration) *ResourceFailure {
	f := &ResourceFailure{
		Resource: r.Target.GVK.Kind + "/" + r.Target.Name, Namespace: r.Target.Namespace,
		State: string(r.Status.State), Reason: r.Status.Reason, Message: r.Status.Message,
		Waited: waited, Err: err, ending: "was not ready when the operation ended",
	}
	switch {
	case r.Status.State == readiness.Failed:
		f.ending = "failed"
	case r.Forbidden != nil:
		f.ending, f.Reason, f.Message = "cannot be followed", "Forbidden", r.Forbidden.Error()
	case r.Deleted:
		f.ending = "is gone"
	}
	if r.Replaced {
		f.Message = strings.TrimPrefix(f.Message+"; another object took its name meanwhile", "; ")
	}
	if r.ObserveError != nil {
		f.Message = strings.TrimPrefix(f.Message+"; it cannot be observed at the moment: "+r.ObserveError.Error(), "; ")
	}
	return f
}
