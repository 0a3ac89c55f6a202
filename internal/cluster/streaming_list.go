// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/object"
)

// managedFieldsKey is the key of WithManagedFields.
type managedFieldsKey struct{}

// WithManagedFields returns a context with which lists keep the managed fields of objects: who has
// set which field.
func WithManagedFields(ctx context.Context) context.Context {
	return context.WithValue(ctx, managedFieldsKey{}, true)
}

// forEach lists the objects of a collection and calls do with each of them, without their
// managed fields, which make up most of an object, unless WithManagedFields was called. To save
// memory, it decodes the objects one by one while the response arrives. If the response ends
// early, it sends the request again, so it can call do more than once with the same object. more
// is true if there are more objects than options.Limit.
func (c *clientFactory) forEach(ctx context.Context, at collection, options metav1.ListOptions, do func(*unstructured.Unstructured)) (more bool, err error) {
	client, err := c.REST()
	if err != nil {
		return false, err
	}
	if ctx.Value(managedFieldsKey{}) == nil {
		use := do
		do = func(item *unstructured.Unstructured) {
			item.SetManagedFields(nil)
			use(item)
		}
	}
	for range maxListAttempts {
		more, err = list(ctx, client, at, options, do)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return more, err
}

// maxListAttempts is how often forEach sends a list request if the response ends early.
const maxListAttempts = 6

// list does what forEach does, but sends the request only once.
func list(ctx context.Context, client rest.Interface, at collection, options metav1.ListOptions, do func(*unstructured.Unstructured)) (more bool, err error) {
	body, err := client.Get().AbsPath(object.CollectionPath(at.resource, at.namespace)...).VersionedParams(&options, metav1.ParameterCodec).Stream(httpretry.WithStreaming(ctx))
	if err != nil {
		return false, err
	}
	defer body.Close()
	next, err := readItems(body, func(item *unstructured.Unstructured) {
		item.SetGroupVersionKind(at.kind) // the items of a list may omit their kind
		do(item)
	})
	if err != nil {
		return false, fmt.Errorf("read the list of %s: %w", at.resource.Resource, err)
	}
	return next != "", nil
}

// REST returns a client whose callers decode the response bodies. It shares the limit of
// Dynamic for requests at the same time.
func (c *clientFactory) REST() (rest.Interface, error) {
	return c.rest.get(func() (rest.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		return rest.UnversionedRESTClientFor(config)
	})
}

var errNoList = errors.New("this is not a list of objects")

// readItems reads the JSON of a list of objects, and calls do with each object. It returns
// the continue token of the list, which is empty if there are no more objects.
func readItems(body io.Reader, do func(*unstructured.Unstructured)) (next string, err error) {
	d := json.NewDecoder(body)
	if err := expectToken(d, json.Delim('{')); err != nil {
		return "", err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		switch key {
		case "metadata":
			var list metav1.ListMeta
			if err := d.Decode(&list); err != nil {
				return "", err
			}
			next = list.Continue
		case "items":
			if err := readArray(d, do); err != nil {
				return "", err
			}
		default:
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return "", err
			}
		}
	}
	return next, expectToken(d, json.Delim('}'))
}

// readArray reads the JSON array of the items, and calls do with each of them.
func readArray(d *json.Decoder, do func(*unstructured.Unstructured)) error {
	if err := expectToken(d, json.Delim('[')); err != nil {
		return err
	}
	var text json.RawMessage
	for d.More() {
		text = text[:0]
		if err := d.Decode(&text); err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(text, &object.Object); err != nil {
			return err
		}
		do(object)
	}
	return expectToken(d, json.Delim(']'))
}

// expectToken reads the next token, and returns an error if it is not the delimiter want.
func expectToken(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return err
	}
	if got != want {
		return errNoList
	}
	return nil
}
