// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
)

// ErrNoCluster is returned by dry runs without a cluster or with a custom Kubernetes client.
var ErrNoCluster = errors.New("the Kubernetes client has no cluster")

// Effect is what Apply would do with an object.
type Effect int

const (
	// EffectCreated means that the object would be created.
	EffectCreated Effect = iota
	// EffectChanged means that the object would be changed.
	EffectChanged
	// EffectUnchanged means that the object already has the declared state.
	EffectUnchanged
	// EffectRejected means that the server would reject the object.
	EffectRejected
)

// DryRunResult describes what Apply would do with one object.
type DryRunResult struct {
	Info   *object.Info
	Effect Effect
	// Before is the object in the cluster, or nil if it does not exist. After is the object
	// as it would be after Apply, or nil if the server would reject it.
	Before, After *unstructured.Unstructured
	// Err is the error of the server if Effect is EffectRejected; otherwise nil.
	Err error
}

// IsUnsupported reports whether the server rejects only the dry run, because an admission
// webhook does not support dry runs. It may accept the actual request.
func (r DryRunResult) IsUnsupported() bool {
	return apierrors.IsBadRequest(r.Err) && strings.Contains(r.Err.Error(), "does not support dry run")
}

func (w *requestWriter) DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRunResult, error) {
	o.Recreator = nil
	changes, err := w.prepareChanges(ctx, list, o)
	if err != nil {
		return nil, err
	}
	s, err := w.newSender(o)
	if err != nil {
		return nil, err
	}
	s.dryRun = []string{metav1.DryRunAll}
	s.log = func(string, ...any) {} // the messages would say that objects were changed
	for _, batch := range batches(changes) {
		s.writeAll(ctx, batch)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	results := make([]DryRunResult, len(changes))
	for i, ch := range changes {
		results[i] = ch.dryRun()
	}
	return results, nil
}

func (w *requestWriter) DryRunCreate(ctx context.Context, info *object.Info) error {
	s, err := w.newSender(ApplyOptions{})
	if err != nil {
		return err
	}
	s.dryRun = []string{metav1.DryRunAll}
	_, err = s.post(ctx, info)
	if apierrors.IsAlreadyExists(err) || (DryRunResult{Err: err}).IsUnsupported() {
		return nil
	}
	return err
}

// dryRun returns the DryRunResult of a change that was sent as a dry run.
func (ch *objectChange) dryRun() DryRunResult {
	result := DryRunResult{Info: ch.info, Before: ch.before, After: ch.live}
	switch ch.outcome {
	case created:
		result.Effect = EffectCreated
	case updated:
		result.Effect = EffectChanged
	case unchanged:
		result.Effect = EffectUnchanged
	default:
		result.Effect, result.Err = EffectRejected, ch.err
		result.Before, result.After = ch.live, nil
	}
	return result
}
