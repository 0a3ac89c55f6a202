// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package clusterreader

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// maxList is the maximum number of objects that List reads.
	maxList = 500
	// MaxLogBytes is the maximum number of bytes that Log reads.
	MaxLogBytes = 64 << 10
)

// List lists the objects of a resource in a namespace, or in all namespaces if namespace is
// empty. It omits objects that cannot be converted to T.
func List[T any](ctx context.Context, s *Session, resource schema.GroupVersionResource, namespace string,
	options metav1.ListOptions) ([]T, error) {
	if s.clients.Dynamic == nil {
		return nil, errNoClient
	}
	options.Limit = maxList
	question := fmt.Sprintf("list %s %q %q %q", resource, namespace, options.LabelSelector, options.FieldSelector)
	return cached(ctx, s, question, func(ctx context.Context) ([]T, error) {
		answer, err := resourceClient(s.clients.Dynamic, resource, namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		objects := make([]T, 0, len(answer.Items))
		for n := range answer.Items {
			if object, err := Convert[T](&answer.Items[n]); err == nil {
				objects = append(objects, *object)
			}
		}
		return objects, nil
	})
}

// Get reads one object. namespace is empty for cluster-scoped objects.
func (s *Session) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	if s.clients.Dynamic == nil {
		return nil, errNoClient
	}
	question := fmt.Sprintf("get %s %q %q", resource, namespace, name)
	return cached(ctx, s, question, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resourceClient(s.clients.Dynamic, resource, namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// Exists reports whether an object exists. It reads only metadata, so that the contents of
// Secrets are never read.
func (s *Session) Exists(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	if s.clients.Metadata == nil {
		return false, errNoClient
	}
	question := fmt.Sprintf("exists %s %q %q", resource, namespace, name)
	return cached(ctx, s, question, func(ctx context.Context) (bool, error) {
		var err error
		if client := s.clients.Metadata.Resource(resource); namespace == "" {
			_, err = client.Get(ctx, name, metav1.GetOptions{})
		} else {
			_, err = client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func resourceClient(client dynamic.Interface, resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(resource)
	}
	return client.Resource(resource).Namespace(namespace)
}

// Log reads the log of a container that options selects. It does not cache the log.
func (s *Session) Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (string, error) {
	if s.clients.Clientset == nil {
		return "", errNoClient
	}
	return limited(ctx, s.limit, func(ctx context.Context) (string, error) {
		stream, err := s.clients.Clientset.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
		if err != nil {
			return "", err
		}
		defer stream.Close()
		text, err := io.ReadAll(io.LimitReader(stream, MaxLogBytes))
		return string(text), err
	})
}

// Convert converts an object to its Go type T, such as corev1.Pod.
func Convert[T any](obj *unstructured.Unstructured) (*T, error) {
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil, fmt.Errorf("cannot decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return object, nil
}
