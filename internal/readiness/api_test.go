// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	things      = schema.GroupVersionResource{Group: "x.example", Version: "v1", Resource: "things"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// fakeAPI serves get, list and watch of whatever the test puts into it, with the
// promises of a real API server: one growing version, history to watch from
// until it is compacted, 410 from then on, bookmarks.
type fakeAPI struct {
	t *testing.T

	mu        sync.Mutex
	version   int64
	uids      int
	objects   map[string]map[string]any // by path
	history   []change
	compacted int64
	wake      chan struct{} // closed at every change
	watches   int           // open ones
	cut       int           // raised to end all watches
	stalled   bool          // watches keep their events back
	requests  []string      // "verb resource"
	paths     []string      // of the same
	from      []string      // versions that watches were asked to start from
	deny      map[string]int
	format    func(int64) string
	hold      map[string]chan struct{} // requests that wait before they are answered
}

type change struct {
	version    int64
	kind       string
	collection string
	object     map[string]any
}

func newFakeAPI(t *testing.T) *fakeAPI {
	return &fakeAPI{
		t: t, version: 100, objects: map[string]map[string]any{}, wake: make(chan struct{}),
		deny: map[string]int{}, hold: map[string]chan struct{}{},
		format: func(v int64) string { return strconv.FormatInt(v, 10) },
	}
}

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

// put creates or updates an object and returns what the server would answer. A
// new object gets a new UID unless it brings one.
func (a *fakeAPI) put(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	collection := collectionPath(gvr, obj.GetNamespace())
	path := collection + "/" + obj.GetName()
	obj = obj.DeepCopy()
	kind := "ADDED"
	if old, ok := a.objects[path]; ok {
		kind = "MODIFIED"
		obj.SetUID((&unstructured.Unstructured{Object: old}).GetUID())
	} else if obj.GetUID() == "" {
		a.uids++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", a.uids)))
	}
	a.version++
	obj.SetResourceVersion(a.format(a.version))
	a.objects[path] = obj.Object
	a.record(kind, collection, obj.Object)
	return obj.DeepCopy()
}

// remove deletes an object; the event bears its last state.
func (a *fakeAPI) remove(gvr schema.GroupVersionResource, namespace, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	collection := collectionPath(gvr, namespace)
	last := (&unstructured.Unstructured{Object: a.objects[collection+"/"+name]}).DeepCopy()
	delete(a.objects, collection+"/"+name)
	a.version++
	last.SetResourceVersion(a.format(a.version))
	a.record("DELETED", collection, last.Object)
}

// stall has watches keep their events back, or send them.
func (a *fakeAPI) stall(stalled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stalled = stalled
	a.stir()
}

// bookmark tells all watches of a collection how far they are.
func (a *fakeAPI) bookmark(gvr schema.GroupVersionResource, namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.record("BOOKMARK", collectionPath(gvr, namespace), map[string]any{
		"apiVersion": "v1", "kind": "Any", "metadata": map[string]any{"resourceVersion": a.format(a.version)},
	})
}

func (a *fakeAPI) record(kind, collection string, object map[string]any) {
	a.history = append(a.history, change{a.version, kind, collection, object})
	a.stir()
}

func (a *fakeAPI) stir() {
	close(a.wake)
	a.wake = make(chan struct{})
}

// compact forgets the history so far.
func (a *fakeAPI) compact() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.compacted = a.version
	a.history = nil
}

// cutWatches ends all open watches.
func (a *fakeAPI) cutWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut++
	a.stir()
}

// refuse has requests ("watch deployments", or "watch" for all) answered with an
// HTTP status; 0 allows them again.
func (a *fakeAPI) refuse(request string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deny[request] = status
}

// holdBack makes requests of that kind wait until the channel is closed.
func (a *fakeAPI) holdBack(request string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	gate := make(chan struct{})
	a.hold[request] = gate
	return gate
}

// count returns how many requests of that kind came in.
func (a *fakeAPI) count(request string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, r := range a.requests {
		if r == request || request == "" {
			n++
		}
	}
	return n
}

