// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

// backend reads objects from manifests, and writes them.
type backend interface {
	build(manifest []byte, validate bool) (kube.ResourceList, error)
	buildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error)
	references(objects []map[string]any, namespace string) (kube.ResourceList, error)
	inOtherVersion(content map[string]any) (map[string]any, error)
	create(ctx context.Context, list kube.ResourceList) error
	createHook(ctx context.Context, list kube.ResourceList) error
	apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error)
	tryApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]Trial, error)
	delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error)
	definitionsPresent(ctx context.Context, names []string) map[string]bool
}

// native sends requests of its own. It is for Helm's Kubernetes client of a cluster.
type native struct{ *Client }

// delegated leaves everything to the Kubernetes client. It is for a client of another
// implementation, and for one without a cluster.
type delegated struct{ *Client }

var (
	_ backend = native{}
	_ backend = delegated{}
)

// IsNative reports whether objects are written by requests of this package, and not by a
// Kubernetes client of another implementation.
func (c *Client) IsNative() bool {
	_, ok := c.backend.(native)
	return ok
}

// HasCluster reports whether there is a cluster to observe.
func (c *Client) HasCluster() bool { return c.getter != nil }

// References finds the resources by which objects are served, so that they can be compared
// and deleted. Objects without a namespace are in the one given, if their kinds are
// namespaced.
func (c *Client) References(objects []map[string]any, namespace string) (kube.ResourceList, error) {
	return c.backend.references(objects, namespace)
}

func (n native) references(objects []map[string]any, namespace string) (kube.ResourceList, error) {
	list := make(kube.ResourceList, len(objects))
	for i, content := range objects {
		var err error
		if list[i], err = n.reference(content, namespace); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d delegated) references(objects []map[string]any, _ string) (kube.ResourceList, error) {
	return d.buildObjects(objects, false)
}

// InServedVersion is an object in a version that the cluster serves; nil if the cluster
// does not know its kind. In another version than its own the object would mean something
// else: then only its name is kept. Without a cluster every object is served.
func (c *Client) InServedVersion(content map[string]any) (map[string]any, error) {
	if !c.HasCluster() {
		return content, nil
	}
	u := &unstructured.Unstructured{Object: content}
	mapping, err := c.Mapping(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	if mapping != nil {
		return content, nil
	}
	return c.backend.inOtherVersion(content)
}

func (n native) inOtherVersion(content map[string]any) (map[string]any, error) {
	u := &unstructured.Unstructured{Object: content}
	gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
	if err != nil {
		return nil, err
	}
	mapping, err := n.Mapping(gv.Group+"/", u.GetKind()) // in any version
	if err != nil || mapping == nil {
		return nil, err
	}
	return object.Reference(mapping.GroupVersionKind.GroupVersion().String(), u.GetKind(), u.GetNamespace(), u.GetName()), nil
}

func (d delegated) inOtherVersion(map[string]any) (map[string]any, error) { return nil, nil }

// IsUnknownKind reports whether the cluster does not know a kind. Without a cluster every
// kind is known.
func (c *Client) IsUnknownKind(apiVersion, kind string) (bool, error) {
	if !c.HasCluster() {
		return false, nil
	}
	mapping, err := c.Mapping(apiVersion, kind)
	return err == nil && mapping == nil, err
}
