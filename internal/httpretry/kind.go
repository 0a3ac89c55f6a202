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

// kind is what sending a request again means.
type kind struct {
	// streams is whether its answer goes on, so that it is read as it comes.
	streams bool
	// repeatable is whether it may be sent again when the server may have done it
	// already.
	repeatable bool
	// creates is the name of the object that it creates, if it does.
	creates string
	// records is whether it writes the record of a release that is there, whatever that
	// is by now.
	records bool
	// asks is whether it reads the record of a release: who holds that waits for it.
	asks bool
}

func kindOf(r *http.Request, body []byte) kind {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return kind{
			streams: goesOn(r.URL) || r.Context().Value(read) != nil, repeatable: true,
			asks: isRecord(path.Base(r.URL.Path)),
		}
	case http.MethodPut:
		return kind{repeatable: true, records: isRecord(path.Base(r.URL.Path))} // of others, once it is done, the same is a conflict
	case http.MethodDelete:
		return kind{repeatable: true} // once it is done there is none
	case http.MethodPatch:
		return kind{repeatable: !strings.Contains(r.Header.Get("Content-Type"), "json-patch")}
	case http.MethodPost:
		if strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") {
			return kind{repeatable: true} // it asks
		}
		name := nameIn(body)
		return kind{repeatable: name != "", creates: name}
	}
	return kind{}
}

// isRecord reports whether an object of a name is where Helm stores a release.
func isRecord(name string) bool { return strings.HasPrefix(name, storage.HelmStorageType+".") }

// goesOn reports whether the answer to a read may go on without an end, or is a log, which
// may be of any size.
func goesOn(u *url.URL) bool {
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

// nameIn is the name of the object in a body; empty if it has none, or cannot be read.
func nameIn(body []byte) string {
	object, err := metadataIn(body)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// protobuf is how objects begin that are in the API's binary form.
var protobuf = []byte("k8s\x00")

// metadataIn reads the metadata of an object in a body.
func metadataIn(body []byte) (metav1.Object, error) {
	if bytes.HasPrefix(body, protobuf) {
		object, err := objectIn(body)
		if err != nil {
			return nil, err
		}
		return meta.Accessor(object)
	}
	object := &metav1.PartialObjectMetadata{}
	return object, json.Unmarshal(body, object)
}
