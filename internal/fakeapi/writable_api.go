// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// WritableAPI is an in-memory API server in the form of an http.RoundTripper. In contrast to
// Server, it also responds to create, update, patch and delete requests, but not to watches.
// Because it needs no network, tests can use it in a bubble of testing/synctest.
type WritableAPI struct {
	// Fault, if not nil, is called with each request. If it returns an
	// apierrors.APIStatus, this is the response. If it returns another error, the client
	// receives this error instead of a response.
	Fault func(ReceivedCall) error
	// Mutate, if not nil, is called with each object before it is stored, and can change
	// the object.
	Mutate func(*unstructured.Unstructured)

	tb     testing.TB
	server *Server

	mu         sync.Mutex
	calls      []ReceivedCall // all requests
	pending    int            // the number of requests without a response
	maxPending int            // the maximum of pending until now
}

// ReceivedCall is a request that a WritableAPI has received.
type ReceivedCall struct {
	*http.Request
	Verb string // the verb as in RBAC, for example "list"
	Path string // for example "pods" or, for a single object, "pods/web"
	Body string
}

func (c ReceivedCall) String() string { return c.Verb + " " + c.Path }

// Reads reports whether the request only reads objects.
func (c ReceivedCall) Reads() bool { return c.Verb == "get" || c.Verb == "list" }

// NewWritableAPI returns a WritableAPI without objects. Invalid requests fail the test tb.
func NewWritableAPI(tb testing.TB) *WritableAPI {
	tb.Helper()
	return &WritableAPI{tb: tb, server: NewServer(tb)}
}

// Getter returns a cluster.Getter whose clients send their requests to the API.
func (f *WritableAPI) Getter() Getter { return Getter{f} }

// Getter implements the interface cluster.Getter, without support for discovery.
type Getter struct{ api *WritableAPI }

// ToRESTConfig returns a configuration for clients of the API.
func (g Getter) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "http://api", Transport: g.api}, nil
}

// ToDiscoveryClient returns an error.
func (Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return nil, errors.New("no discovery")
}

// ToRESTMapper returns an error.
func (Getter) ToRESTMapper() (meta.RESTMapper, error) { return nil, errors.New("no mapper") }

// RoundTrip implements http.RoundTripper.
func (f *WritableAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := f.read(r)
	if err != nil {
		return nil, err
	}
	f.enter(c)
	defer f.leave()
	if f.Fault != nil {
		err = f.Fault(c)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	switch {
	case err != nil:
		err = writeStatus(recorder, err)
	case c.Reads():
		f.server.ServeHTTP(recorder, r)
	default:
		var object *unstructured.Unstructured
		if object, err = f.write(c); err == nil {
			writeJSON(recorder, object.Object)
		} else {
			err = writeStatus(recorder, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// read returns the ReceivedCall for a request, whose body it reads.
func (f *WritableAPI) read(r *http.Request) (ReceivedCall, error) {
	c := ReceivedCall{Request: r}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return c, err
		}
		c.Body = string(body)
	}
	_, name, resource := splitPath(r.URL.Path)
	switch c.Verb = strings.ToLower(r.Method); c.Verb {
	case "get":
		if name == "" {
			c.Verb = "list"
		}
	case "post":
		c.Verb, name = "create", f.decode(c.Body).GetName()
	case "put":
		c.Verb = "update"
	}
	c.Path = resource
	if name != "" {
		c.Path += "/" + name
	}
	return c, nil
}

// writeStatus writes err as the response if err is an APIStatus. Otherwise it returns err.
func writeStatus(w http.ResponseWriter, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	s.APIVersion, s.Kind = "v1", "Status"
	w.Header().Set("Content-Type", "application/json")
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(s.Code))
	return json.NewEncoder(w).Encode(s)
}

// enter records a request, which counts as pending until leave is called.
func (f *WritableAPI) enter(c ReceivedCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	f.pending++
	f.maxPending = max(f.maxPending, f.pending)
}

func (f *WritableAPI) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending--
}

// Pending returns the number of requests that have no response yet.
func (f *WritableAPI) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

// MaxPending returns the maximum of Pending until now.
func (f *WritableAPI) MaxPending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxPending
}

