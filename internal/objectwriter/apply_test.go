// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

const secret = "{apiVersion: v1, kind: Secret, metadata: {name: key}}"

// connect returns a Connection to a fake API server.
func connect(t *testing.T, api *fakeapi.WritableAPI) *cluster.Connection {
	t.Helper()
	return cluster.Connect(api.Getter(), t.Logf)
}

// newWriter returns a Writer that sends requests to a fake API server.
func newWriter(t *testing.T, api *fakeapi.WritableAPI) Writer {
	t.Helper()
	return NewRequestWriter(connect(t, api))
}

// rejectAll is a MayChange that rejects every object.
func rejectAll(info *resource.Info, _ *unstructured.Unstructured) error {
	return errors.New(info.Name + " is not yours")
}

func TestApply(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "it", errors.New("modified"))
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a")
	for _, c := range []struct {
		name                     string
		there, originals, target []string
		options                  ApplyOptions
		fault                    func(fakeapi.ReceivedCall) error
		// calls lists the expected requests. created, updated and unchanged are the expected
		// lists of the result. data maps ConfigMap names to their expected contents.
		calls                       []string
		created, updated, unchanged []string
		data                        map[string]string
		err                         string
	}{
		{name: "nothing"},
		{
			name: "created, changed and left", there: []string{fakeapi.ConfigMap("a", "x: i, w: ii"), fakeapi.ConfigMap("b", "x: i")},
			originals: []string{fakeapi.ConfigMap("a", "x: i, w: ii"), fakeapi.ConfigMap("b", "x: i")},
			target:    []string{fakeapi.ConfigMap("c", "x: v"), fakeapi.ConfigMap("b", "x: i"), fakeapi.ConfigMap("a", "x: iii")},
			calls:     []string{"get configmaps/a", "get configmaps/b", "get configmaps/c", "create configmaps/c", "patch configmaps/a"},
			created:   []string{"ConfigMap/c"}, updated: []string{"ConfigMap/a"}, unchanged: []string{"ConfigMap/b"},
			data: map[string]string{"a": "map[x:iii]", "b": "map[x:i]", "c": "map[x:v]"},
		},
		{
			name: "what others added stays", there: []string{fakeapi.ConfigMap("a", "x: i, w: ii, foreign: z")},
			originals: []string{fakeapi.ConfigMap("a", "x: i, w: ii")}, target: []string{fakeapi.ConfigMap("a", "x: i")},
			calls: []string{"get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:i]"},
		},
		{
			name: "what is gone already needs no request", there: []string{fakeapi.ConfigMap("a", "x: i")},
			originals: []string{fakeapi.ConfigMap("a", "x: i, w: ii")}, target: []string{fakeapi.ConfigMap("a", "x: i")},
			calls: []string{"get configmaps/a"}, unchanged: []string{"ConfigMap/a"},
		},
		{
			name: "without an original the live object is the base", there: []string{fakeapi.ConfigMap("a", "x: i, foreign: z")},
			target: []string{fakeapi.ConfigMap("a", "x: i")},
			calls:  []string{"get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[x:i]"},
		},
		{
			name: "originals of other objects change nothing", there: []string{fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("b", "x: i")},
			originals: []string{fakeapi.ConfigMap("b", "x: i"), fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: i")},
			calls: []string{"get configmaps/a"}, unchanged: []string{"ConfigMap/a"}, data: map[string]string{"b": "map[x:i]"},
		},
		{
			name: "absent ones are not read", target: []string{fakeapi.ConfigMap("a", "x: i")},
			options: ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a"}, created: []string{"ConfigMap/a"},
		},
		{
			name: "absent, but there", there: []string{fakeapi.ConfigMap("a", "x: i, foreign: z")},
			originals: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: ii")},
			options: ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a", "get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:ii]"},
		},
		{
			name: "absent, but there, and not to be read", there: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: ii"), secret},
			options: ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }}, fault: fakeapi.Forbid("get", ""),
			calls: []string{"create configmaps/a", "get configmaps/a"},
			err:   `could not get information about the resource ConfigMap "a" in namespace "ns": configmaps/a is forbidden: not allowed`,
		},
		{
			name: "absent, but there, and not admitted", there: []string{fakeapi.ConfigMap("a", "foreign: z")}, target: []string{fakeapi.ConfigMap("a", "x: i"), secret},
			options: ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }, MayChange: rejectAll},
			calls:   []string{"create configmaps/a", "get configmaps/a"},
			data:    map[string]string{"a": "map[foreign:z]"}, err: "a is not yours",
		},
		{
			name: "there, and not admitted", there: []string{fakeapi.ConfigMap("a", "foreign: z")}, originals: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: i"), secret},
			options: ApplyOptions{Force: true, MayChange: rejectAll}, calls: []string{"get configmaps/a", "get secrets/key"},
			data: map[string]string{"a": "map[foreign:z]"}, err: "a is not yours",
		},
		{
			name: "what it has created needs no admission", target: []string{fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: ii")}, options: ApplyOptions{MayChange: rejectAll},
			calls:   []string{"get configmaps/a", "get configmaps/a", "create configmaps/a", "patch configmaps/a"},
			created: []string{"ConfigMap/a"}, updated: []string{"ConfigMap/a"}, data: map[string]string{"a": "map[x:ii]"},
		},
		{
			name: "admitted", there: []string{fakeapi.ConfigMap("a", "foreign: z")}, originals: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: i")},
			options: ApplyOptions{
				IsAbsent: func(*resource.Info) bool { return true },
				MayChange: func(_ *resource.Info, live *unstructured.Unstructured) error {
					if live.GetUID() == "" {
						return errors.New("it was asked without what was found")
					}
					return nil
				},
			},
			calls: []string{"create configmaps/a", "get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:i]"},
		},
		{
			name: "not to be read", there: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{secret, fakeapi.ConfigMap("a", "x: ii")}, fault: fakeapi.Forbid("get", "configmaps"),
			calls: []string{"get configmaps/a", "get secrets/key"},
			err:   `could not get information about the resource ConfigMap "a" in namespace "ns": configmaps/a is forbidden: not allowed`,
		},
		{
			name: "appeared after it was read", target: []string{fakeapi.ConfigMap("a", "x: i")},
			fault: fakeapi.FailFirst("create", apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a")),
			calls: []string{"get configmaps/a", "create configmaps/a"},
			err:   `failed to create resource: configmaps "a" already exists`,
		},
		{
			name: "created again after it was read", there: []string{fakeapi.ConfigMap("a", "x: i, foreign: z")}, originals: []string{fakeapi.ConfigMap("a", "x: i")},
			target: []string{fakeapi.ConfigMap("a", "x: ii")},
			fault:  fakeapi.FailFirst("get", apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a")),
			calls:  []string{"get configmaps/a", "create configmaps/a", "get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:ii]"},
		},
		{
			name: "deleted after it was read", there: []string{fakeapi.ConfigMap("a", "x: i")}, originals: []string{fakeapi.ConfigMap("a", "x: i")},
			target: []string{fakeapi.ConfigMap("a", "x: ii")}, fault: fakeapi.FailFirst("patch", gone),
			// The object still exists on the server, so the create request fails.
			calls: []string{"get configmaps/a", "create configmaps/a", "patch configmaps/a"},
			err:   `failed to create resource: configmaps "a" already exists`,
		},
		{
			name: "a conflict in a create passes", target: []string{fakeapi.ConfigMap("a", "x: i")}, fault: fakeapi.FailFirst("create", conflict),
			calls: []string{"get configmaps/a", "create configmaps/a", "create configmaps/a"}, created: []string{"ConfigMap/a"},
		},
		{
			name: "replaced", there: []string{fakeapi.ConfigMap("a", "x: i, foreign: z")}, target: []string{fakeapi.ConfigMap("a", "x: ii")},
			options: ApplyOptions{Force: true}, calls: []string{"get configmaps/a", "update configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[x:ii]"},
		},
		{
			name: "a conflict in a replacement passes", there: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: ii")},
			options: ApplyOptions{Force: true}, fault: fakeapi.FailFirst("update", conflict),
			calls: []string{"get configmaps/a", "update configmaps/a", "get configmaps/a", "update configmaps/a"}, updated: []string{"ConfigMap/a"},
		},
		{
			name: "not to be replaced", there: []string{fakeapi.ConfigMap("a", "x: i")}, target: []string{fakeapi.ConfigMap("a", "x: ii"), secret},
			options: ApplyOptions{Force: true}, fault: fakeapi.Forbid("update", ""),
			calls: []string{"get configmaps/a", "get secrets/key", "create secrets/key", "update configmaps/a"}, created: []string{"Secret/key"},
			err: "failed to replace object: configmaps/a is forbidden: not allowed",
		},
		{
			name: "a failed change does not end it", there: []string{fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("b", "x: i")},
			target: []string{fakeapi.ConfigMap("a", "x: ii"), fakeapi.ConfigMap("b", "x: ii"), secret}, fault: fakeapi.Forbid("patch", "configmaps"),
			calls:   []string{"get configmaps/a", "get configmaps/b", "get secrets/key", "create secrets/key", "patch configmaps/a", "patch configmaps/b"},
			created: []string{"Secret/key"},
			err: `cannot patch "a" with kind ConfigMap: configmaps/a is forbidden: not allowed && ` +
				`cannot patch "b" with kind ConfigMap: configmaps/b is forbidden: not allowed`,
		},
		{
			name:   "a failed create ends it after its kind",
			target: []string{fakeapi.ConfigMap("a", "x: ii"), fakeapi.ConfigMap("b", "x: ii"), fakeapi.ConfigMap("c", "x: ii"), secret}, fault: fakeapi.Forbid("create", "configmaps/b"),
			options: ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a", "create configmaps/b", "create configmaps/c"}, created: []string{"ConfigMap/a", "ConfigMap/c"},
			err: "failed to create resource: configmaps/b is forbidden: not allowed",
		},
		{
			name: "an object twice", target: []string{fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: ii"), fakeapi.ConfigMap("b", "x: i")},
			calls:   []string{"get configmaps/a", "get configmaps/a", "get configmaps/b", "create configmaps/a", "create configmaps/b", "patch configmaps/a"},
			created: []string{"ConfigMap/a", "ConfigMap/b"}, updated: []string{"ConfigMap/a"}, data: map[string]string{"a": "map[x:ii]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Have(c.there...)
				api.Fault = c.fault
				list := fakeapi.Infos(t, c.target...)
				c.options.Originals = fakeapi.Infos(t, c.originals...)
				applied, err := newWriter(t, api).Apply(t.Context(), list, c.options)
				for i, info := range list {
					if declared := fakeapi.Info(t, c.target[i]); !reflect.DeepEqual(info, declared) {
						t.Errorf("the declaration of %s has changed: %v", info.Name, info.Object)
					}
				}
				if text := fmt.Sprint(err); text != c.err && (c.err != "" || err != nil) {
					t.Errorf("error %q, want %q", text, c.err)
				}
				if got := api.Requests(); !slices.Equal(got, c.calls) {
					t.Errorf("requests %q, want %q", got, c.calls)
				}
				for _, part := range []struct {
					name string
					got  kube.ResourceList
					want []string
				}{{"created", applied.Created, c.created}, {"updated", applied.Updated, c.updated}, {"unchanged", applied.Unchanged, c.unchanged}} {
					if got := fakeapi.Names(part.got); !slices.Equal(got, part.want) {
						t.Errorf("%s %q, want %q", part.name, got, part.want)
					}
					for _, info := range part.got {
						expectState(t, applied.States[info], api)
					}
				}
				for name, want := range c.data {
					data, _, _ := unstructured.NestedMap(api.Get(fakeapi.Info(t, fakeapi.ConfigMap(name, ""))).Object, "data")
					if got := fmt.Sprint(data); got != want {
						t.Errorf("%s holds %s, want %s", name, got, want)
					}
				}
			})
		})
	}
}

