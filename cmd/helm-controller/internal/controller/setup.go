// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/serviceaccount"
	"github.com/ordered-helm/helm/internal/storagedriver"
)

// Indexes of the cache: the name of the release, and the names in spec.dependsOn.
const (
	indexRelease   = "release"
	indexDependsOn = "dependsOn"
)

// Name is the name of the controller, in events, logs and metrics.
const Name = "helm-controller"

// AddTo adds the controller to a manager.
func AddTo(ctx context.Context, m ctrl.Manager, o Options) error {
	accounts, err := serviceaccount.NewConnector(m.GetConfig())
	if err != nil {
		return err
	}
	r := &Reconciler{
		options: o, cached: m.GetClient(), direct: m.GetAPIReader(), accounts: accounts, recorder: m.GetEventRecorder(Name),
		running: newRunningOperations(o.ConcurrencyPerNamespace),
	}
	if r.metrics, err = newMetrics(m.GetClient()); err != nil {
		return err
	}
	if err := addIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	c, err := ctrl.NewControllerManagedBy(m).Named(Name).
		For(&v1alpha1.HelmRequest{}, builder.WithPredicates(r.observing(requestPredicate()))).
		Watches(&v1alpha1.HelmRequest{}, handler.EnqueueRequestsFromMapFunc(r.relatedRequests), builder.WithPredicates(relatedPredicate())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Build(r)
	if err != nil {
		return fmt.Errorf("create the controller: %w", err)
	}
	if storagedriver.Normalize(o.StorageDriver) != storagedriver.CRD {
		return nil
	}
	r.releases = &releaseWatch{manager: m, controller: c, enqueue: r.requestsForRelease}
	return m.Add(r.releases)
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for name, values := range map[string]func(*v1alpha1.HelmRequest) []string{
		indexRelease:   func(r *v1alpha1.HelmRequest) []string { return []string{r.ReleaseName()} },
		indexDependsOn: func(r *v1alpha1.HelmRequest) []string { return r.Spec.DependsOn },
	} {
		extract := func(o client.Object) []string {
			if r, isRequest := o.(*v1alpha1.HelmRequest); isRequest {
				return values(r)
			}
			return nil
		}
		if err := indexer.IndexField(ctx, &v1alpha1.HelmRequest{}, name, extract); err != nil {
			return fmt.Errorf("create the index %s: %w", name, err)
		}
	}
	return nil
}

// requestPredicate selects the changes of a request after which it is processed, in contrast to changes of
// its status.
func requestPredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() || was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
			was.GetAnnotations()[v1alpha1.ReconcileAnnotation] != is.GetAnnotations()[v1alpha1.ReconcileAnnotation]
	}}
}

// observing cancels the running operation of a request that changes.
func (r *Reconciler) observing(p predicate.Predicate) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: p.Create, DeleteFunc: p.Delete, GenericFunc: p.Generic,
		UpdateFunc: func(e event.UpdateEvent) bool {
			if request, is := e.ObjectNew.(*v1alpha1.HelmRequest); is {
				r.running.changed(request)
			}
			return p.Update(e)
		},
	}
}

// relatedPredicate selects the changes of a request that matter to others.
func relatedPredicate() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*v1alpha1.HelmRequest)
			is, alsoOK := e.ObjectNew.(*v1alpha1.HelmRequest)
			return ok && alsoOK && (isReady(was) != isReady(is) || was.Generation != is.Generation || (was.Status.Release == nil) != (is.Status.Release == nil))
		},
	}
}

// relatedRequests returns the requests that depend on a request, those on which it depends, if it is being
// deleted, and those for the same release.
func (r *Reconciler) relatedRequests(ctx context.Context, o client.Object) []reconcile.Request {
	changed, isRequest := o.(*v1alpha1.HelmRequest)
	if !isRequest {
		return nil
	}
	names := map[string]bool{}
	for index, value := range map[string]string{indexDependsOn: changed.Name, indexRelease: changed.ReleaseName()} {
		list, err := r.list(ctx, changed.Namespace, index, value)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "the requests that are affected by a change cannot be found")
			continue
		}
		for _, other := range list {
			names[other.Name] = true
		}
	}
	if !changed.DeletionTimestamp.IsZero() {
		for _, name := range changed.Spec.DependsOn {
			names[name] = true
		}
	}
	delete(names, changed.Name)
	var requests []reconcile.Request
	for name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: changed.Namespace, Name: name}})
	}
	return requests
}

// requestsForRelease returns the requests for a release.
func (r *Reconciler) requestsForRelease(ctx context.Context, release client.Object) []reconcile.Request {
	list, err := r.list(ctx, release.GetNamespace(), indexRelease, release.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the request for a release cannot be found")
		return nil
	}
	var requests []reconcile.Request
	for _, request := range list {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&request)})
	}
	return requests
}
