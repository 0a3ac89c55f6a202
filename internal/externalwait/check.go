// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
)

const (
	// maxParallelReads limits how many API resources and releases Check reads at the same time.
	maxParallelReads = 8
	// maxExplained is the maximum number of needs for which explain looks for causes.
	maxExplained = 10
)

// Check reads the status of each need once, without waiting. The result has the order of needs. The
// error says that something could not be read for another reason than a missing permission.
func (w *Waiter) Check(ctx context.Context, needs []externalneed.Need) ([]Status, error) {
	statuses := make([]Status, len(needs))
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(maxParallelReads)
	collections, err := w.collections(needs, statuses)
	if err != nil {
		return nil, err
	}
	for _, c := range collections {
		running.Go(func() error { return w.checkObjects(ctx, c, statuses) })
	}
	now := time.Now()
	for i, n := range needs {
		if n.Release {
			running.Go(func() (err error) {
				statuses[i], err = w.releaseStatus(ctx, n, releaseKey{w.namespaceOf(n), n.Name}, now)
				if statuses[i].Denied != nil {
					err = nil
				}
				return err
			})
		}
	}
	if err := running.Wait(); err != nil {
		return nil, err
	}
	return statuses, nil
}

// collection contains needs that are objects of the same API resource and namespace.
type collection struct {
	targets []watcher.Target
	needs   []externalneed.Need
	indexes []int
}

// collections groups the needs that are objects by API resource and namespace. It sets the statuses
// of those whose kind or namespace is wrong or unknown.
func (w *Waiter) collections(needs []externalneed.Need, statuses []Status) ([]*collection, error) {
	var list []*collection
	type place struct {
		resource  schema.GroupVersionResource
		namespace string
	}
	byPlace := map[place]*collection{}
	for i, n := range needs {
		if n.Release {
			continue
		}
		if w.config.Cluster == nil {
			statuses[i] = Status{Need: n, Namespace: w.namespaceOf(n), State: readiness.Ready}
			continue
		}
		mapping, _, err := w.kinds.find(n)
		if err != nil {
			if isNoResponse(err) {
				return nil, err
			}
			statuses[i] = w.kindProblem(n, err)
			continue
		}
		target, err := w.target(n, mapping)
		if err != nil {
			statuses[i] = Status{Need: n, State: readiness.InProgress, Reason: reasonInvalid, Message: n.Kind + " " + err.Error()}
			continue
		}
		at := place{target.GVR, target.Namespace}
		c := byPlace[at]
		if c == nil {
			c = &collection{}
			byPlace[at], list = c, append(list, c)
		}
		c.targets, c.needs, c.indexes = append(c.targets, target), append(c.needs, n), append(c.indexes, i)
	}
	return list, nil
}

// checkObjects reads the objects of a collection, and sets their statuses.
func (w *Waiter) checkObjects(ctx context.Context, c *collection, statuses []Status) error {
	client, err := w.config.Cluster.Dynamic()
	if err != nil {
		return err
	}
	names := make([]string, len(c.targets))
	for j, t := range c.targets {
		names[j] = t.Name
	}
	at := c.targets[0]
	results, err := objectreader.New(client.Resource(at.GVR).Namespace(at.Namespace)).Read(ctx, names)
	if err != nil {
		return err
	}
	shared, err := w.sharedWatcher(ctx)
	if err != nil {
		return err
	}
	for j, t := range c.targets {
		result := results[t.Name]
		report := watcher.Report{Target: t, Object: result.Object, Status: evaluate(ctx, shared.Evaluate, result.Object)}
		if result.Forbidden != nil {
			report.Forbidden = &watcher.ForbiddenError{Verb: "get", Resource: t.GVR.GroupResource(), Namespace: t.Namespace, Name: t.Name, Err: result.Forbidden}
		}
		statuses[c.indexes[j]] = statusOf(c.needs[j], report)
	}
	return nil
}

// evaluate returns the status of an object, which is nil if it does not exist.
func evaluate(ctx context.Context, of readiness.Evaluator, obj *unstructured.Unstructured) readiness.Status {
	switch {
	case obj == nil:
		return readiness.MissingStatus(nil)
	case obj.GetDeletionTimestamp() != nil && !readiness.HasSucceeded(obj):
		return readiness.TerminatingStatus(obj)
	}
	return of(ctx, obj)
}

// explain looks for the causes why objects are not ready, and stores them in their statuses.
func (w *Waiter) explain(unmet []Status) {
	var subjects []diagnosis.Subject
	var examined []*Status
	for i := range unmet {
		s, r := &unmet[i], unmet[i].report
		// The causes can be found only for objects that exist and can be read.
		if r.Object != nil && s.Denied == nil && s.State != readiness.Missing && r.ObserveError == nil && len(subjects) < maxExplained {
			subjects = append(subjects, diagnosis.Subject{GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object})
			examined = append(examined, s)
		}
	}
	if len(subjects) == 0 || w.config.WithoutTimeout == nil {
		return
	}
	w.config.WithoutTimeout(func(ctx context.Context) {
		d := w.diagnoser()
		if d == nil || ctx.Err() != nil {
			return
		}
		for i, causes := range d.Diagnose(ctx, subjects) {
			examined[i].Causes = causes
		}
	})
}

// diagnoser returns a Diagnoser, or nil if no client could be created.
func (w *Waiter) diagnoser() *diagnosis.Diagnoser {
	dynamic, err := w.config.Cluster.Dynamic()
	if err != nil {
		return nil
	}
	metadata, err := w.config.Cluster.Metadata()
	if err != nil {
		return nil
	}
	clientset, err := w.config.Cluster.Clientset()
	if err != nil {
		return nil
	}
	config := diagnosis.DiagnoserConfig{Clients: clusterreader.Clients{Dynamic: dynamic, Metadata: metadata, Clientset: clientset}}
	if w.config.Redactor != nil {
		config.Redactor = w.config.Redactor()
	}
	return diagnosis.New(config)
}
