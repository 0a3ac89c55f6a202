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

// API is an http.RoundTripper that responds to reads, as Server does, and to writes. It
// needs no network. So in a bubble of testing/synctest, a test can see which requests wait
// for a response, and it fails if a goroutine never ends.
type API struct {
	// Fault, if not nil, is called with each request. If it returns an API status, this is
	// the response to the request. If it returns another error, there is no response: the
	// client receives the error.
	Fault func(Call) error
	// Mutate, if not nil, is called with each object before it is stored, and can change
	// it.
	Mutate func(*unstructured.Unstructured)

	tb     testing.TB
	server *Server

	mu sync.Mutex
	// calls has all requests. pending counts those without a response, and maxPending is
	// its maximum.
	calls      []Call
	pending    int
	maxPending int
}

// Call is a request that an API has received.
type Call struct {
	*http.Request
	Verb string // as in RBAC, for example "list"
	Path string // the resource, followed by a slash and the name of the object if there is one
	Body string
}

func (c Call) String() string { return c.Verb + " " + c.Path }

// Reads reports whether the request changes nothing.
func (c Call) Reads() bool { return c.Verb == "get" || c.Verb == "list" }

// NewAPI returns an API without objects. It reports invalid requests to tb.
func NewAPI(tb testing.TB) *API {
	tb.Helper()
	return &API{tb: tb, server: New(tb)}
}

// Getter returns a cluster.Getter with which clients send their requests to the API.
func (f *API) Getter() Getter { return Getter{f} }

// Getter implements cluster.Getter. It does not support discovery.
type Getter struct{ api *API }

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
func (f *API) RoundTrip(r *http.Request) (*http.Response, error) {
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

// read reads the body of a request, and returns the request as a Call.
func (f *API) read(r *http.Request) (Call, error) {
	c := Call{Request: r}
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

// writeStatus writes err as response if it is an API status. Otherwise it returns err.
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

// enter records a request, and counts it as pending until leave is called.
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

// Pending returns the number of requests that wait for a response.
func (f *API) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

// MaxPending returns the largest number of requests that waited for a response at the same
// time.
func (f *API) MaxPending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxPending
}

// Calls returns the requests that the API has received.
func (f *API) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Requests returns Call.String of each request that the API has received. Consecutive
// reads, and consecutive writes, are sorted, because clients send them in parallel.
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

// Count returns the number of requests with a verb that the API has received.
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

// write performs a request that changes an object, and returns the object of the response.
func (f *API) write(c Call) (*unstructured.Unstructured, error) {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	collection, name, resource := splitPath(c.URL.Path)
	what := schema.GroupResource{Resource: resource}
	if c.Verb == "create" {
		object := f.decode(c.Body)
		if f.server.object(collection+"/"+object.GetName()) != nil {
			return nil, apierrors.NewAlreadyExists(what, object.GetName())
		}
		return f.store(collection, object), nil
	}
	live := f.server.object(collection + "/" + name)
	if live == nil {
		return nil, apierrors.NewNotFound(what, name)
	}
	switch c.Verb {
	case "update":
		object := f.decode(c.Body)
		if object.GetResourceVersion() != live.GetResourceVersion() {
			return nil, apierrors.NewConflict(what, name, errors.New("the object has been modified"))
		}
		return f.store(collection, object), nil
	case "patch":
		object, err := f.patched(c, live)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return f.store(collection, object), nil
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal([]byte(c.Body), &options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != live.GetUID() {
		return nil, apierrors.NewConflict(what, name, errors.New("the UID in the precondition does not match"))
	}
	f.server.remove(collection, name)
	return live, nil
}

// patched returns the object live after applying the merge patch or strategic merge patch
// in a request.
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

// store stores an object in a collection, and returns it as a server would. The caller must
// have locked server.mu.
func (f *API) store(collection string, object *unstructured.Unstructured) *unstructured.Unstructured {
	if f.Mutate != nil {
		f.Mutate(object)
	}
	if _, namespaced, found := strings.Cut(collection, "/namespaces/"); found {
		object.SetNamespace(strings.Split(namespaced, "/")[0])
	}
	return f.server.put(collection, object)
}

// Have stores the objects in manifests, as if they had been created before the test.
func (f *API) Have(manifests ...string) {
	f.tb.Helper()
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	for _, manifest := range manifests {
		info := Info(f.tb, manifest)
		f.store(collectionOf(info), info.Object.(*unstructured.Unstructured))
	}
}

// Clear deletes all objects, without watch events.
func (f *API) Clear() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	clear(f.server.objects)
}

// Len returns the number of objects.
func (f *API) Len() int {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return len(f.server.objects)
}

// Get returns the object with the kind, namespace and name of info as it is stored in the
// API, or nil if it does not exist.
func (f *API) Get(info *resource.Info) *unstructured.Unstructured {
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
