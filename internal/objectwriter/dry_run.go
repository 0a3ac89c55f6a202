// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
)

// errNoCluster is the error of a dry run without a cluster.
var errNoCluster = errors.New("the Kubernetes client has no cluster")

// Effect says what Apply would do with an object.
type Effect int

const (
	// EffectCreated means that the object would be created.
	EffectCreated Effect = iota
	// EffectChanged means that the object would be changed.
	EffectChanged
	// EffectUnchanged means that the object already is as declared.
	EffectUnchanged
	// EffectRejected means that the server would reject the object.
	EffectRejected
)

// DryRunResult says what Apply would do with one object, according to a dry run.
type DryRunResult struct {
	Info   *object.Info
	Effect Effect
	// Before is the object in the cluster; nil if it does not exist. After is the object as
	// it would be after Apply; nil if the server would reject it.
	Before, After *unstructured.Unstructured
	// Err is the error of the server if it would reject the object.
	Err error
}

func (w *requestWriter) DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRunResult, error) {
	changes, err := w.compare(ctx, list, o)
	if err != nil {
		return nil, err
	}
	s, err := w.newSender(o)
	if err != nil {
		return nil, err
	}
	s.dryRun = []string{metav1.DryRunAll}
	s.log = func(string, ...any) {} // a dry run changes nothing
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

// dryRun converts a change that was sent as a dry run to its result.
func (ch *change) dryRun() DryRunResult {
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
