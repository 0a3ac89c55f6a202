// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles HelmRequests: it tells package decision what is there, and does what
// that decides (docs/reference.md, "HelmRequest").
package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/serviceaccount"
)

// Options are what the administrator sets.
type Options struct {
	// DefaultServiceAccount is the service account of requests that name none; empty if these are
	// refused.
	DefaultServiceAccount string
	// StorageDriver is the storage driver of releases, as in HELM_DRIVER.
	StorageDriver string
	// ScriptNetworkNamespaces are the namespaces in which the scripts of charts can have the
	// permission "network".
	ScriptNetworkNamespaces []string
	Charts                  chartsource.Options
	// Concurrency is the maximum number of requests that are processed at the same time, and
	// ConcurrencyPerNamespace that of operations in one namespace.
	Concurrency, ConcurrencyPerNamespace int
	// MaxTimeout limits the timeouts of requests.
	MaxTimeout time.Duration
}

// Reconciler reconciles HelmRequests.
type Reconciler struct {
	options Options
	// cached reads from the cache, and writes. direct reads from the API server.
	cached   client.Client
	direct   client.Reader
	accounts *serviceaccount.Connector
	recorder events.EventRecorder
	running  *runningOperations
	metrics  *metrics
	// written are the newest versions of the requests that the controller has written.
	written writtenVersions
	// releases says whether the cache contains Releases.
	releases *releaseWatch
}

// maxSteps is the maximum number of steps of one reconciliation. Each is a decision.
const maxSteps = 8

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	request := new(v1alpha1.HelmRequest)
	if err := r.cached.Get(ctx, req.NamespacedName, request); err != nil {
		r.written.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.isNewer(req.NamespacedName, request) {
		return ctrl.Result{RequeueAfter: cacheDelay}, nil
	}
	run, err := r.newRun(ctx, request)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer run.close()
	for range maxSteps {
		result, err := run.step(ctx)
		if result != nil || err != nil {
			return valueOf(result), err
		}
	}
	return ctrl.Result{}, fmt.Errorf("no final decision about HelmRequest %s after %d steps", req.NamespacedName, maxSteps)
}

func valueOf(result *ctrl.Result) ctrl.Result {
	if result == nil {
		return ctrl.Result{}
	}
	return *result
}

// step makes a decision and does what it says. The result is nil if another decision is needed.
func (r *run) step(ctx context.Context) (*ctrl.Result, error) {
	r.state.Now = time.Now()
	d := decision.Decide(r.state)
	switch d.Action {
	case decision.Report:
		return r.report(ctx, d)
	case decision.ReadRelease:
		return r.prepare(ctx, r.readRelease)
	case decision.LoadChart:
		return r.prepare(ctx, r.loadDesired)
	case decision.AddFinalizer:
		return nil, r.setFinalizer(ctx, true)
	case decision.RemoveFinalizer:
		return &ctrl.Result{}, r.setFinalizer(ctx, false)
	}
	return r.perform(ctx, d)
}

// failed makes err the failure about which the next step decides. It returns an error if the
// controller is being stopped.
func (r *run) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.state.Failure = r.classify(err)
	if r.state.Failure.IsForbidden && !r.request.DeletionTimestamp.IsZero() {
		terminating, err := r.isNamespaceTerminating(ctx)
		if err != nil {
			return err
		}
		r.state.NamespaceTerminating = terminating
	}
	return nil
}
