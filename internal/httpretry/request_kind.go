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

// requestKind is what sending a request again means.
type requestKind struct {
	// streams is whether its answer goes on, so that it is read as it comes.
	streams bool
	// repeatable is whether it may be sent again when the server may have done it
	// already.
	repeatable bool
	// creates is the name of the object that it creates, if it does.
	creates string
	// updatesRelease is whether it writes the record of a release that is there, whatever that
	// is by now.
	updatesRelease bool
	// readsRelease is whether it reads the record of a release: who holds that waits for it.
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
		return requestKind{repeatable: true, updatesRelease: isReleaseObject(path.Base(r.URL.Path))} // of others, once it is done, the same is a conflict
	case http.MethodDelete:
		return requestKind{repeatable: true} // once it is done there is none
	case http.MethodPatch:
		return requestKind{repeatable: !strings.Contains(r.Header.Get("Content-Type"), "json-patch")}
	case http.MethodPost:
		if strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") {
			return requestKind{repeatable: true} // it asks
		}
		name := objectName(body)
		return requestKind{repeatable: name != "", creates: name}
	}
	return requestKind{}
}

// isReleaseObject reports whether an object of a name is where Helm stores a release.
func isReleaseObject(name string) bool { return strings.HasPrefix(name, storage.HelmStorageType+".") }

// isEndless reports whether the answer to a read may go on without an end, or is a log, which
// may be of any size.
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

// objectName is the name of the object in a body; empty if it has none, or cannot be read.
func objectName(body []byte) string {
	object, err := decodeMetadata(body)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// protobufPrefix is how objects begin that are in the API's binary form.
var protobufPrefix = []byte("k8s\x00")

// decodeMetadata reads the metadata of an object in a body.
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
