// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// kindCheckInterval is the interval at which the controller looks whether the kind Release exists.
const kindCheckInterval = 10 * time.Second

// releaseWatch watches the Releases, if releases are stored as objects, so that the controller notices
// what other programs do. The kind can be defined after the controller was started.
type releaseWatch struct {
	manager    ctrl.Manager
	controller controller.Controller
	// enqueue returns the requests for a release.
	enqueue handler.MapFunc
	started atomic.Bool
}

// newRelease returns a Release of which nothing is known.
func newRelease() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: releaseapi.Group, Version: releaseapi.Version, Kind: releaseapi.ReleaseKind})
	return u
}

// Start waits until the kind exists, and begins to watch. It implements manager.Runnable.
func (w *releaseWatch) Start(ctx context.Context) error {
	for {
		if w.exists() {
			return w.watch()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(kindCheckInterval):
		}
	}
}

func (w *releaseWatch) exists() bool {
	_, err := w.manager.GetRESTMapper().RESTMapping(schema.GroupKind{Group: releaseapi.Group, Kind: releaseapi.ReleaseKind}, releaseapi.Version)
	return err == nil
}

func (w *releaseWatch) watch() error {
	changed := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return stateOf(e.ObjectOld) != stateOf(e.ObjectNew) }}
	events := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request { return w.enqueue(ctx, o) })
	// Requests that the first events cause must already see the Releases. Reading them waits until they are synced.
	w.started.Store(true)
	var cached client.Object = newRelease()
	if err := w.controller.Watch(source.Kind(w.manager.GetCache(), cached, events, changed)); err != nil {
		return fmt.Errorf("watch the Releases: %w", err)
	}
	return nil
}

// releaseState is what matters of a Release.
type releaseState struct {
	revision int64
	phase    string
}

func stateOf(o client.Object) releaseState {
	u, isRelease := o.(*unstructured.Unstructured)
	if !isRelease {
		return releaseState{}
	}
	revision, _, _ := unstructured.NestedInt64(u.Object, "status", "revision")
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return releaseState{revision, phase}
}

// revision returns the newest revision of a release, 0 if there is none, or nil if that is not known.
func (w *releaseWatch) revision(ctx context.Context, key client.ObjectKey) (*int64, error) {
	if w == nil || !w.started.Load() {
		return nil, nil
	}
	u := newRelease()
	err := w.manager.GetCache().Get(ctx, key, u)
	switch {
	case apierrors.IsNotFound(err):
		return new(int64), nil
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Release %s: %w", key, err)
	}
	state := stateOf(u)
	if state.phase == string(release.StatusUninstalled) { // by "helm uninstall --keep-history"
		return new(int64), nil
	}
	return &state.revision, nil
}
