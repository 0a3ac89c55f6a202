// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// API answers reads and writes as an API server does, without a network. In a bubble of
// testing/synctest, a test sees which requests wait for an answer, and does not end if a
// goroutine is left behind. Server is for watches.
type API struct {
	// Fault, if set, is called with each request. An API status answers the request in
	// place of the server, and any other error breaks the connection.
	Fault func(Call) error
	// Mutate, if set, changes objects before they are stored.
	Mutate func(*unstructured.Unstructured)

	tb testing.TB

	mu         sync.Mutex
	objects    map[string]*unstructured.Unstructured // by path
	calls      []Call
	pending    int
	maxPending int
	revision   int
}

// Call is a request.
type Call struct {
	*http.Request
	Verb string // as in RBAC
	Path string // resource/name, or resource
	Body string
}

func (c Call) String() string { return c.Verb + " " + c.Path }

// Reads reports whether the request changes nothing.
func (c Call) Reads() bool { return c.Verb == "get" || c.Verb == "list" }

// NewAPI returns an API without objects.
func NewAPI(tb testing.TB) *API {
	return &API{tb: tb, objects: map[string]*unstructured.Unstructured{}}
}

// Getter returns what gives the configuration of clients of the API. There is no
// discovery.
func (f *API) Getter() Getter { return Getter{f} }

// Getter gives the configuration of clients.
type Getter struct{ api *API }

// ToRESTConfig returns a configuration for clients of the API.
func (g Getter) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "http://api", Transport: g.api}, nil
}

// ToDiscoveryClient fails.
func (Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return nil, errors.New("no discovery")
}

// ToRESTMapper fails.
func (Getter) ToRESTMapper() (meta.RESTMapper, error) { return nil, errors.New("no mapper") }

// RoundTrip implements http.RoundTripper.
func (f *API) RoundTrip(r *http.Request) (*http.Response, error) {
	c := Call{Request: r}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.Body = string(body)
	}
	collection, name := splitObjectPath(r.URL.Path)
	c.Path = strings.Trim(collection[strings.LastIndex(collection, "/")+1:]+"/"+name, "/")
	c.Verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get"}[r.Method]
	switch {
	case c.Verb == "":
		c.Verb = strings.ToLower(r.Method)
	case c.Verb == "get" && name == "":
		c.Verb = "list"
	}
	if c.Verb == "create" {
		c.Path += "/" + f.decode(c.Body).GetName()
	}
	f.enter(c)
	defer f.leave()
	var err error
	if f.Fault != nil {
		err = f.Fault(c)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	var answer any
	if err == nil {
		answer, err = f.serve(c, collection, name)
	}
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			return nil, err // the connection breaks
		}
		s := status.Status()
		s.APIVersion, s.Kind = "v1", "Status"
		if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
			recorder.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
		}
		recorder.WriteHeader(int(s.Code))
		answer = s
	}
	if err := json.NewEncoder(recorder).Encode(answer); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

func (f *API) enter(c Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	f.pending++
	f.maxPending = max(f.maxPending, f.pending)
}

func (f *API) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending--
}

// Pending is how many requests wait for an answer.
func (f *API) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

// MaxPending is how many requests waited for an answer at the same time at most.
func (f *API) MaxPending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxPending
}

// Calls lists the requests so far.
func (f *API) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Requests describes the requests so far, sorted within each run of reads or writes, because
// those are sent in parallel.
func (f *API) Requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for i := 0; i < len(f.calls); {
		start := i
		for i < len(f.calls) && f.calls[i].Reads() == f.calls[start].Reads() {
			lines = append(lines, f.calls[i].String())
			i++
		}
		slices.Sort(lines[start:i])
	}
	return lines
}

// Count is how many requests of a verb there were so far.
func (f *API) Count(verb string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c.Verb == verb {
			n++
		}
	}
	return n
}

func splitObjectPath(path string) (collection, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := 2 // api/v1
	if parts[0] == "apis" {
		at = 3
	}
	if len(parts) > at+2 && parts[at] == "namespaces" {
		at += 2
	}
	return "/" + strings.Join(parts[:at+1], "/"), strings.Join(parts[at+1:], "/")
}