// expectState checks that an object has the state that is stored on the server.
func expectState(t *testing.T, info *resource.Info, api *fakeapi.WritableAPI) {
	t.Helper()
	if info == nil {
		t.Error("there is no state")
		return
	}
	held, ok := info.Object.(*unstructured.Unstructured)
	if !ok || held.GetUID() == "" || held.GetUID() != api.Get(info).GetUID() || info.ResourceVersion == "" || info.ResourceVersion != held.GetResourceVersion() {
		t.Errorf("%s holds %v", info.Name, info.Object)
	}
}

func TestApplyNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		away := errors.New("no route to host")
		api.Fault = func(c fakeapi.ReceivedCall) error {
			if c.Verb == "create" {
				return away
			}
			return nil
		}
		applied, err := newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMap("a", "")), ApplyOptions{})
		var failed *ApplyError
		if !errors.As(err, &failed) || !errors.Is(err, away) || len(applied.Created) != 0 || !failed.Failures[0].NoResponse {
			t.Errorf("got %v, %v", applied, err)
		}
		api.Fault = fakeapi.Forbid("create", "")
		if _, err = newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMap("a", "")), ApplyOptions{}); !errors.As(err, &failed) || failed.Failures[0].NoResponse {
			t.Errorf("got %v, want one that was answered", err)
		}
	})
}

