// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// fakeAPI is an API server without a network connection, so that it works in a synctest
// bubble, where the clock starts on 1 January 2000.
type fakeAPI struct {
	t *testing.T

	mu       sync.Mutex
	objects  map[string]*unstructured.Unstructured // by path
	logs     map[string]string                     // by namespace/pod/container, with /previous
	faults   map[string]int                        // HTTP status codes by "verb resource"
	hangs    map[string]bool                       // by "verb resource": requests without a response
	requests []string                              // "verb resource namespace/name"
}

// groups maps the kinds in the tests to their API groups.
var groups = map[string]string{
	"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch",
	"Ingress": "networking.k8s.io", "IngressClass": "networking.k8s.io", "StorageClass": "storage.k8s.io",
	"PriorityClass": "scheduling.k8s.io", "RuntimeClass": "node.k8s.io", "EndpointSlice": "discovery.k8s.io",
	"APIService": "apiregistration.k8s.io", "CustomResourceDefinition": "apiextensions.k8s.io",
	"HorizontalPodAutoscaler": "autoscaling", "PodDisruptionBudget": "policy", "Widget": "example.com",
}

func gvkOf(kind string) (schema.GroupVersionKind, schema.GroupVersionResource) {
	group := groups[kind]
	resource := strings.ToLower(kind) + "s"
	if strings.HasSuffix(kind, "s") {
		resource = strings.ToLower(kind) + "es"
	}
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind},
		schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
}

func pathOf(gvr schema.GroupVersionResource, namespace, name string) string {
	prefix := "/apis/" + gvr.Group
	if gvr.Group == "" {
		prefix = "/api"
	}
	if namespace != "" {
		return path.Join(prefix, gvr.Version, "namespaces", namespace, gvr.Resource, name)
	}
	return path.Join(prefix, gvr.Version, gvr.Resource, name)
}

// newFakeAPI serves objects given as YAML, one per line. They can omit default values:
// apiVersion, the namespace shop (cluster: true means none), the UID NAME-uid, an age of
// one minute, and the node of a pod. "owner" is the name of the owner. {event: REASON,
// about: NAME, message: TEXT} is a Warning event from ten seconds ago. It can also have
// other fields of an Event.
func newFakeAPI(t *testing.T, objects string) *fakeAPI {
	t.Helper()
	api := &fakeAPI{
		t: t, objects: map[string]*unstructured.Unstructured{},
		logs: map[string]string{}, faults: map[string]int{}, hangs: map[string]bool{},
	}
	for line := range strings.Lines(objects) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var content map[string]any
		if err := yaml.Unmarshal([]byte(line), &content); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		api.put(content)
	}
	return api
}

func (api *fakeAPI) put(content map[string]any) {
	obj := &unstructured.Unstructured{Object: content}
	if reason, ok := content["event"]; ok {
		on := content["about"].(string)
		defaults(obj, "Event", "kind")
		defaults(obj, fmt.Sprintf("event-%04d", len(api.objects)), "metadata", "name")
		defaults(obj, reason, "reason")
		defaults(obj, "Warning", "type")
		defaults(obj, on+"-uid", "involvedObject", "uid")
		if content["eventTime"] == nil {
			defaults(obj, "1999-12-31T23:59:50Z", "lastTimestamp")
		}
	}
	gvk, gvr := gvkOf(obj.GetKind())
	obj.SetAPIVersion(gvk.GroupVersion().String())
	if content["cluster"] == nil {
		defaults(obj, "shop", "metadata", "namespace")
	}
	defaults(obj, obj.GetName()+"-uid", "metadata", "uid")
	defaults(obj, "1999-12-31T23:59:00Z", "metadata", "creationTimestamp")
	if owner, ok := content["owner"].(string); ok {
		defaults(obj, []any{map[string]any{"uid": owner + "-uid", "name": owner}}, "metadata", "ownerReferences")
	}
	if obj.GetKind() == "Pod" && content["pending"] == nil {
		defaults(obj, "node-1", "spec", "nodeName")
	}
	for _, shorthand := range []string{"event", "about", "cluster", "owner", "pending"} {
		delete(content, shorthand)
	}
	raw, err := json.Marshal(content)
	if err == nil {
		err = obj.UnmarshalJSON(raw) // numbers are decoded as by a client
	}
	if err != nil {
		api.t.Fatal(err)
	}
	api.objects[pathOf(gvr, obj.GetNamespace(), obj.GetName())] = obj
}

