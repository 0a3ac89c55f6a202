// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ownerreferences

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// pageSize is how many objects a request lists at most.
const pageSize = 500

// Find returns the objects in a namespace that have a reference to a Release, of all kinds that the cluster serves and
// that the account is allowed to list, sorted.
func Find(ctx context.Context, kinds discovery.DiscoveryInterface, client metadata.Interface, namespace string, release types.UID) ([]Object, error) {
	resources, err := listableResources(kinds)
	if err != nil {
		return nil, fmt.Errorf("find out which kinds the cluster serves: %w", err)
	}
	var mu sync.Mutex
	var found []Object
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for _, resource := range resources {
		g.Go(func() error {
			owned, err := findIn(ctx, client.Resource(resource).Namespace(namespace), release)
			switch {
			case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
				return nil
			case err != nil:
				return fmt.Errorf("list %s in namespace %s: %w", resource.GroupResource(), namespace, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range owned {
				found = append(found, Object{resource, namespace, name})
			}
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	return found, err
}

// listableResources returns the namespaced resources that can be listed and changed, each in the version that the server prefers.
// An aggregated API that does not respond is left out.
func listableResources(kinds discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(kinds)
	if failed, _ := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); err != nil && failed == nil {
		return nil, err
	}
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "patch") && !strings.Contains(r.Name, "/") {
				resources = append(resources, gv.WithResource(r.Name))
			}
		}
	}
	return resources, nil
}

// findIn returns the names of the objects of one kind that have a reference to a Release.
func findIn(ctx context.Context, client metadata.ResourceInterface, release types.UID) (names []string, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if IsOwned(&page.Items[i], release) {
				names = append(names, page.Items[i].Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return names, nil
		}
	}
}
