// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// reference finds the API resource of an object. The result is that of Build, but without a
// REST client. It does not change the object. namespace is the namespace of a namespaced
// object that does not declare one.
func (c *Client) reference(object map[string]any, namespace string) (*resource.Info, error) {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	mapping, err := c.Mapping(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	if mapping == nil {
		return nil, fmt.Errorf("unable to recognize \"\": no matches for kind %q in version %q", u.GetKind(), u.GetAPIVersion())
	}
	info := &resource.Info{Mapping: mapping, Name: u.GetName(), Object: u}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
		info.Namespace = u.GetNamespace()
	}
	return info, nil
}

// namespace returns the namespace that Build uses for namespaced objects that do not
// declare one.
func (c *Client) namespace() (string, error) {
	return c.defaultNamespace.get(func() (string, error) {
		helm, ok := c.kube.(*kube.Client)
		if !ok {
			return metav1.NamespaceDefault, nil
		}
		if helm.Namespace != "" {
			return helm.Namespace, nil
		}
		namespace, _, err := helm.Factory.ToRawKubeConfigLoader().Namespace()
		return namespace, err
	})
}
