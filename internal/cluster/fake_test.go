// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

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
	"helm.sh/helm/v3/pkg/kube"
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
	"sigs.k8s.io/yaml"
)

// fakeAPI answers as an API server does, without a network: inside a bubble of
// synctest, a test sees which requests are under way, and does not end if a
// goroutine is left behind.
type fakeAPI struct {
	testing.TB
	// fault may answer a request in the server's place, or hold it up.
	fault func(call) error
	// mutate, if set, changes objects before they are stored.
	mutate func(*unstructured.Unstructured)

	mu       sync.Mutex
	objects  map[string]*unstructured.Unstructured // by path
	calls    []call
	current  int
	most     int // how many requests were under way at once
	revision int
}

// call is a request as the tests look at it.
type call struct {
	*http.Request
	verb string // as RBAC has it
	path string // resource/name, or resource
	body string
}

func (c call) String() string { return c.verb + " " + c.path }

func (c call) reads() bool { return c.verb == "get" || c.verb == "list" }

func newFakeAPI(tb testing.TB) *fakeAPI {
	return &fakeAPI{TB: tb, objects: map[string]*unstructured.Unstructured{}}
}

// client returns a Client over the API.
func (f *fakeAPI) client() *Client { return New(&kube.Client{}, fakeGetter{f}, f.Logf) }

type fakeGetter struct{ api *fakeAPI }

func (g fakeGetter) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "http://api", Transport: g.api}, nil
}

func (fakeGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return nil, errors.New("no discovery")
}

func (fakeGetter) ToRESTMapper() (meta.RESTMapper, error) { return nil, errors.New("no mapper") }

// RoundTrip serves a request, or ends with it.
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	c := call{Request: r}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.body = string(body)
	}
	collection, name := split(r.URL.Path)
	c.path = strings.Trim(collection[strings.LastIndex(collection, "/")+1:]+"/"+name, "/")
	c.verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get"}[r.Method]
	switch {
	case c.verb == "":
		c.verb = strings.ToLower(r.Method)
	case c.verb == "get" && name == "":
		c.verb = "list"
	}
	if c.verb == "create" {
		c.path += "/" + f.decode(c.body).GetName()
	}
	f.enter(c)
	defer f.leave()
	var err error
	if f.fault != nil {
		err = f.fault(c)
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

func (f *fakeAPI) enter(c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	f.current++
	f.most = max(f.most, f.current)
}

func (f *fakeAPI) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current--
}

// underWay is how many requests wait for an answer.
func (f *fakeAPI) underWay() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// log lists the requests so far, sorted within each run of reads or writes:
// those are made side by side.
func (f *fakeAPI) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for i := 0; i < len(f.calls); {
		start := i
		for i < len(f.calls) && f.calls[i].reads() == f.calls[start].reads() {
			lines = append(lines, f.calls[i].String())
			i++
		}
		slices.Sort(lines[start:i])
	}
	return lines
}

// count is how many requests of a verb were made.
func (f *fakeAPI) count(verb string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c.verb == verb {
			n++
		}
	}
	return n
}

func split(path string) (collection, name string) {
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

func (f *fakeAPI) serve(c call, collection, name string) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := schema.GroupResource{Resource: collection[strings.LastIndex(collection, "/")+1:]}
	path := collection + "/" + name
	live := f.objects[path]
	if c.verb != "list" && c.verb != "create" && live == nil {
		return nil, apierrors.NewNotFound(what, name)
	}
	switch c.verb {
	case "list":
		return f.list(c, collection)
	case "create":
		object := f.decode(c.body)
		path += object.GetName()
		if f.objects[path] != nil {
			return nil, apierrors.NewAlreadyExists(what, object.GetName())
		}
		return f.store(path, object), nil
	case "update":
		object := f.decode(c.body)
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
		if err := json.Unmarshal([]byte(c.body), &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != live.GetUID() {
			return nil, apierrors.NewConflict(what, name, errors.New("the UID in the precondition does not match"))
		}
		delete(f.objects, path)
	}
	return live, nil
}

func (f *fakeAPI) list(c call, collection string) (any, error) {
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

func (f *fakeAPI) patched(c call, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	if c.Header.Get("Content-Type") == string(types.MergePatchType) {
		data, err = jsonpatch.MergePatch(data, []byte(c.body))
	} else {
		typed, e := scheme.Scheme.New(live.GroupVersionKind())
		if e != nil {
			return nil, e
		}
		data, err = strategicpatch.StrategicMergePatch(data, []byte(c.body), typed)
	}
	if err != nil {
		return nil, err
	}
	return f.decode(string(data)), nil
}

func (f *fakeAPI) decode(data string) *unstructured.Unstructured {
	f.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(data)); err != nil {
		f.Errorf("the server got what is no object: %v", err)
	}
	return object
}

func (f *fakeAPI) store(path string, object *unstructured.Unstructured) *unstructured.Unstructured {
	f.revision++
	if f.mutate != nil {
		f.mutate(object)
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

// have puts objects on the server.
func (f *fakeAPI) have(manifests ...string) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, manifest := range manifests {
		info := parseObject(f, manifest)
		f.store(pathOf(info), info.Object.(*unstructured.Unstructured).DeepCopy())
	}
}

// now returns an object as the server has it; nil if it has none.
func (f *fakeAPI) now(info *resource.Info) *unstructured.Unstructured {
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

// object reads a manifest as Helm's client does. It is in the namespace "ns",
// unless it says otherwise or its kind is not namespaced.
func parseObject(tb testing.TB, manifest string) *resource.Info {
	tb.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	gvk := u.GroupVersionKind()
	info := &resource.Info{Name: u.GetName(), Object: u, Mapping: &meta.RESTMapping{
		Resource:         gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"),
		GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace,
	}}
	switch {
	case gvk.Kind == "Namespace" || gvk.Kind == "CustomResourceDefinition":
		info.Mapping.Scope = meta.RESTScopeRoot
		info.Namespace = u.GetNamespace() // as Helm's client has it
	case u.GetNamespace() != "":
		info.Namespace = u.GetNamespace()
	default:
		info.Namespace = "ns"
	}
	return info
}

func objects(tb testing.TB, manifests ...string) kube.ResourceList {
	tb.Helper()
	var list kube.ResourceList
	for _, manifest := range manifests {
		list.Append(parseObject(tb, manifest))
	}
	return list
}

// names lists objects as kind/name.
func names(list kube.ResourceList) []string {
	var all []string
	for _, info := range list {
		all = append(all, info.Mapping.GroupVersionKind.Kind+"/"+info.Name)
	}
	return all
}

// settings is a ConfigMap that Helm has marked.
func settings(name, data string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", labels: {app.kubernetes.io/managed-by: Helm}}, data: {" + data + "}}"
}

func forbidden(c call) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: c.path}, "", errors.New("not allowed"))
}
