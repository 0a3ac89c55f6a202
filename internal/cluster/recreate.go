// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/object"
)

// PodRef is one pod, not the one that may come to its name after it.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
}

// RecreatePods deletes the pods that the objects select, so that their
// controllers make new ones, and returns those that it deleted, in the order of
// the list. Objects that select no pods are passed over, and pods that are gone
// already are no error. All pods are tried; the error joins what failed. Where
// there is no cluster there are no pods.
func (c *Client) RecreatePods(ctx context.Context, list kube.ResourceList) ([]PodRef, error) {
	if c.getter == nil {
		return nil, nil
	}
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	pods, err := selectedPods(ctx, client, list)
	gone, failures := make([]bool, len(pods)), make([]error, len(pods))
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for i, pod := range pods {
		g.Go(func() error {
			if ctx.Err() == nil {
				gone[i], failures[i] = deletePod(ctx, client, pod)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are kept by pod
	var deleted []PodRef
	for i, pod := range pods {
		if gone[i] {
			deleted = append(deleted, pod)
		}
	}
	if ctx.Err() != nil {
		return deleted, ctx.Err()
	}
	return deleted, errors.Join(err, errors.Join(failures...))
}

// selectedPods lists the pods of every object, each once, with those of the
// objects that could be asked if others could not.
func selectedPods(ctx context.Context, client metadata.Interface, list kube.ResourceList) ([]PodRef, error) {
	selected, failures := make([][]PodRef, len(list)), make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for i, info := range list {
		selector := podSelector(info)
		if selector == "" {
			continue
		}
		g.Go(func() error {
			if ctx.Err() == nil {
				selected[i], failures[i] = listPods(ctx, client, info, selector)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are kept by object
	var pods []PodRef
	seen := map[PodRef]bool{}
	for _, of := range selected {
		for _, pod := range of {
			if !seen[pod] {
				seen[pod] = true
				pods = append(pods, pod)
			}
		}
	}
	return pods, errors.Join(failures...)
}

// podSelector returns the selector of an object's pods; empty if it has none, or
// one that is empty: that must not reach the server, where it would mean all
// pods of the namespace.
func podSelector(info *resource.Info) string {
	selector, err := kube.SelectorsForObject(kube.AsVersioned(info))
	if err != nil {
		return ""
	}
	return selector.String()
}

func listPods(ctx context.Context, client metadata.Interface, info *resource.Info, selector string) ([]PodRef, error) {
	answer, err := client.Resource(PodResource()).Namespace(info.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", object.Describe(info), err)
	}
	pods := make([]PodRef, len(answer.Items))
	for i := range answer.Items {
		pods[i] = PodRef{Namespace: answer.Items[i].Namespace, Name: answer.Items[i].Name, UID: answer.Items[i].UID}
	}
	return pods, nil
}

// deletePod reports whether the pod was there to be deleted.
func deletePod(ctx context.Context, client metadata.Interface, pod PodRef) (bool, error) {
	err := client.Resource(PodResource()).Namespace(pod.Namespace).
		Delete(ctx, pod.Name, *metav1.NewPreconditionDeleteOptions(string(pod.UID)))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict: another pod has the name by now
		return false, nil
	case err != nil:
		return false, fmt.Errorf("delete pod %q in namespace %q: %w", pod.Name, pod.Namespace, err)
	}
	return true, nil
}
