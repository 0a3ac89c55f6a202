// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterscript contains the functions with which Lua scripts read objects of the cluster
// (docs/reference.md, "Scripts").
package clusterscript

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// maxObjects is the maximum number of objects that a script can list at once.
const maxObjects = 1000

// Functions returns the functions get(apiVersion, kind, namespace, name), which returns an object or nil,
// and list(apiVersion, kind, namespace), which returns a list of objects. namespace is empty for objects
// without one; list then returns the objects of all namespaces. Secrets cannot be read. Without a
// getter, which connects to the cluster, there are no objects.
func Functions(getter action.RESTClientGetter) map[string]luasandbox.GoFunction {
	return map[string]luasandbox.GoFunction{
		"get": func(ctx context.Context, arguments []any) ([]any, error) {
			a, err := readArguments("get", arguments, 4)
			if err != nil || getter == nil {
				return []any{nil}, err
			}
			return get(ctx, getter, a)
		},
		"list": func(ctx context.Context, arguments []any) ([]any, error) {
			a, err := readArguments("list", arguments, 3)
			if err != nil || getter == nil {
				return []any{[]any{}}, err
			}
			return list(ctx, getter, a)
		},
	}
}

// arguments are the arguments of a function.
type arguments struct {
	apiVersion, kind, namespace, name string
}

func readArguments(function string, values []any, count int) (arguments, error) {
	texts := make([]string, 4)
	if len(values) != count {
		return arguments{}, fmt.Errorf("cluster.%s needs %d arguments, but has %d", function, count, len(values))
	}
	for i, value := range values {
		text, isText := value.(string)
		if !isText && value != nil {
			return arguments{}, fmt.Errorf("argument %d of cluster.%s must be a string", i+1, function)
		}
		texts[i] = text
	}
	a := arguments{texts[0], texts[1], texts[2], texts[3]}
	if strings.EqualFold(a.kind, "Secret") || strings.EqualFold(a.kind, "SecretList") {
		return a, errors.New("scripts cannot read Secrets")
	}
	if function == "get" && a.name == "" {
		return a, errors.New("cluster.get needs the name of the object: use cluster.list for several")
	}
	return a, nil
}

// get returns an object, or nil if it does not exist.
func get(ctx context.Context, getter action.RESTClientGetter, a arguments) ([]any, error) {
	client, err := a.client(getter)
	if isNotFound(err) {
		return []any{nil}, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, a.name, metav1.GetOptions{})
	if isNotFound(err) {
		return []any{nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return []any{object.Object}, nil
}

// list returns objects.
func list(ctx context.Context, getter action.RESTClientGetter, a arguments) ([]any, error) {
	client, err := a.client(getter)
	if isNotFound(err) {
		return []any{[]any{}}, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := client.List(ctx, metav1.ListOptions{Limit: maxObjects})
	if err != nil {
		return nil, err
	}
	if found.GetContinue() != "" {
		return nil, fmt.Errorf("there are more than %d objects of the kind %s: list those of one namespace, or get them by name", maxObjects, a.kind)
	}
	return []any{items(found)}, nil
}

func items(found *unstructured.UnstructuredList) []any {
	objects := make([]any, len(found.Items))
	for i := range found.Items {
		objects[i] = found.Items[i].Object
	}
	return objects
}

// isNotFound reports whether an object or its kind does not exist.
func isNotFound(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// client returns the client for the kind and the namespace.
func (a arguments) client(getter action.RESTClientGetter) (dynamic.ResourceInterface, error) {
	version, err := schema.ParseGroupVersion(a.apiVersion)
	if err != nil {
		return nil, err
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(version.WithKind(a.kind).GroupKind(), version.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Resource.Resource == "secrets" {
		return nil, errors.New("scripts cannot read Secrets")
	}
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(mapping.Resource), nil
	}
	return client.Resource(mapping.Resource).Namespace(a.namespace), nil
}
