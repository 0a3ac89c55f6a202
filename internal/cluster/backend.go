// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

// backend has the methods of Client that work in a different way for Helm's own Kubernetes
// client (native) and for other clients (delegated).
type backend interface {
	build(manifest []byte, validate bool) (kube.ResourceList, error)
	buildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error)
	references(objects []map[string]any, namespace string) (kube.ResourceList, error)
	inOtherVersion(content map[string]any) (map[string]any, error)
	definitionsPresent(ctx context.Context, names []string) map[string]bool
}

// native is the backend for Helm's own Kubernetes client with a cluster. It sends requests
// itself.
type native struct{ *Client }

// delegated is the backend for a custom Kubernetes client, and for a client without a
// cluster. It calls the methods of that client.
type delegated struct{ *Client }

var (
	_ backend = native{}
	_ backend = delegated{}
)

// IsNative reports whether the Kubernetes client is Helm's own and there is a cluster, so
// that this program can send requests itself. Otherwise it must call the methods of the
// Kubernetes client.
func (c *Client) IsNative() bool {
	_, ok := c.backend.(native)
	return ok
}

// HasCluster reports whether there is a cluster to read from and to watch.
func (c *Client) HasCluster() bool { return c.getter != nil }

// Kube returns the Kubernetes client that was passed to New.
func (c *Client) Kube() kube.Interface { return c.kube }

// References finds the API resources of objects, which have at least a kind and a name, so
// that the objects can be compared, read and deleted. namespace is the namespace of
// namespaced objects that do not declare one.
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

// InServedVersion returns an object in an API version that the cluster serves, or nil if
// the cluster does not serve its kind in any version. If the version is not the declared
// one, the result has only the kind and the name of the object, because fields can have
// another meaning in another version. Without a cluster, every version counts as served.
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

// IsUnknownKind reports whether the cluster does not serve a kind in an API version.
// Without a cluster, every kind counts as served.
func (c *Client) IsUnknownKind(apiVersion, kind string) (bool, error) {
	if !c.HasCluster() {
		return false, nil
	}
	mapping, err := c.Mapping(apiVersion, kind)
	return err == nil && mapping == nil, err
}
