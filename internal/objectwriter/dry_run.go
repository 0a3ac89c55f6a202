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

// Effect is what Apply would do with an object.
type Effect int

const (
	// EffectCreated is that the object would be created.
	EffectCreated Effect = iota
	// EffectChanged is that the object would be changed.
	EffectChanged
	// EffectUnchanged is that the object is as declared.
	EffectUnchanged
	// EffectRejected is that the server would reject the object.
	EffectRejected
)

// DryRun is what Apply would do with one object.
type DryRun struct {
	Info   *object.Info
	Effect Effect
	// Before is the object in the cluster; nil if it does not exist. After is what the
	// object would be; nil if the server would reject it.
	Before, After *unstructured.Unstructured
	// Err is why the server would reject the object.
	Err error
}

func (w *requestWriter) DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRun, error) {
	changes, err := w.compare(ctx, list, o)
	if err != nil {
		return nil, err
	}
	s, err := w.newSender(o)
	if err != nil {
		return nil, err
	}
	s.dryRun = []string{metav1.DryRunAll}
	s.log = func(string, ...any) {} // because nothing is done
	for _, batch := range batches(changes) {
		s.writeAll(ctx, batch)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	results := make([]DryRun, len(changes))
	for i, ch := range changes {
		results[i] = ch.dryRun()
	}
	return results, nil
}

// dryRun is the result of a dry run.
func (ch *change) dryRun() DryRun {
	result := DryRun{Info: ch.info, Before: ch.before, After: ch.live}
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
