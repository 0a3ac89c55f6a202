// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collection, name, resource := splitPath(r.URL.Path)
	verb := "list"
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case name != "":
		verb = "get"
	}
	code, gate := s.addRequest(r, verb, resource)
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case code != 0:
		writeError(w, code, verb+" "+resource)
	case verb == "watch":
		s.serveWatch(w, r, collection)
	case verb == "list":
		s.serveList(w, r, collection)
	default:
		s.serveGet(w, r.URL.Path, resource)
	}
}

// addRequest records a request. It returns the status code that Fail has set for the
// request, or 0, and the channel that Block has set, or nil.
func (s *Server) addRequest(r *http.Request, verb, resource string) (code int, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := verb + " " + resource
	s.requests = append(s.requests, request)
	s.paths = append(s.paths, r.URL.Path)
	if verb == "watch" {
		s.from = append(s.from, r.URL.Query().Get("resourceVersion"))
	}
	return max(s.codes[verb], s.codes[request]), s.gates[request]
}

// IsGet reports whether a request reads a single object.
func IsGet(r *http.Request) bool {
	_, name, _ := splitPath(r.URL.Path)
	return name != ""
}

// splitPath returns the parts of the URL path of a request. If the path is that of a
// collection, name is empty. resource is for example "pods".
func splitPath(path string) (collection, name, resource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	rest := parts[2:]
	if parts[0] == "apis" {
		rest = parts[3:]
	}
	if len(rest) > 2 && rest[0] == "namespaces" {
		rest = rest[2:]
	}
	collection = path
	if len(rest) == 2 {
		name = rest[1]
		collection = strings.TrimSuffix(path, "/"+name)
	}
	return collection, name, rest[0]
}

func writeError(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(statusObject(code, message))
}

func statusObject(code int, message string) []byte {
	reason := map[int]string{
		http.StatusForbidden: "Forbidden", http.StatusMethodNotAllowed: "MethodNotAllowed",
		http.StatusNotFound: "NotFound", http.StatusGone: "Expired", http.StatusInternalServerError: "InternalError",
	}[code]
	return []byte(fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message))
}

func (s *Server) serveGet(w http.ResponseWriter, path, resource string) {
	s.mu.Lock()
	object, ok := s.objects[path]
	s.mu.Unlock()
	if !ok {
		writeError(w, http.StatusNotFound, resource)
		return
	}
	writeJSON(w, object)
}

func (s *Server) serveList(w http.ResponseWriter, r *http.Request, collection string) {
	query := r.URL.Query()
	byField := fields.ParseSelectorOrDie(query.Get("fieldSelector"))
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	s.mu.Lock()
	items, next := []any{}, ""
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		object := s.objects[path]
		if !strings.HasPrefix(path, collection+"/") || !byField.Matches(objectFields(object)) || !byLabel.Matches(labelsOf(object)) {
			continue
		}
		if limit > 0 && len(items) == limit {
			next = "more"
			break
		}
		items = append(items, object)
	}
	version := s.FormatVersion(s.version)
	s.mu.Unlock()
	list := map[string]any{
		"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": version, "continue": next},
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	writeJSON(w, list)
}

func labelsOf(object map[string]any) labels.Set {
	return (&unstructured.Unstructured{Object: object}).GetLabels()
}

// objectFields implements fields.Fields, so that field selectors can refer to every string
// field of the object.
type objectFields map[string]any

func (f objectFields) Has(string) bool { return true }

func (f objectFields) Get(path string) string {
	value, _, _ := unstructured.NestedString(f, strings.Split(path, ".")...)
	return value
}

func writeJSON(w http.ResponseWriter, content map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content) // the client may have closed the connection
}
