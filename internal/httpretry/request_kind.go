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

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// requestKind describes the properties of a request that decide whether and how to retry it.
type requestKind struct {
	// streams is true if the caller reads the response body while it arrives, as for a
	// watch.
	streams bool
	// repeatable is true if the request can be sent again even if the server may already
	// have processed it.
	repeatable bool
	// createdName is the name of the object that the request creates. It is empty if the
	// request creates no object, or one whose name the server generates.
	createdName string
	// updatesRelease is true if the request replaces a stored release.
	updatesRelease bool
	// readsRelease is true if the request reads a stored release. Its timeout is shorter
	// than that of other requests, because the lock holder waits for the response.
	readsRelease bool
}

// classify returns the requestKind of a request. body is its complete body.
func classify(r *http.Request, body []byte) requestKind {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return requestKind{
			streams: isStream(r.URL) || r.Context().Value(streamingKey) != nil, repeatable: true,
			readsRelease: isReleasePath(r.URL.Path),
		}
	case http.MethodPut:
		return requestKind{repeatable: true, updatesRelease: isReleasePath(r.URL.Path)} // a repeated update has a conflict, or the same result for a stored release
	case http.MethodDelete:
		return requestKind{repeatable: true} // a repeated deletion finds no object
	case http.MethodPatch:
		return requestKind{repeatable: !strings.Contains(r.Header.Get("Content-Type"), "json-patch")}
	case http.MethodPost:
		if strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") {
			return requestKind{repeatable: true} // a review changes nothing
		}
		name := objectName(body)
		return requestKind{repeatable: name != "", createdName: name}
	}
	return requestKind{}
}

// isReleaseObject reports whether name is that of a Secret or ConfigMap in which Helm stores
// a revision of a release.
func isReleaseObject(name string) bool { return strings.HasPrefix(name, storage.HelmStorageType+".") }

// isReleasePath reports whether a path is that of an object in which Helm stores a release: a Secret or
// ConfigMap, a Release, a ReleaseVersion, or the Lease of a lock holder.
func isReleasePath(p string) bool {
	return isReleaseObject(path.Base(p)) || strings.Contains(p, "/apis/"+releaseapi.APIVersion+"/")
}

// isStream reports whether the response to a read request is a watch or a log. Both can be
// endless.
func isStream(u *url.URL) bool {
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

// objectName returns the name of the object in a request body. It is empty if the object
// has no name, or if the body cannot be decoded.
func objectName(body []byte) string {
	object, err := decodeMetadata(body)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// protobufPrefix begins every object that is encoded as protobuf.
var protobufPrefix = []byte("k8s\x00")

// decodeMetadata decodes the metadata of the object in a request or response body.
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
