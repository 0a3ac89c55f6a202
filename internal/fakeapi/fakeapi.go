// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi is a Kubernetes API server for tests, which keeps objects in memory. Only
// tests import it. Server serves only reads and watches of objects that the test puts into
// it. API also serves writes. Transport connects a client to a Server without a network.
//
// A request is written as verb and resource, as in "get pods". A collection is the path of
// all objects of one resource in one namespace.
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

// Server serves get, list and watch requests as a real API server does: with increasing
// resource versions, bookmarks, and a history of events. A watch from a version before the
// history receives status 410.
type Server struct {
	// FormatVersion formats resource versions. The default is decimal. A test can replace
	// it before it stores any object.
	FormatVersion func(int64) string

	tb testing.TB

	mu        sync.Mutex
	version   int64
	uids      int
	objects   map[string]map[string]any // by path
	history   []event
	compacted int64
	changed   chan struct{}            // wakes watches: closed and replaced at every change
	watches   int                      // the number of open watches
	closures  int                      // the number of calls of CloseWatches
	paused    bool                     // whether watches send no events
	requests  []string                 // "verb resource"
	paths     []string                 // the URL paths of the requests
	from      []string                 // the resource versions from which watches started
	codes     map[string]int           // by request: the HTTP status code of the response, set by Fail
	gates     map[string]chan struct{} // by request: the channel that it waits for, set by Block
}

// event is an entry of the history. kind is the type of the watch event, as in "ADDED".
type event struct {
	version    int64
	kind       string
	collection string
	object     map[string]any
}

// New returns a Server without objects.
func New(tb testing.TB) *Server {
	tb.Helper()
	return &Server{
		tb: tb, version: 100, objects: map[string]map[string]any{}, changed: make(chan struct{}),
		codes: map[string]int{}, gates: map[string]chan struct{}{},
		FormatVersion: func(v int64) string { return strconv.FormatInt(v, 10) },
	}
}

// Object parses YAML. The values of the result have the Go types that a client would decode
// from a response, such as int64 for numbers.
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

// collectionPath returns the collection of a resource in a namespace; namespace is empty
// for cluster-scoped resources.
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

// Put creates or updates an object, and returns it as a server would, with a new resource
// version. A new object gets a new UID unless it has one.
func (s *Server) Put(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(collectionPath(gvr, obj.GetNamespace()), obj)
}

// put is Put for an object in the given collection. The caller must have locked mu.
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

// remove is Delete for an object in the given collection. The caller must have locked mu.
func (s *Server) remove(collection, name string) {
	last := s.object(collection + "/" + name).DeepCopy()
	delete(s.objects, collection+"/"+name)
	s.version++
	last.SetResourceVersion(s.FormatVersion(s.version))
	s.addEvent("DELETED", collection, last.Object)
}

// object returns the object with this URL path, or nil if there is none. The caller must
// have locked mu.
func (s *Server) object(path string) *unstructured.Unstructured {
	if content, ok := s.objects[path]; ok {
		return &unstructured.Unstructured{Object: content}
	}
	return nil
}

// PauseWatches delays the events of all watches if paused is true, until it is called with
// false.
func (s *Server) PauseWatches(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	s.notify()
}

// SendBookmark sends a bookmark with a new resource version to the watches of a resource in
// a namespace.
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
	if err := json.Unmarshal(statusObject(code, "told by the watch"), &status); err != nil {
		s.tb.Errorf("test API: %v", err)
	}
	s.version++
	s.addEvent("ERROR", collectionPath(gvr, namespace), status)
}

// addEvent appends an event to the history, and sends it to the watches of the collection.
// The caller must have locked mu.
func (s *Server) addEvent(kind, collection string, object map[string]any) {
	s.history = append(s.history, event{s.version, kind, collection, object})
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

// DropEventsAfterVersion deletes the events after a version from the history, so that
// watches that have not sent them yet never do.
func (s *Server) DropEventsAfterVersion(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = slices.DeleteFunc(s.history, func(e event) bool { return e.version > version })
}

// CloseWatches closes all open watches.
func (s *Server) CloseWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closures++
	s.notify()
}

// Fail makes the Server respond to a request with an HTTP status code until it is called
// with the code 0. The request can be a verb without a resource, as in "watch"; this means
// all resources.
func (s *Server) Fail(request string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[request] = code
}

// Block makes a request, such as "get pods", wait until the caller closes the returned
// channel.
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

// WatchedFrom returns the resource version from which each watch has started.
func (s *Server) WatchedFrom() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.from)
}

// Count returns how often the Server has received a request, such as "get pods". For "", it
// counts all requests.
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
