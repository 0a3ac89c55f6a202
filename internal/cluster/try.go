// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// ErrNotNative is the error of what only a client of a real cluster can do.
var ErrNotNative = errors.New("the Kubernetes client has no cluster that could be asked")

// Effect is what Apply would do with an object.
type Effect int

const (
	// EffectCreated is that the object would be created.
	EffectCreated Effect = iota
	// EffectChanged is that it would be changed.
	EffectChanged
	// EffectNone is that it is as declared.
	EffectNone
	// EffectFailed is that the server would refuse it.
	EffectFailed
)

// Trial is what would become of one object.
type Trial struct {
	Info   *resource.Info
	Effect Effect
	// Before is the object as it is, nil if it is not there; After is what it would
	// be, nil if the server refuses it.
	Before, After *unstructured.Unstructured
	// Declared is the object as it was to be applied: Info holds After by now.
	Declared runtime.Object
	// Err is why the server refuses it.
	Err error
}

// TryApply has the server say what Apply would do, without anything being stored:
// each object is created or changed as a dry run, in the same way. The trials come
// in the order of the list. What would fail does not keep the others from being
// tried. An error is that nothing could be tried.
func (c *Client) TryApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]Trial, error) {
	return c.backend.tryApply(ctx, list, o)
}

func (delegated) tryApply(context.Context, kube.ResourceList, ApplyOptions) ([]Trial, error) {
	return nil, ErrNotNative
}

func (n native) tryApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]Trial, error) {
	changes, err := n.compare(ctx, list, index(o.Originals), o)
	if err != nil {
		return nil, err
	}
	client, err := n.Dynamic()
	if err != nil {
		return nil, err
	}
	declared := make([]runtime.Object, len(changes))
	for i, ch := range changes {
		declared[i] = ch.info.Object
	}
	w := n.newWriter(client, o)
	w.dryRun = []string{metav1.DryRunAll}
	w.log = func(string, ...any) {} // nothing of it happens
	for _, batch := range batches(changes) {
		w.writeAll(ctx, batch)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	trials := make([]Trial, len(changes))
	for i, ch := range changes {
		trials[i] = Trial{Info: ch.info, Before: ch.before, After: ch.live, Declared: declared[i]}
		switch ch.outcome {
		case created:
			trials[i].Effect = EffectCreated
		case updated:
			trials[i].Effect = EffectChanged
		case unchanged:
			trials[i].Effect = EffectNone
		default:
			trials[i].Effect, trials[i].Err = EffectFailed, ch.err
			trials[i].Before, trials[i].After = ch.live, nil
		}
	}
	return trials, nil
}

// TryDelete has the server say whether an object could be deleted, without
// deleting it. One that is not there is no error.
func (c *Client) TryDelete(ctx context.Context, info *resource.Info, policy metav1.DeletionPropagation) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	_, err = c.deleteOne(ctx, client, info, metav1.DeleteOptions{PropagationPolicy: &policy, DryRun: []string{metav1.DryRunAll}})
	return err
}
