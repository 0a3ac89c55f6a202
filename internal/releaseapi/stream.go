// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// itemsField is the field of a list in the API that contains its objects.
const itemsField = "items"

// Each calls visit for each object that a label selector selects. It decodes one object at a time, without
// its managed fields, so that it needs much less memory than List, which it calls if raw, a client for any
// path of the API server, is nil. The objects cannot be updated.
func (o *Objects[T, P]) Each(ctx context.Context, raw rest.Interface, selector string, visit func(*T)) error {
	if raw == nil {
		list, err := o.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		return nil
	}
	path := "/apis/" + APIVersion
	if o.namespace != "" {
		path += "/namespaces/" + o.namespace
	}
	request := raw.Get().AbsPath(path+"/"+o.resource).SetHeader("Accept", "application/json")
	if selector != "" {
		request = request.Param("labelSelector", selector)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return o.wrap("list", "", err)
	}
	defer body.Close()
	err = decodeItems(json.NewDecoder(body), func(d *json.Decoder) error {
		object := new(T)
		if err := d.Decode(object); err != nil {
			return err
		}
		p := P(object)
		p.SetManagedFields(nil)
		p.SetResourceVersion("")
		p.setKind()
		visit(object)
		return nil
	})
	if err != nil {
		return o.wrap("list", "", err)
	}
	return nil
}

// errNoItems reports a response that is not a list.
var errNoItems = errors.New("the response is not a list of objects")

// decodeItems calls decode for each object of a list, when d is at its beginning.
func decodeItems(d *json.Decoder, decode func(*json.Decoder) error) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	found := false
	for d.More() {
		key, err := d.Token()
		switch {
		case err != nil:
			return err
		case key == itemsField:
			found = true
			err = decodeArray(d, decode)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return errNoItems
	}
	return expect(d, json.Delim('}'))
}

// decodeArray calls decode for each element of an array, when d is at its beginning.
func decodeArray(d *json.Decoder, decode func(*json.Decoder) error) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for d.More() {
		if err := decode(d); err != nil {
			return err
		}
	}
	return expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Token) error {
	got, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: got %v, want %v", errNoItems, got, want)
	}
	return nil
}
