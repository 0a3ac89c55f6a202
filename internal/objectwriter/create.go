// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

func (w *requestWriter) Create(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := w.newSender(ApplyOptions{})
	if err != nil {
		return nil, err
	}
	w.cluster.Log("creating %d resource(s)", len(list))
	live, failures := make([]*unstructured.Unstructured, len(list)), make([]error, len(list))
	forEachByKind(list, func(i int) { live[i], failures[i] = s.createNew(ctx, list[i]) })
	states := make(object.LiveObjects, len(list))
	var failed *multierror.Error
	for i, info := range list {
		if err := failures[i]; err != nil {
			failed = multierror.Append(failed, err)
		} else {
			states[info] = object.WithState(info, live[i])
		}
	}
	return states, failed.ErrorOrNil()
}

func (w *requestWriter) CreateHook(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error) {
	s, err := w.newSender(ApplyOptions{})
	if err != nil {
		return nil, err
	}
	states := make(object.LiveObjects, len(list))
	for _, info := range list {
		live, err := s.createNew(ctx, info)
		if err != nil {
			return states, err
		}
		states[info] = object.WithState(info, live)
	}
	return states, nil
}

// createNew creates an object, unless ctx is done.
func (s *sender) createNew(ctx context.Context, info *object.Info) (*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.post(ctx, info)
}

// forEachByKind calls do with the index of each object in list: in parallel for adjacent
// objects of the same kind, and sequentially for objects of different kinds.
func forEachByKind(list kube.ResourceList, do func(i int)) {
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && list[end].Mapping.GroupVersionKind.Kind == list[begin].Mapping.GroupVersionKind.Kind {
			end++
		}
		var g errgroup.Group
		g.SetLimit(cluster.MaxConcurrency)
		for i := begin; i < end; i++ {
			g.Go(func() error {
				do(i)
				return nil
			})
		}
		_ = g.Wait() // do handles its errors
		begin = end
	}
}
