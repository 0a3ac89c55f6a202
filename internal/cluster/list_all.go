// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
)

// notStorage selects the Secrets in which no release is stored: those are large.
var notStorage = fields.OneTermNotEqualSelector("type", "helm.sh/release.v1").String()

// List implements Reader.
func (r *reader) List(ctx context.Context, list kube.ResourceList) (live map[*resource.Info]*unstructured.Unstructured, unread map[*resource.Info]error, err error) {
	client, err := r.clients.Dynamic()
	if err != nil {
		return nil, nil, err
	}
	lister := newLiveReader(list, getWith(client))
	byCollection := map[collection][]int{}
	for i, info := range list {
		at := collectionOf(info)
		byCollection[at] = append(byCollection[at], i)
	}
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for at, indexes := range byCollection {
		g.Go(func() error {
			r.listWhole(WithManagedFields(ctx), lister, at, indexes)
			return nil
		})
	}
	_ = g.Wait() // each object has its own error
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	live, unread = make(map[*resource.Info]*unstructured.Unstructured, len(list)), map[*resource.Info]error{}
	for i, info := range list {
		if lister.found[i] != nil {
			live[info] = lister.found[i]
		}
		if lister.errs[i] != nil {
			unread[info] = newReadError(info, lister.errs[i])
		}
	}
	return live, unread, nil
}

// listWhole reads the objects with the given indexes, which belong to the collection at, with one
// list request. If the account is not allowed to send it, it reads each of them. The error is that
// the server does not find the list if it does not serve the kind.
func (r *reader) listWhole(ctx context.Context, lister *liveReader, at collection, indexes []int) {
	byName := make(map[string][]int, len(indexes))
	for _, i := range indexes {
		byName[lister.list[i].Name] = append(byName[lister.list[i].Name], i)
	}
	var options metav1.ListOptions
	switch {
	case len(byName) == 1:
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", lister.list[indexes[0]].Name).String()
	case at.resource == (schema.GroupVersionResource{Version: "v1", Resource: "secrets"}):
		options.FieldSelector = notStorage
	}
	_, err := r.clients.forEach(ctx, at, options, func(object *unstructured.Unstructured) {
		for _, i := range byName[object.GetName()] {
			lister.found[i] = object
		}
	})
	if err == nil {
		return
	}
	for _, i := range indexes {
		lister.errs[i] = err
		if apierrors.IsForbidden(err) {
			lister.errs[i] = nil
			lister.read(ctx, i)
		}
	}
}
