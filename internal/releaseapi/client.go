// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// errNoResourceVersion rejects an update that would overwrite the changes of others.
var errNoResourceVersion = errors.New("the update has no resourceVersion")

// Client reads and writes the objects of one namespace. Errors of the API server are wrapped,
// so that the functions of k8s.io/apimachinery/pkg/api/errors accept them. If a request fails
// because of the definitions, the error is a *DefinitionsError.
type Client struct {
	// Releases are the Releases of the namespace.
	Releases *Objects[Release, *Release]
	// Versions are the ReleaseVersions of the namespace.
	Versions *Objects[ReleaseVersion, *ReleaseVersion]
}

// NewClient returns a client for a namespace, or for reading all namespaces if it is empty.
func NewClient(client dynamic.Interface, namespace string) *Client {
	return &Client{
		Releases: &Objects[Release, *Release]{
			client: client.Resource(ReleaseGVR()).Namespace(namespace), namespace: namespace, resource: ReleaseResource,
		},
		Versions: &Objects[ReleaseVersion, *ReleaseVersion]{
			client: client.Resource(ReleaseVersionGVR()).Namespace(namespace), namespace: namespace, resource: ReleaseVersionResource,
		},
	}
}

// Objects reads and writes the objects of one kind.
type Objects[T any, P interface {
	*T
	Object
}] struct {
	client    dynamic.ResourceInterface
	namespace string
	resource  string
}

// Get reads an object.
func (o *Objects[T, P]) Get(ctx context.Context, name string) (*T, error) {
	u, err := o.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, o.wrap("get", name, err)
	}
	object := new(T)
	return object, FromUnstructured(u, P(object))
}

// List is one page of objects.
type List[T any] struct {
	Items []T
	// ResourceVersion is that of the list, for a watch that starts there.
	ResourceVersion string
	// Continue requests the next page; empty if this is the last one.
	Continue string
}

// List reads the objects that the options select.
func (o *Objects[T, P]) List(ctx context.Context, options metav1.ListOptions) (*List[T], error) {
	page, err := o.client.List(ctx, options)
	if err != nil {
		return nil, o.wrap("list", "", err)
	}
	list := &List[T]{Items: make([]T, len(page.Items)), ResourceVersion: page.GetResourceVersion(), Continue: page.GetContinue()}
	for i := range page.Items {
		if err := FromUnstructured(&page.Items[i], P(&list.Items[i])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Create creates an object, and returns it as the API server has stored it.
func (o *Objects[T, P]) Create(ctx context.Context, object *T) (*T, error) {
	u, err := ToUnstructured(P(object))
	if err != nil {
		return nil, err
	}
	// Without strict validation, older definitions would silently drop fields.
	u, err = o.client.Create(ctx, u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, o.wrap("create", P(object).GetName(), err)
	}
	created := new(T)
	return created, FromUnstructured(u, P(created))
}

// Update replaces an object, and returns it as the API server has stored it. It fails with a
// conflict if the object has changed since it was read.
func (o *Objects[T, P]) Update(ctx context.Context, object *T) (*T, error) {
	p := P(object)
	if fields := p.unknownFields(); len(fields) > 0 {
		return nil, &DefinitionsError{Problem: ProblemNewer, Resource: o.resource + "." + Group, Object: describe(p), Fields: fields}
	}
	if p.GetResourceVersion() == "" {
		return nil, fmt.Errorf("update %s: %w", describe(p), errNoResourceVersion)
	}
	u, err := ToUnstructured(p)
	if err != nil {
		return nil, err
	}
	u, err = o.client.Update(ctx, u, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, o.wrap("update", p.GetName(), err)
	}
	updated := new(T)
	return updated, FromUnstructured(u, P(updated))
}

// Delete deletes an object. The options select how the garbage collector treats what it owns,
// and can name the UID that it must have.
func (o *Objects[T, P]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if err := o.client.Delete(ctx, name, options); err != nil {
		return o.wrap("delete", name, err)
	}
	return nil
}

func (o *Objects[T, P]) wrap(verb, name string, err error) error {
	object := P(new(T)).groupVersionKind().Kind
	if name != "" {
		object += " " + name
	}
	if wrapped := definitionsError(err, o.resource, object); wrapped != err { //nolint:errorlint // the same value means that it is not wrapped
		return wrapped
	}
	return fmt.Errorf("%s %s: %w", verb, object, err)
}