func (f *API) serve(c Call, collection, name string) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := schema.GroupResource{Resource: collection[strings.LastIndex(collection, "/")+1:]}
	path := collection + "/" + name
	live := f.objects[path]
	if c.Verb != "list" && c.Verb != "create" && live == nil {
		return nil, apierrors.NewNotFound(what, name)
	}
	switch c.Verb {
	case "list":
		return f.list(c, collection)
	case "create":
		object := f.decode(c.Body)
		path += object.GetName()
		if f.objects[path] != nil {
			return nil, apierrors.NewAlreadyExists(what, object.GetName())
		}
		return f.store(path, object), nil
	case "update":
		object := f.decode(c.Body)
		if object.GetResourceVersion() != live.GetResourceVersion() {
			return nil, apierrors.NewConflict(what, name, errors.New("the object has been modified"))
		}
		return f.store(path, object), nil
	case "patch":
		object, err := f.patched(c, live)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return f.store(path, object), nil
	case "delete":
		var options metav1.DeleteOptions
		if err := json.Unmarshal([]byte(c.Body), &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != live.GetUID() {
			return nil, apierrors.NewConflict(what, name, errors.New("the UID in the precondition does not match"))
		}
		delete(f.objects, path)
	}
	return live, nil
}

func (f *API) list(c Call, collection string) (any, error) {
	selector, err := labels.Parse(c.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	limit, _ := strconv.Atoi(c.URL.Query().Get("limit"))
	items, next := []map[string]any{}, ""
	for _, path := range slices.Sorted(maps.Keys(f.objects)) {
		if !strings.HasPrefix(path, collection+"/") || !selector.Matches(labels.Set(f.objects[path].GetLabels())) {
			continue
		}
		if limit > 0 && len(items) == limit {
			next = "more"
			break
		}
		items = append(items, f.objects[path].Object)
	}
	kind := "List"
	version := "v1"
	if strings.Contains(c.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"continue": next}, "items": items}, nil
}

func (f *API) patched(c Call, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	if c.Header.Get("Content-Type") == string(types.MergePatchType) {
		data, err = jsonpatch.MergePatch(data, []byte(c.Body))
	} else {
		typed, e := scheme.Scheme.New(live.GroupVersionKind())
		if e != nil {
			return nil, e
		}
		data, err = strategicpatch.StrategicMergePatch(data, []byte(c.Body), typed)
	}
	if err != nil {
		return nil, err
	}
	return f.decode(string(data)), nil
}

func (f *API) decode(data string) *unstructured.Unstructured {
	f.tb.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(data)); err != nil {
		f.tb.Errorf("test API: the request has no object: %v", err)
	}
	return object
}

func (f *API) store(path string, object *unstructured.Unstructured) *unstructured.Unstructured {
	f.revision++
	if f.Mutate != nil {
		f.Mutate(object)
	}
	object.SetResourceVersion(strconv.Itoa(f.revision))
	if live := f.objects[path]; live != nil {
		object.SetUID(live.GetUID())
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", f.revision)))
	}
	if parts := strings.Split(path, "/"); slices.Contains(parts, "namespaces") && !strings.HasSuffix(path, "/namespaces/"+object.GetName()) {
		object.SetNamespace(parts[slices.Index(parts, "namespaces")+1])
	}
	f.objects[path] = object.DeepCopy()
	return object
}

// Have stores objects.
func (f *API) Have(manifests ...string) {
	f.tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, manifest := range manifests {
		info := Info(f.tb, manifest)
		f.store(pathOf(info), info.Object.(*unstructured.Unstructured).DeepCopy())
	}
}

// Clear removes all objects.
func (f *API) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.objects)
}

// Len is how many objects there are.
func (f *API) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.objects)
}

// Get returns an object as the server has it; nil if it has none.
func (f *API) Get(info *resource.Info) *unstructured.Unstructured {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[pathOf(info)]
}

func pathOf(info *resource.Info) string {
	gvr := info.Mapping.Resource
	path := "/apis/" + gvr.Group + "/" + gvr.Version
	if gvr.Group == "" {
		path = "/api/" + gvr.Version
	}
	if info.Namespaced() {
		path += "/namespaces/" + info.Namespace
	}
	return path + "/" + gvr.Resource + "/" + info.Name
}
