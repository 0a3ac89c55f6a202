// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/watcher"
)

// maxExplained is the maximum number of failures for which one call of Explain looks for
// causes. For the others, users see only the status of the resource.
const maxExplained = 10

// Explainer finds the causes of failures, for example a crashing container of a Deployment
// that is not ready. A nil Explainer finds nothing.
type Explainer struct {
	events *event.Sink
	// withoutTimeout calls its argument with a context that ends when the operation is
	// canceled, but not when it times out, so that causes can be found after a timeout.
	withoutTimeout func(func(context.Context))
	// diagnoser returns the Diagnoser that reads pods, events and logs, or nil if no client
	// could be created. Only the first call creates the Diagnoser.
	diagnoser func() *diagnosis.Diagnoser
}

// NotAppliedFunc says when the operation will apply an object that does not exist yet, but
// to which another object refers. It returns the title of the node of the deployment graph
// that contains the missing object, or "" if no node that is still to be applied contains
// it.
type NotAppliedFunc func(kind schema.GroupKind, namespace, name string) string

// newExplainer returns an Explainer that redacts the contents of Secrets. It uses the
// Redactor that w.events has when the first failure is explained. notApplied can be nil.
func (w *watchingWaiter) newExplainer(notApplied NotAppliedFunc) *Explainer {
	return &Explainer{
		events: w.events, withoutTimeout: w.withoutTimeout,
		diagnoser: sync.OnceValue(func() *diagnosis.Diagnoser { return newDiagnoser(w.cluster, w.events, notApplied) }),
	}
}

// Explain looks for the causes of failures, and stores them in the field Causes of each.
// reports contains the last report on each failed object, in the order of failures.
func (x *Explainer) Explain(failures []*failure.Resource, reports []watcher.Report) {
	if len(failures) == 0 || x == nil {
		return
	}
	failure.RedactResources(x.events.Redactor(), failure.Resources(failures)) // before a summary truncates them
	x.withoutTimeout(func(ctx context.Context) {
		d := x.diagnoser()
		if d == nil || ctx.Err() != nil {
			return
		}
		var subjects []diagnosis.Subject
		var examined []*failure.Resource
		for i, report := range reports {
			// The causes can be found only for objects that exist and can be read.
			if !report.Deleted && report.ObserveError == nil && report.Forbidden == nil && len(subjects) < maxExplained {
				subjects, examined = append(subjects, subjectOf(report)), append(examined, failures[i])
			}
		}
		for i, causes := range d.Diagnose(ctx, subjects) {
			examined[i].Causes = causes
		}
	})
}

func newDiagnoser(c *cluster.Connection, events *event.Sink, notApplied NotAppliedFunc) *diagnosis.Diagnoser {
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
	return diagnosis.New(diagnosis.DiagnoserConfig{
		Clients:       clusterreader.Clients{Dynamic: dynamic, Metadata: metadata, Clientset: clientset},
		DeployedLater: notApplied, Redactor: events.Redactor(),
	})
}

func subjectOf(r watcher.Report) diagnosis.Subject {
	return diagnosis.Subject{
		GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object,
	}
}
