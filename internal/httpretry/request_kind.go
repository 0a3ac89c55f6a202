// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requestKind describes whether and how a request can be retried.
type requestKind struct {
	// streams says whether the response body is read while it arrives.
	streams bool
	// repeatable says whether it can be sent again although the server may have processed
	// it.
	repeatable bool
	// creates is the name of the object that it creates, if any.
	creates string
	// updatesRelease says whether it replaces a stored release.
	updatesRelease bool
	// readsRelease says whether it reads a stored release, which the lock holder waits for.
	readsRelease bool
}

func classify(r *http.Request, body []byte) requestKind {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return requestKind{
			streams: isEndless(r.URL) || r.Context().Value(streamingKey) != nil, repeatable: true,
			readsRelease: isReleaseObject(path.Base(r.URL.Path)),
		}
	case http.MethodPut:
		return requestKind{repeatable: true, updatesRelease: isReleaseObject(path.Base(r.URL.Path))} // a repeated update is a conflict, except of releases
	case http.MethodDelete:
		return requestKind{repeatable: true} // a repeated deletion finds no object
	case http.MethodPatch:
		return requestKind{repeatable: !strings.Contains(r.Header.Get("Content-Type"), "json-patch")}
	case http.MethodPost:
		if strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") {
			return requestKind{repeatable: true} // a review changes nothing
		}
		name := objectName(body)
		return requestKind{repeatable: name != "", creates: name}
	}
	return requestKind{}
}

// isReleaseObject reports whether an object with this name stores a release of Helm.
func isReleaseObject(name string) bool { return strings.HasPrefix(name, storage.HelmStorageType+".") }

// isEndless reports whether the response to a read is a stream, or a log of any size.
func isEndless(u *url.URL) bool {
	if strings.HasSuffix(u.Path, "/log") {
		return true
	}
	query := u.Query()
	for _, option := range []string{"watch", "follow"} {
		if value := query.Get(option); value != "" && value != "0" && value != "false" {
			return true
		}
	}
	return false
}

// objectName returns the name of the object in a body. It is empty if there is none or it
// cannot be decoded.
func objectName(body []byte) string {
	object, err := decodeMetadata(body)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// protobufPrefix begins objects in the binary encoding of the API.
var protobufPrefix = []byte("k8s\x00")

// decodeMetadata decodes the metadata of the object in a body.
func decodeMetadata(body []byte) (metav1.Object, error) {
	if bytes.HasPrefix(body, protobufPrefix) {
		object, err := decodeObject(body)
		if err != nil {
			return nil, err
		}
		return meta.Accessor(object)
	}
	object := &metav1.PartialObjectMetadata{}
	return object, json.Unmarshal(body, object)
}
