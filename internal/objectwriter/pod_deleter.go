// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// podDeleter is the part of Writer that deletes pods.
type podDeleter interface {
	DeletePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error)
}

// noPodDeleter is the podDeleter for a client without a cluster. It does nothing.
type noPodDeleter struct{}

func (noPodDeleter) DeletePods(context.Context, kube.ResourceList) ([]object.PodRef, error) {
	return nil, nil
}

// requestPodDeleter is the podDeleter that sends requests to a cluster.
type requestPodDeleter struct{ cluster *cluster.Connection }

func (d requestPodDeleter) DeletePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error) {
	client, err := d.cluster.Metadata()
	if err != nil {
		return nil, err
	}
	pods, err := selectPods(ctx, client, list)
	deleted, failures := make([]bool, len(pods)), make([]error, len(pods))
	var g errgroup.Group
	g.SetLimit(cluster.MaxConcurrency)
	for i, pod := range pods {
		g.Go(func() error {
			if ctx.Err() == nil {
				deleted[i], failures[i] = deletePod(ctx, client, pod)
			}
			return nil
		})
	}
	_ = g.Wait() // each pod has its own error
	var refs []object.PodRef
	for i, pod := range pods {
		if deleted[i] {
			refs = append(refs, pod)
		}
	}
	if ctx.Err() != nil {
		return refs, ctx.Err()
	}
	return refs, errors.Join(err, errors.Join(failures...))
}

// selectPods lists the pods that the objects in list select, without duplicates. If that
// fails for some objects, it returns the pods of the other objects and the joined errors.
func selectPods(ctx context.Context, client metadata.Interface, list kube.ResourceList) ([]object.PodRef, error) {
	selected, failures := make([][]object.PodRef, len(list)), make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(cluster.MaxConcurrency)
	for i, info := range list {
		selector := object.PodSelector(info)
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
	_ = g.Wait() // each object has its own error
	var pods []object.PodRef
	seen := map[object.PodRef]bool{}
	for _, ofObject := range selected {
		for _, pod := range ofObject {
			if !seen[pod] {
				seen[pod] = true
				pods = append(pods, pod)
			}
		}
	}
	return pods, errors.Join(failures...)
}

func listPods(ctx context.Context, client metadata.Interface, info *object.Info, selector string) ([]object.PodRef, error) {
	response, err := client.Resource(object.PodResource()).Namespace(info.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", object.Describe(info), err)
	}
	pods := make([]object.PodRef, len(response.Items))
	for i := range response.Items {
		pods[i] = object.PodRef{Namespace: response.Items[i].Namespace, Name: response.Items[i].Name, UID: response.Items[i].UID}
	}
	return pods, nil
}

// deletePod deletes a pod, and reports whether it existed.
func deletePod(ctx context.Context, client metadata.Interface, pod object.PodRef) (bool, error) {
	err := client.Resource(object.PodResource()).Namespace(pod.Namespace).
		Delete(ctx, pod.Name, *metav1.NewPreconditionDeleteOptions(string(pod.UID)))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict means that another pod now has the name
		return false, nil
	case err != nil:
		return false, fmt.Errorf("delete pod %q in namespace %q: %w", pod.Name, pod.Namespace, err)
	}
	return true, nil
}