// TestApplyFieldManager checks that requests name Helm's field manager.
func TestApplyFieldManager(t *testing.T) {
	for _, name := range []string{"", "somebody"} {
		synctest.Test(t, func(t *testing.T) {
			before := kube.ManagedFieldsManager
			defer func() { kube.ManagedFieldsManager = before }()
			kube.ManagedFieldsManager = name
			api := fakeapi.NewWritableAPI(t)
			for _, force := range []bool{false, true} {
				for _, target := range []string{fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: ii")} {
					if _, err := newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, target), ApplyOptions{Force: force}); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := name
			if want == "" {
				want = "objectwriter.test"
			}
			writes := 0
			for _, c := range api.Calls() {
				if c.Reads() {
					continue
				}
				writes++
				if got := filepath.Base(c.URL.Query().Get("fieldManager")); got != want {
					t.Errorf("%s by %q, want %q", c, got, want)
				}
			}
			if writes != 4 {
				t.Errorf("%d writes", writes)
			}
		})
	}
}

// TestApplyKeepsDeclarations checks that create requests omit a declared resource version,
// and that Apply does not modify objects that it could not write.
func TestApplyKeepsDeclarations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		info := fakeapi.Info(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: \"7\"}}")
		if _, err := newWriter(t, api).Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(api.Calls()[1].Body, "resourceVersion") {
			t.Errorf("sent %s", api.Calls()[1].Body)
		}
		api.Fault = fakeapi.Forbid("update", "")
		info = fakeapi.Info(t, fakeapi.ConfigMap("a", "x: i"))
		if _, err := newWriter(t, api).Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{Force: true}); err == nil {
			t.Fatal("no error")
		}
		if held := info.Object.(*unstructured.Unstructured); held.GetResourceVersion() != "" {
			t.Errorf("holds %v", held)
		}
	})
}

// TestApplyManyOriginals checks that Apply does not search through all originals for each
// object.
func TestApplyManyOriginals(t *testing.T) {
	list := fakeapi.Infos(t, fakeapi.ConfigMaps(3, "a")...)
	list = append(list, fakeapi.Info(t, fakeapi.ConfigMap("a-1", "second: one")))
	byKey := firstByID(list)
	for i, info := range list[:3] {
		if byKey[object.IDOf(info)] != list[i] || byKey[object.IDOf(info)] != list.Get(info) {
			t.Errorf("found another one for %s", info.Name)
		}
	}
	if byKey[object.IDOf(fakeapi.Info(t, secret))] != nil {
		t.Error("found what is not there")
	}
}

func TestApplyErrorText(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	err := error(&ApplyError{Failures: []ObjectError{{Err: errors.New("one")}, {Err: fmt.Errorf("two: %w", refused)}}})
	if want := "one && two: " + refused.Error(); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, refused) || apierrors.ReasonForError(err) != "Forbidden" || refused.ErrStatus.Code != http.StatusForbidden {
		t.Error("the cause is hidden")
	}
}
