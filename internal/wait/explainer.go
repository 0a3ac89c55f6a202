// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/diagnosis/requests"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/watcher"
)

// maxExplained is the maximum number of resources that are examined if many fail together.
// For the others, only their own status is reported.
const maxExplained = 10

// Explainer finds out why resources are not ready. A nil Explainer finds nothing.
type Explainer struct {
	events *event.Sink
	// withoutTimeout calls a function with the context of the operation without its
	// timeout: resources are examined after the operation timed out, but not after it was
	// cancelled.
	withoutTimeout func(func(context.Context))
	// diagnoser returns the diagnoser of the operation; nil if the clients that it needs
	// are not available.
	diagnoser func() *diagnosis.Diagnoser
}

// NotAppliedFunc returns the title of the node of an object that the release deploys but
// has not written yet. It returns an empty string for any other object.
type NotAppliedFunc func(kind schema.GroupKind, namespace, name string) string

// NewExplainer returns an explainer. It redacts the contents of the Secrets that the sink
// knows when the first failure is explained. NotApplied can be nil.
func NewExplainer(c *cluster.Client, events *event.Sink, withoutTimeout func(func(context.Context)), notApplied NotAppliedFunc) *Explainer {
	return &Explainer{
		events: events, withoutTimeout: withoutTimeout,
		diagnoser: sync.OnceValue(func() *diagnosis.Diagnoser { return newDiagnoser(c, events, notApplied) }),
	}
}

// Explain adds the causes to failures. There is one report for each failure, in the same
// order.
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
		var of []*failure.Resource
		for i, report := range reports {
			// An object that is gone or cannot be read cannot be examined.
			if !report.Deleted && report.ObserveError == nil && report.Forbidden == nil && len(subjects) < maxExplained {
				subjects, of = append(subjects, subjectOf(report)), append(of, failures[i])
			}
		}
		for i, causes := range d.Diagnose(ctx, subjects) {
			of[i].Causes = causes
		}
	})
}

func newDiagnoser(c *cluster.Client, events *event.Sink, notApplied NotAppliedFunc) *diagnosis.Diagnoser {
	if !c.HasCluster() {
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
		Clients:       requests.Clients{Dynamic: dynamic, Metadata: metadata, Clientset: clientset},
		DeployedLater: notApplied, Redactor: events.Redactor(),
	})
}

func subjectOf(r watcher.Report) diagnosis.Subject {
	return diagnosis.Subject{
		GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object,
	}
}