func defaults(obj *unstructured.Unstructured, value any, fields ...string) {
	if _, found, _ := unstructured.NestedFieldNoCopy(obj.Object, fields...); !found {
		at := obj.Object
		for _, field := range fields[:len(fields)-1] {
			next, ok := at[field].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[field] = next
			}
			at = next
		}
		at[fields[len(fields)-1]] = value
	}
}

// RoundTrip implements http.RoundTripper.
func (api *fakeAPI) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	at := request.URL.Path
	parts := strings.Split(strings.Trim(at, "/"), "/")
	parts = parts[2:] // "api", version
	if strings.HasPrefix(at, "/apis/") {
		parts = parts[1:]
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	verb, name := "list", ""
	if len(parts) > 1 {
		verb, name = "get", parts[1]
	}
	if len(parts) > 2 {
		verb = parts[2] // log
	}
	onlyMetadata := strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata")
	if onlyMetadata {
		verb = "exists"
	}
	question := verb + " " + parts[0]
	api.mu.Lock()
	api.requests = append(api.requests, question+" "+namespace+"/"+name)
	fault, hangs := api.faults[question], api.hangs[question]
	api.mu.Unlock()
	if hangs {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	if fault != 0 {
		return problem(fault)
	}
	switch verb {
	case "list":
		return api.list(request, at)
	case "log":
		return api.log(request, namespace+"/"+name)
	}
	obj, found := api.objects[at]
	if !found {
		return problem(http.StatusNotFound)
	}
	if onlyMetadata {
		return reply(http.StatusOK, map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj.Object["metadata"],
		})
	}
	return reply(http.StatusOK, obj.Object)
}

func (api *fakeAPI) list(request *http.Request, at string) (*http.Response, error) {
	selector, err := labels.Parse(request.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(api.objects)) {
		obj := api.objects[key]
		if path.Dir(key) != at || !selector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if wanted, ok := strings.CutPrefix(request.URL.Query().Get("fieldSelector"), "type="); ok && obj.Object["type"] != wanted {
			continue
		}
		items = append(items, obj.Object)
	}
	return reply(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "SomeList", "metadata": map[string]any{}, "items": items})
}

func (api *fakeAPI) log(request *http.Request, pod string) (*http.Response, error) {
	query := request.URL.Query()
	key := pod + "/" + query.Get("container")
	if query.Get("previous") == "true" {
		key += "/previous"
	}
	text, found := api.logs[key]
	if !found {
		return problem(http.StatusBadRequest)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

func reply(status int, body any) (*http.Response, error) {
	raw, err := json.Marshal(body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)),
	}, err
}

func problem(status int) (*http.Response, error) {
	reasons := map[int]string{
		http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound", http.StatusBadRequest: "BadRequest",
	}
	return reply(status, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reasons[status], "message": "no",
	})
}

// diagnoser returns a Diagnoser that uses this API.
func (api *fakeAPI) diagnoser(config DiagnoserConfig) *Diagnoser {
	api.t.Helper()
	at := &rest.Config{Host: "http://api", Transport: api, QPS: -1}
	var err error
	if config.Dynamic, err = dynamic.NewForConfig(at); err != nil {
		api.t.Fatal(err)
	}
	if config.Metadata, err = metadata.NewForConfig(at); err != nil {
		api.t.Fatal(err)
	}
	if config.Clientset, err = kubernetes.NewForConfig(at); err != nil {
		api.t.Fatal(err)
	}
	return New(config)
}

// subject returns a Subject for an object such as "Pod shop/web", with the object from the
// server.
func (api *fakeAPI) subject(text string) Subject {
	kind, name, _ := strings.Cut(text, " ")
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		namespace, name = "", namespace
	}
	s := Subject{Namespace: namespace, Name: name}
	s.GVK, s.GVR = gvkOf(kind)
	s.Object = api.objects[pathOf(s.GVR, namespace, name)]
	return s
}

func (api *fakeAPI) count(question string) int {
	n := 0
	for _, request := range api.requests {
		if strings.HasPrefix(request, question) {
			n++
		}
	}
	return n
}

// lines converts causes to text: a line for each cause, and one for each line of its log.
func lines(causes []Cause) []string {
	var all []string
	for _, cause := range causes {
		all = append(all, cause.String())
		for _, line := range cause.Log {
			all = append(all, "| "+line)
		}
	}
	return all
}

func expectLines(t *testing.T, got []Cause, want ...string) {
	t.Helper()
	if text := lines(got); !slices.Equal(text, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(text, "\n  "), strings.Join(want, "\n  "))
	}
}
