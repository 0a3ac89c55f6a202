// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi contains two Kubernetes API servers that keep objects in memory. Only tests
// import it. A Server responds to get, list and watch requests for objects that the test puts
// into it; a Transport connects clients to it without a network. A WritableAPI responds to get
// and list requests, and to requests that change objects.
//
// In this package, a request is named by its verb and resource, as in "get pods". A collection
// is the URL path of all objects of one resource in one namespace.
package fakeapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Server is an http.Handler that responds to get, list and watch requests. It has increasing
// resource versions, bookmarks, and a history of watch events. After Compact, a watch from a
// version that the history does not cover receives the HTTP status 410 (Gone).
type Server struct {
	// FormatVersion formats resource versions. The default is decimal. A test can replace
	// the function before it stores any object.
	FormatVersion func(int64) string

	tb testing.TB

	mu        sync.Mutex
	version   int64                     // the latest resource version
	uids      int                       // the number of UIDs assigned until now
	objects   map[string]map[string]any // by URL path
	history   []watchEvent
	compacted int64                    // the latest version when Compact was called
	changed   chan struct{}            // wakes watches: closed and replaced at every change
	watches   int                      // the number of open watches
	closures  int                      // the number of calls of CloseWatches
	paused    bool                     // whether watches send no events
	requests  []string                 // "verb resource"
	paths     []string                 // the URL paths of the requests
	from      []string                 // the resource versions from which watches started
	codes     map[string]int           // the HTTP status codes that Fail has set, by request
	gates     map[string]chan struct{} // the channels that Block has returned, by request
}

// watchEvent is a watch event in the history.
type watchEvent struct {
	version    int64
	kind       string // for example "ADDED"
	collection string
	object     map[string]any
}

// NewServer returns a Server without objects.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	return &Server{
		tb: tb, version: 100, objects: map[string]map[string]any{}, changed: make(chan struct{}),
		codes: map[string]int{}, gates: map[string]chan struct{}{},
		FormatVersion: func(v int64) string { return strconv.FormatInt(v, 10) },
	}
}

// Object parses the YAML of an object. Its values have the Go types that a client decodes from a
// response, such as int64 for integers.
func Object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatalf("test object: %v", err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		tb.Fatalf("test object: %v", err)
	}
	return obj
}

// collectionPath returns the collection of a resource in a namespace. namespace is empty for
// cluster-scoped resources.
func collectionPath(gvr schema.GroupVersionResource, namespace string) string {
	path := "/apis/" + gvr.Group + "/" + gvr.Version
	if gvr.Group == "" {
		path = "/api/" + gvr.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + gvr.Resource
}

// Put creates or updates an object, and returns the stored object with its new resource
// version. A new object gets a UID if it has none.
func (s *Server) Put(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(collectionPath(gvr, obj.GetNamespace()), obj)
}

// put is like Put for an object in the given collection. The caller must hold mu.
func (s *Server) put(collection string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	path := collection + "/" + obj.GetName()
	obj = obj.DeepCopy()
	kind := "ADDED"
	if old, ok := s.objects[path]; ok {
		kind = "MODIFIED"
		obj.SetUID((&unstructured.Unstructured{Object: old}).GetUID())
	} else if obj.GetUID() == "" {
		s.uids++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	}
	s.version++
	obj.SetResourceVersion(s.FormatVersion(s.version))
	s.objects[path] = obj.Object
	s.addEvent(kind, collection, obj.Object)
	return obj.DeepCopy()
}

// Delete deletes an object, which must exist.
func (s *Server) Delete(gvr schema.GroupVersionResource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(collectionPath(gvr, namespace), name)
}

// remove is like Delete for an object in the given collection. The caller must hold mu.
func (s *Server) remove(collection, name string) {
	last := s.object(collection + "/" + name).DeepCopy()
	delete(s.objects, collection+"/"+name)
	s.version++
	last.SetResourceVersion(s.FormatVersion(s.version))
	s.addEvent("DELETED", collection, last.Object)
}

// object returns the object with the given URL path, or nil if there is none. The caller must
// hold mu.
func (s *Server) object(path string) *unstructured.Unstructured {
	if content, ok := s.objects[path]; ok {
		return &unstructured.Unstructured{Object: content}
	}
	return nil
}

// PauseWatches stops sending events to watches if paused is true. If paused is false, the
// delayed events are sent.
func (s *Server) PauseWatches(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	s.notify()
}

// SendBookmark sends a bookmark with a new resource version to the watches of a resource in a
// namespace, if they allow bookmarks.
func (s *Server) SendBookmark(gvr schema.GroupVersionResource, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.addEvent("BOOKMARK", collectionPath(gvr, namespace), map[string]any{
		"apiVersion": "v1", "kind": "Any", "metadata": map[string]any{"resourceVersion": s.FormatVersion(s.version)},
	})
}

// SendError sends an error event with an HTTP status code to the watches of a resource in a
// namespace.
func (s *Server) SendError(gvr schema.GroupVersionResource, namespace string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := map[string]any{}
	if err := json.Unmarshal(statusObject(code, "error event"), &status); err != nil {
		s.tb.Errorf("test API: %v", err)
	}
	s.version++
	s.addEvent("ERROR", collectionPath(gvr, namespace), status)
}

// addEvent appends an event to the history, and wakes the watches, which send it to their
// clients. The caller must hold mu.
func (s *Server) addEvent(kind, collection string, object map[string]any) {
	s.history = append(s.history, watchEvent{s.version, kind, collection, object})
	s.notify()
}

func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Compact deletes the history, so that new watches can only start from the current version.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.version
	s.history = nil
}

// DropEventsAfterVersion deletes the events after a version from the history. Watches that
// have not sent these events yet never send them.
func (s *Server) DropEventsAfterVersion(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = slices.DeleteFunc(s.history, func(e watchEvent) bool { return e.version > version })
}

// CloseWatches closes all open watches.
func (s *Server) CloseWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closures++
	s.notify()
}

// Fail makes the Server respond to requests such as "get pods" with an HTTP status code. The
// code 0 ends this. A verb without a resource, as in "watch", matches all resources.
func (s *Server) Fail(request string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[request] = code
}

// Block makes requests such as "get pods" wait until the caller closes the returned channel.
func (s *Server) Block(request string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gates[request] = gate
	return gate
}

// Version returns the latest resource version.
func (s *Server) Version() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Requests returns all requests that the Server has received, in this order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Paths returns the URL paths of all requests that the Server has received, in this order.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// WatchedFrom returns the resource version from which each watch started, in the order of the
// requests.
func (s *Server) WatchedFrom() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.from)
}

// Count returns how often the Server has received a request such as "get pods" or, if request
// is empty, the number of all requests.
func (s *Server) Count(request string) int {
	n := 0
	for _, r := range s.Requests() {
		if r == request || request == "" {
			n++
		}
	}
	return n
}

// OpenWatches returns the number of open watches.
func (s *Server) OpenWatches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}
