// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// buildReference does what BuildReferences does, for one object. The result is the same as
// that of Build, except that it has no REST client. buildReference does not change object.
func (b *directBuilder) buildReference(object map[string]any, namespace string) (*resource.Info, error) {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	mapping, err := b.connection.Mapping(u.GetAPIVersion(), u.GetKind())
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
func (b *directBuilder) namespace() (string, error) {
	return b.defaultNamespace.get(func() (string, error) {
		if b.helm.Namespace != "" {
			return b.helm.Namespace, nil
		}
		namespace, _, err := b.helm.Factory.ToRawKubeConfigLoader().Namespace()
		return namespace, err
	})
}
