// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestvalues"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/pkg/action"
)

// run is one reconciliation of a request.
type run struct {
	*Reconciler
	request *v1alpha1.HelmRequest
	// stored is the request as it was last read or written.
	stored *v1alpha1.HelmRequest
	state  decision.State
	// generation is the generation of the request for which the run decides.
	generation int64

	// operation is the context of what takes time, and end ends it; nil before open was called.
	operation context.Context //nolint:containedctx // it is canceled from outside of the run
	end       func()

	// cfg and client are those of the service account; nil until they are needed.
	cfg    *action.Configuration
	client kubernetes.Interface
	// newest is the newest revision; nil if there is none, or if it was not read.
	newest *release.Release
	chart  *chartsource.Chart
	values *requestvalues.Values
	// order is the order of the request; nil if it has none.
	order *action.OrderFile
	// hasBegun says whether an operation on the release has begun.
	hasBegun bool
	// secrets removes the contents of the Secrets of the release.
	secrets atomic.Pointer[redact.Redactor]
}

// newRun reads from the cache what decisions need.
func (r *Reconciler) newRun(ctx context.Context, request *v1alpha1.HelmRequest) (*run, error) {
	account := request.Spec.ServiceAccountName
	if account == "" {
		account = r.options.DefaultServiceAccount
	}
	n := &run{Reconciler: r, request: request, stored: request.DeepCopy(), generation: request.Generation, state: decision.State{
		Request: request, Account: account, AllowsNetwork: slices.Contains(r.options.ScriptNetworkNamespaces, request.Namespace),
	}}
	var err error
	if n.state.Claims, err = r.claims(ctx, request); err != nil {
		return nil, err
	}
	if n.state.Dependencies, err = r.dependencies(ctx, request); err != nil {
		return nil, err
	}
	if !request.DeletionTimestamp.IsZero() {
		if n.state.Dependents, err = r.dependents(ctx, request); err != nil {
			return nil, err
		}
	}
	n.state.KnownRevision, err = r.releases.revision(ctx, client.ObjectKey{Namespace: request.Namespace, Name: request.ReleaseName()})
	return n, err
}

// list returns the requests in a namespace with a value of an index. The result must not be changed.
func (r *Reconciler) list(ctx context.Context, namespace, index, value string) ([]v1alpha1.HelmRequest, error) {
	var list v1alpha1.HelmRequestList
	if err := r.cached.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list HelmRequests: %w", err)
	}
	return list.Items, nil
}

// claims returns the other requests for the same release.
func (r *Reconciler) claims(ctx context.Context, request *v1alpha1.HelmRequest) ([]decision.Claim, error) {
	list, err := r.list(ctx, request.Namespace, indexRelease, request.ReleaseName())
	if err != nil {
		return nil, err
	}
	var claims []decision.Claim
	for _, other := range list {
		if other.Name != request.Name && other.DeletionTimestamp.IsZero() {
			has := other.Status.Release != nil && other.Status.Release.Name == request.ReleaseName()
			claims = append(claims, decision.Claim{Name: other.Name, Created: other.CreationTimestamp.Time, HasRelease: has})
		}
	}
	return claims, nil
}

// dependencies returns the requests on which a request depends, directly or not.
func (r *Reconciler) dependencies(ctx context.Context, request *v1alpha1.HelmRequest) (map[string]decision.Dependency, error) {
	all := map[string]decision.Dependency{}
	for next := slices.Clone(request.Spec.DependsOn); len(next) > 0; next = next[1:] {
		name := next[0]
		if _, known := all[name]; known || name == request.Name {
			continue
		}
		var other v1alpha1.HelmRequest
		err := r.cached.Get(ctx, client.ObjectKey{Namespace: request.Namespace, Name: name}, &other)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read HelmRequest %s: %w", name, err)
		}
		all[name] = decision.Dependency{Exists: err == nil, Ready: isReady(&other), DependsOn: other.Spec.DependsOn}
		next = append(next, other.Spec.DependsOn...)
	}
	return all, nil
}

// isReady reports whether the current generation of a request is deployed.
func isReady(r *v1alpha1.HelmRequest) bool {
	ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == "True" && ready.ObservedGeneration == r.Generation && r.DeletionTimestamp.IsZero()
}

// dependents returns the requests that depend on a request, and whose releases may exist.
func (r *Reconciler) dependents(ctx context.Context, request *v1alpha1.HelmRequest) ([]decision.Dependent, error) {
	list, err := r.list(ctx, request.Namespace, indexDependsOn, request.Name)
	if err != nil {
		return nil, err
	}
	var dependents []decision.Dependent
	for _, other := range list {
		if other.Name != request.Name && controllerutil.ContainsFinalizer(&other, v1alpha1.Finalizer) {
			dependents = append(dependents, decision.Dependent{Name: other.Name, IsDeleted: !other.DeletionTimestamp.IsZero()})
		}
	}
	slices.SortFunc(dependents, func(a, b decision.Dependent) int { return strings.Compare(a.Name, b.Name) })
	return dependents, nil
}

func (r *run) isNamespaceTerminating(ctx context.Context) (bool, error) {
	var namespace corev1.Namespace
	err := r.direct.Get(ctx, client.ObjectKey{Name: r.request.Namespace}, &namespace)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read namespace %s: %w", r.request.Namespace, err)
	}
	return !namespace.DeletionTimestamp.IsZero(), nil
}

func (r *run) setFinalizer(ctx context.Context, want bool) error {
	if want {
		controllerutil.AddFinalizer(r.request, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(r.request, v1alpha1.Finalizer)
	}
	patch := client.MergeFromWithOptions(r.stored, client.MergeFromWithOptimisticLock{})
	err := r.cached.Patch(ctx, r.request, patch)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change the finalizer: %w", err)
	}
	r.stored = r.request.DeepCopy()
	r.written.add(r.request)
	return nil
}

// connect connects to the cluster as the service account of the request.
func (r *run) connect(ctx context.Context) error {
	if r.cfg != nil {
		return nil
	}
	connection, err := r.accounts.Connect(ctx, r.request.Namespace, r.state.Account)
	if err != nil {
		return err
	}
	cfg, err := connection.Configuration(r.options.StorageDriver, r.debugLog(ctx))
	if err != nil {
		return err
	}
	client, err := connection.Clientset()
	if err != nil {
		return err
	}
	r.cfg, r.client = cfg, client
	return nil
}

// debugLog returns a function that logs messages of Helm for debugging.
func (r *run) debugLog(ctx context.Context) func(string, ...any) {
	log := ctrl.LoggerFrom(ctx).V(1)
	return func(format string, args ...any) {
		if log.Enabled() {
			log.Info(r.redact(fmt.Sprintf(format, args...)))
		}
	}
}

// redact removes what is known to be secret from text.
func (r *run) redact(text string) string {
	if r.values != nil {
		text = r.values.Redactor.Text(text)
	}
	return r.secrets.Load().Text(text)
}