func (a *fakeAPI) openWatches() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watches
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collection, name, resource := splitPath(r.URL.Path)
	verb := "list"
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case name != "":
		verb = "get"
	}
	a.mu.Lock()
	a.requests = append(a.requests, verb+" "+resource)
	a.paths = append(a.paths, r.URL.Path)
	if verb == "watch" {
		a.from = append(a.from, r.URL.Query().Get("resourceVersion"))
	}
	status := max(a.deny[verb], a.deny[verb+" "+resource])
	gate := a.hold[verb+" "+resource]
	a.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case status != 0:
		fail(w, status, verb+" "+resource)
	case verb == "watch":
		a.serveWatch(w, r, collection)
	case verb == "list":
		a.serveList(w, r, collection)
	default:
		a.serveGet(w, r.URL.Path, resource)
	}
}

// splitPath returns the collection's path, the object's name if there is one,
// and the resource.
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

func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(statusOf(code, message))
}

func statusOf(code int, message string) []byte {
	reason := map[int]string{
		http.StatusForbidden: "Forbidden", http.StatusMethodNotAllowed: "MethodNotAllowed",
		http.StatusNotFound: "NotFound", http.StatusGone: "Expired", http.StatusInternalServerError: "InternalError",
	}[code]
	return []byte(fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message))
}

func (a *fakeAPI) serveGet(w http.ResponseWriter, path, resource string) {
	a.mu.Lock()
	object, ok := a.objects[path]
	a.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, resource)
		return
	}
	reply(w, object)
}

func (a *fakeAPI) serveList(w http.ResponseWriter, r *http.Request, collection string) {
	selector := fields.ParseSelectorOrDie(r.URL.Query().Get("fieldSelector"))
	a.mu.Lock()
	items := []any{}
	for path, object := range a.objects {
		if strings.HasPrefix(path, collection+"/") && selector.Matches(fieldsOf(object)) {
			items = append(items, object)
		}
	}
	version := a.format(a.version)
	a.mu.Unlock()
	reply(w, map[string]any{
		"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": version},
	})
}

// fieldsOf answers field selectors with the object's fields of that path.
type fieldsOf map[string]any

func (f fieldsOf) Has(string) bool { return true }

func (f fieldsOf) Get(path string) string {
	value, _, _ := unstructured.NestedString(f, strings.Split(path, ".")...)
	return value
}

func reply(w http.ResponseWriter, content map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content) // who asked may be gone
}

func (a *fakeAPI) serveWatch(w http.ResponseWriter, r *http.Request, collection string) {
	a.mu.Lock()
	cursor, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Query().Get("resourceVersion"), "v-"), 10, 64)
	if err != nil {
		a.t.Errorf("test API: %v", err)
	}
	if cursor < a.compacted {
		a.mu.Unlock()
		fail(w, http.StatusGone, "too old")
		return
	}
	cut := a.cut
	bookmarks := r.URL.Query().Get("allowWatchBookmarks") == "true"
	a.watches++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.watches--
		a.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		a.mu.Lock()
		wake, ended := a.wake, a.cut != cut
		if a.stalled && !ended {
			a.mu.Unlock()
			select {
			case <-wake:
				continue
			case <-r.Context().Done():
				return
			}
		}
		var due []change
		for _, c := range a.history {
			if c.version > cursor && c.collection == collection && (bookmarks || c.kind != "BOOKMARK") {
				due = append(due, c)
			}
		}
		cursor = max(cursor, a.version)
		a.mu.Unlock()
		if ended || !a.send(w, due) {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// send writes events.
func (a *fakeAPI) send(w http.ResponseWriter, due []change) bool {
	for _, c := range due {
		event := map[string]any{"type": c.kind, "object": c.object}
		if err := json.NewEncoder(w).Encode(event); err != nil {
			return false
		}
	}
	w.(http.Flusher).Flush()
	return true
}

// fault sends an ERROR event to all watches of a collection.
func (a *fakeAPI) fault(gvr schema.GroupVersionResource, namespace string, code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := map[string]any{}
	if err := json.Unmarshal(statusOf(code, "told by the watch"), &status); err != nil {
		a.t.Errorf("test API: %v", err)
	}
	a.version++
	a.record("ERROR", collectionPath(gvr, namespace), status)
}