// Calls returns all requests that the API has received, in this order.
func (f *WritableAPI) Calls() []ReceivedCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Requests returns all requests that the API has received, in the form of ReceivedCall.String.
// Because clients send requests in parallel, each sequence of consecutive reads or writes is
// sorted.
func (f *WritableAPI) Requests() []string {
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

// Count returns the number of requests with the given verb that the API has received.
func (f *WritableAPI) Count(verb string) int {
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

// write performs a create, update, patch or delete request, and returns the object or Status
// to send as the response.
func (f *WritableAPI) write(c ReceivedCall) (*unstructured.Unstructured, error) {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	collection, name, resource := splitPath(c.URL.Path)
	groupResource := schema.GroupResource{Resource: resource}
	store := f.store
	if c.URL.Query().Has("dryRun") {
		store = f.changed
	}
	if c.Verb == "create" {
		object := f.decode(c.Body)
		if f.server.object(collection+"/"+object.GetName()) != nil {
			return nil, apierrors.NewAlreadyExists(groupResource, object.GetName())
		}
		return store(collection, object), nil
	}
	live := f.server.object(collection + "/" + name)
	if live == nil {
		return nil, apierrors.NewNotFound(groupResource, name)
	}
	switch c.Verb {
	case "update":
		object := f.decode(c.Body)
		if object.GetResourceVersion() != live.GetResourceVersion() {
			return nil, apierrors.NewConflict(groupResource, name, errors.New("the object has been modified"))
		}
		return store(collection, object), nil
	case "patch":
		object, err := f.patched(c, live)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if version := object.GetResourceVersion(); version != "" && version != live.GetResourceVersion() { // the patch has another one
			return nil, apierrors.NewConflict(groupResource, name, errors.New("the object has been modified"))
		}
		return store(collection, object), nil
	}
	if err := checkPreconditions(c, live); err != nil {
		return nil, apierrors.NewConflict(groupResource, name, err)
	}
	return f.delete(collection, live), nil
}

// checkPreconditions returns an error if the preconditions of a delete request do not hold.
func checkPreconditions(c ReceivedCall, live *unstructured.Unstructured) error {
	var options metav1.DeleteOptions
	if err := json.Unmarshal([]byte(c.Body), &options); err != nil || options.Preconditions == nil {
		return err
	}
	p := options.Preconditions
	if p.UID != nil && *p.UID != live.GetUID() {
		return errors.New("the UID in the precondition does not match")
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
		return errors.New("the resource version in the precondition does not match")
	}
	return nil
}

// delete deletes an object, and returns the Status of a successful response. If the object has
// finalizers, delete only marks it as deleted, and returns it.
func (f *WritableAPI) delete(collection string, live *unstructured.Unstructured) *unstructured.Unstructured {
	if len(live.GetFinalizers()) > 0 {
		marked := live.DeepCopy()
		marked.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		return f.store(collection, marked)
	}
	f.server.remove(collection, live.GetName())
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": metav1.StatusSuccess,
		"details": map[string]any{"name": live.GetName(), "uid": string(live.GetUID())},
	}}
}

// patched applies the JSON merge patch or strategic merge patch in a request to the object
// live, and returns the result.
func (f *WritableAPI) patched(c ReceivedCall, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
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

func (f *WritableAPI) decode(data string) *unstructured.Unstructured {
	f.tb.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(data)); err != nil {
		f.tb.Errorf("test API: the body of the request is not an object: %v", err)
	}
	return object
}

// store calls Mutate, stores an object in a collection, and returns the object as a server
// would. The caller must hold server.mu.
func (f *WritableAPI) store(collection string, object *unstructured.Unstructured) *unstructured.Unstructured {
	return f.server.put(collection, f.changed(collection, object))
}

// changed returns an object as it would be stored in a collection.
func (f *WritableAPI) changed(collection string, object *unstructured.Unstructured) *unstructured.Unstructured {
	if f.Mutate != nil {
		f.Mutate(object)
	}
	if _, namespaced, found := strings.Cut(collection, "/namespaces/"); found {
		object.SetNamespace(strings.Split(namespaced, "/")[0])
	}
	return object
}

// Have stores the objects in manifests, without requests that Calls would contain.
func (f *WritableAPI) Have(manifests ...string) {
	f.tb.Helper()
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	for _, manifest := range manifests {
		info := Info(f.tb, manifest)
		f.store(collectionOf(info), info.Object.(*unstructured.Unstructured))
	}
}

// Clear deletes all objects, without events for watches.
func (f *WritableAPI) Clear() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	clear(f.server.objects)
}

// Len returns the number of stored objects.
func (f *WritableAPI) Len() int {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return len(f.server.objects)
}

// Get returns the stored object with the resource, namespace and name of info, or nil if it
// does not exist.
func (f *WritableAPI) Get(info *resource.Info) *unstructured.Unstructured {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return f.server.object(collectionOf(info) + "/" + info.Name)
}

func collectionOf(info *resource.Info) string {
	namespace := ""
	if info.Namespaced() {
		namespace = info.Namespace
	}
	return collectionPath(info.Mapping.Resource, namespace)
}
