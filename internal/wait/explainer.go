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

// maxExplained is the maximum number of resources whose causes one call of Explain looks
// for. For the others, the error has only their own status.
const maxExplained = 10

// Explainer adds causes, such as a crashing container, to the failures of resources that
// are not ready. A nil Explainer adds nothing.
type Explainer struct {
	events *event.Sink
	// withoutTimeout calls its argument with a context that ends when the operation is
	// cancelled, but not when it times out. So causes can be found after a timeout.
	withoutTimeout func(func(context.Context))
	// diagnoser returns the Diagnoser that sends the requests. All calls return the same
	// one. It is nil if a client cannot be created.
	diagnoser func() *diagnosis.Diagnoser
}

// NotAppliedFunc looks up an object that another object refers to and that does not exist.
// If this operation deploys it in a later node, it returns the title of that node,
// otherwise "".
type NotAppliedFunc func(kind schema.GroupKind, namespace, name string) string

// newExplainer returns an explainer. It redacts the contents of the Secrets that are known to
// w.events when the first failure is explained. notApplied can be nil.
func (w *watching) newExplainer(notApplied NotAppliedFunc) *Explainer {
	return &Explainer{
		events: w.events, withoutTimeout: w.withoutTimeout,
		diagnoser: sync.OnceValue(func() *diagnosis.Diagnoser { return newDiagnoser(w.cluster, w.events, notApplied) }),
	}
}

// Explain sets the causes of failures. reports has one report for each failure, in the same
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
	return diagnosis.New(diagnosis.Config{
		Clients:       clusterreader.Clients{Dynamic: dynamic, Metadata: metadata, Clientset: clientset},
		DeployedLater: notApplied, Redactor: events.Redactor(),
	})
}

func subjectOf(r watcher.Report) diagnosis.Subject {
	return diagnosis.Subject{
		GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object,
	}
}
