// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/object"
)

const secret = "{apiVersion: v1, kind: Secret, metadata: {name: key}}"

func refuse(verb, path string) func(call) error {
	return func(c call) error {
		if c.verb == verb && strings.HasPrefix(c.path, path) {
			return forbidden(c)
		}
		return nil
	}
}

// first answers the first request of a verb with the error.
func first(verb string, err error) func(call) error {
	var done atomic.Bool
	return func(c call) error {
		if c.verb != verb || done.Swap(true) {
			return nil
		}
		return err
	}
}

// admitNone lets no object be changed.
func admitNone(info *resource.Info, _ *unstructured.Unstructured) error {
	return errors.New(info.Name + " is not yours")
}

func TestApply(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "it", errors.New("modified"))
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a")
	for _, c := range []struct {
		name                     string
		there, originals, target []string
		options                  ApplyOptions
		fault                    func(call) error
		// calls are the requests, created and so on what is reported, data what
		// the ConfigMaps hold in the end, by name.
		calls                       []string
		created, updated, unchanged []string
		data                        map[string]string
		err                         string
	}{
		{name: "nothing"},
		{
			name: "created, changed and left", there: []string{settings("a", "x: i, w: ii"), settings("b", "x: i")},
			originals: []string{settings("a", "x: i, w: ii"), settings("b", "x: i")},
			target:    []string{settings("c", "x: v"), settings("b", "x: i"), settings("a", "x: iii")},
			calls:     []string{"get configmaps/a", "get configmaps/b", "get configmaps/c", "create configmaps/c", "patch configmaps/a"},
			created:   []string{"ConfigMap/c"}, updated: []string{"ConfigMap/a"}, unchanged: []string{"ConfigMap/b"},
			data: map[string]string{"a": "map[x:iii]", "b": "map[x:i]", "c": "map[x:v]"},
		},
		{
			name: "what others added stays", there: []string{settings("a", "x: i, w: ii, foreign: z")},
			originals: []string{settings("a", "x: i, w: ii")}, target: []string{settings("a", "x: i")},
			calls: []string{"get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:i]"},
		},
		{
			name: "what is gone already needs no request", there: []string{settings("a", "x: i")},
			originals: []string{settings("a", "x: i, w: ii")}, target: []string{settings("a", "x: i")},
			calls: []string{"get configmaps/a"}, unchanged: []string{"ConfigMap/a"},
		},
		{
			name: "without an original the live object is the base", there: []string{settings("a", "x: i, foreign: z")},
			target: []string{settings("a", "x: i")},
			calls:  []string{"get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[x:i]"},
		},
		{
			name: "originals of other objects change nothing", there: []string{settings("a", "x: i"), settings("b", "x: i")},
			originals: []string{settings("b", "x: i"), settings("a", "x: i")}, target: []string{settings("a", "x: i")},
			calls: []string{"get configmaps/a"}, unchanged: []string{"ConfigMap/a"}, data: map[string]string{"b": "map[x:i]"},
		},
		{
			name: "absent ones are not read", target: []string{settings("a", "x: i")},
			options: ApplyOptions{Absent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a"}, created: []string{"ConfigMap/a"},
		},
		{
			name: "absent, but there", there: []string{settings("a", "x: i, foreign: z")},
			originals: []string{settings("a", "x: i")}, target: []string{settings("a", "x: ii")},
			options: ApplyOptions{Absent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a", "get configmaps/a", "patch configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[foreign:z x:ii]"},
		},
		{
			name: "absent, but there, and not to be read", there: []string{settings("a", "x: i")}, target: []string{settings("a", "x: ii"), secret},
			options: ApplyOptions{Absent: func(*resource.Info) bool { return true }}, fault: refuse("get", ""),
			calls: []string{"create configmaps/a", "get configmaps/a"},
			err:   `could not get information about the resource ConfigMap "a" in namespace "ns": configmaps/a is forbidden: not allowed`,
		},
		{
			name: "absent, but there, and not admitted", there: []string{settings("a", "foreign: z")}, target: []string{settings("a", "x: i"), secret},
			options: ApplyOptions{Absent: func(*resource.Info) bool { return true }, Admit: admitNone},
			calls:   []string{"create configmaps/a", "get configmaps/a"},
			data:    map[string]string{"a": "map[foreign:z]"}, err: "a is not yours",
		},
		{
			name: "there, and not admitted", there: []string{settings("a", "foreign: z")}, originals: []string{settings("a", "x: i")}, target: []string{settings("a", "x: i"), secret},
			options: ApplyOptions{Force: true, Admit: admitNone}, calls: []string{"get configmaps/a", "get secrets/key"},
			data: map[string]string{"a": "map[foreign:z]"}, err: "a is not yours",
		},
		{
			name: "what it has created needs no admission", target: []string{settings("a", "x: i"), settings("a", "x: ii")}, options: ApplyOptions{Admit: admitNone},
			calls:   []string{"get configmaps/a", "get configmaps/a", "create configmaps/a", "patch configmaps/a"},
			created: []string{"ConfigMap/a"}, updated: []string{"ConfigMap/a"}, data: map[string]string{"a": "map[x:ii]"},
		},
		{
			name: "admitted", there: []string{settings("a", "foreign: z")}, originals: []string{settings("a", "x: i")}, target: []string{settings("a", "x: i")},
			options: ApplyOptions{
				Absent: func(*resource.Info) bool { return true },
				Admit: func(_ *resource.Info, live *unstructured.Unstructured) error {
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
			name: "not to be read", there: []string{settings("a", "x: i")}, target: []string{secret, settings("a", "x: ii")}, fault: refuse("get", "configmaps"),
			calls: []string{"get configmaps/a", "get secrets/key"},
			err:   `could not get information about the resource ConfigMap "a" in namespace "ns": configmaps/a is forbidden: not allowed`,
		},
		{
			name: "appeared after it was read", target: []string{settings("a", "x: i")},
			fault: first("create", apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a")),
			calls: []string{"get configmaps/a", "create configmaps/a"},
			err:   `failed to create resource: configmaps "a" already exists`,
		},
		{
			name: "deleted after it was read", there: []string{settings("a", "x: i")}, originals: []string{settings("a", "x: i")},
			target: []string{settings("a", "x: ii")}, fault: first("patch", gone),
			// The server still has it: the second answer shows what was asked.
			calls: []string{"get configmaps/a", "create configmaps/a", "patch configmaps/a"},
			err:   `failed to create resource: configmaps "a" already exists`,
		},
		{
			name: "a conflict in a create passes", target: []string{settings("a", "x: i")}, fault: first("create", conflict),
			calls: []string{"get configmaps/a", "create configmaps/a", "create configmaps/a"}, created: []string{"ConfigMap/a"},
		},
		{
			name: "replaced", there: []string{settings("a", "x: i, foreign: z")}, target: []string{settings("a", "x: ii")},
			options: ApplyOptions{Force: true}, calls: []string{"get configmaps/a", "update configmaps/a"}, updated: []string{"ConfigMap/a"},
			data: map[string]string{"a": "map[x:ii]"},
		},
		{
			name: "a conflict in a replacement passes", there: []string{settings("a", "x: i")}, target: []string{settings("a", "x: ii")},
			options: ApplyOptions{Force: true}, fault: first("update", conflict),
			calls: []string{"get configmaps/a", "update configmaps/a", "get configmaps/a", "update configmaps/a"}, updated: []string{"ConfigMap/a"},
		},
		{
			name: "not to be replaced", there: []string{settings("a", "x: i")}, target: []string{settings("a", "x: ii"), secret},
			options: ApplyOptions{Force: true}, fault: refuse("update", ""),
			calls: []string{"get configmaps/a", "get secrets/key", "create secrets/key", "update configmaps/a"}, created: []string{"Secret/key"},
			err: "failed to replace object: configmaps/a is forbidden: not allowed",
		},
		{
			name: "a failed change does not end it", there: []string{settings("a", "x: i"), settings("b", "x: i")},
			target: []string{settings("a", "x: ii"), settings("b", "x: ii"), secret}, fault: refuse("patch", "configmaps"),
			calls:   []string{"get configmaps/a", "get configmaps/b", "get secrets/key", "create secrets/key", "patch configmaps/a", "patch configmaps/b"},
			created: []string{"Secret/key"},
			err: `cannot patch "a" with kind ConfigMap: configmaps/a is forbidden: not allowed && ` +
				`cannot patch "b" with kind ConfigMap: configmaps/b is forbidden: not allowed`,
		},
		{
			name:   "a failed create ends it after its kind",
			target: []string{settings("a", "x: ii"), settings("b", "x: ii"), settings("c", "x: ii"), secret}, fault: refuse("create", "configmaps/b"),
			options: ApplyOptions{Absent: func(*resource.Info) bool { return true }},
			calls:   []string{"create configmaps/a", "create configmaps/b", "create configmaps/c"}, created: []string{"ConfigMap/a", "ConfigMap/c"},
			err: "failed to create resource: configmaps/b is forbidden: not allowed",
		},
		{
			name: "an object twice", target: []string{settings("a", "x: i"), settings("a", "x: ii"), settings("b", "x: i")},
			calls:   []string{"get configmaps/a", "get configmaps/a", "get configmaps/b", "create configmaps/a", "create configmaps/b", "patch configmaps/a"},
			created: []string{"ConfigMap/a", "ConfigMap/b"}, updated: []string{"ConfigMap/a"}, data: map[string]string{"a": "map[x:ii]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFakeAPI(t)
				api.have(c.there...)
				api.fault = c.fault
				list := objects(t, c.target...)
				c.options.Originals = objects(t, c.originals...)
				applied, err := api.client().Apply(t.Context(), list, c.options)
				if text := fmt.Sprint(err); text != c.err && (c.err != "" || err != nil) {
					t.Errorf("error %q, want %q", text, c.err)
				}
				if got := api.log(); !slices.Equal(got, c.calls) {
					t.Errorf("requests %q, want %q", got, c.calls)
				}
				for _, part := range []struct {
					name string
					got  kube.ResourceList
					want []string
				}{{"created", applied.Created, c.created}, {"updated", applied.Updated, c.updated}, {"unchanged", applied.Unchanged, c.unchanged}} {
					if got := names(part.got); !slices.Equal(got, part.want) {
						t.Errorf("%s %q, want %q", part.name, got, part.want)
					}
					for _, info := range part.got {
						expectHeld(t, info, api)
					}
				}
				for name, want := range c.data {
					data, _, _ := unstructured.NestedMap(api.now(parseObject(t, settings(name, ""))).Object, "data")
					if got := fmt.Sprint(data); got != want {
						t.Errorf("%s holds %s, want %s", name, got, want)
					}
				}
			})
		})
	}
}

// expectHeld checks that an object holds what the server has.
func expectHeld(t *testing.T, info *resource.Info, api *fakeAPI) {
	t.Helper()
	held, ok := info.Object.(*unstructured.Unstructured)
	if !ok || held.GetUID() == "" || held.GetUID() != api.now(info).GetUID() || info.ResourceVersion == "" || info.ResourceVersion != held.GetResourceVersion() {
		t.Errorf("%s holds %v", info.Name, info.Object)
	}
}

func TestApplyNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		away := errors.New("no route to host")
		api.fault = func(c call) error {
			if c.verb == "create" {
				return away
			}
			return nil
		}
		applied, err := api.client().Apply(t.Context(), objects(t, settings("a", "")), ApplyOptions{})
		var failed *ApplyError
		if !errors.As(err, &failed) || !errors.Is(err, away) || len(applied.Created) != 0 || !failed.Failures[0].Unanswered {
			t.Errorf("got %v, %v", applied, err)
		}
		api.fault = refuse("create", "")
		if _, err = api.client().Apply(t.Context(), objects(t, settings("a", "")), ApplyOptions{}); !errors.As(err, &failed) || failed.Failures[0].Unanswered {
			t.Errorf("got %v, want one that was answered", err)
		}
	})
}

// TestApplyFieldManager writes under Helm's name for itself.
func TestApplyFieldManager(t *testing.T) {
	for _, name := range []string{"", "somebody"} {
		synctest.Test(t, func(t *testing.T) {
			before := kube.ManagedFieldsManager
			defer func() { kube.ManagedFieldsManager = before }()
			kube.ManagedFieldsManager = name
			api := newFakeAPI(t)
			for _, force := range []bool{false, true} {
				for _, target := range []string{settings("a", "x: i"), settings("a", "x: ii")} {
					if _, err := api.client().Apply(t.Context(), objects(t, target), ApplyOptions{Force: force}); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := name
			if want == "" {
				want = "cluster.test"
			}
			writes := 0
			for _, c := range api.calls {
				if c.reads() {
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

// TestApplyKeepsDeclarations sends neither a version that a manifest names to
// create it, nor changes what failed.
func TestApplyKeepsDeclarations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		info := parseObject(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: \"7\"}}")
		if _, err := api.client().Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(api.calls[1].body, "resourceVersion") {
			t.Errorf("sent %s", api.calls[1].body)
		}
		api.fault = refuse("update", "")
		info = parseObject(t, settings("a", "x: i"))
		if _, err := api.client().Apply(t.Context(), kube.ResourceList{info}, ApplyOptions{Force: true}); err == nil {
			t.Fatal("no error")
		}
		if held := info.Object.(*unstructured.Unstructured); held.GetResourceVersion() != "" {
			t.Errorf("holds %v", held)
		}
	})
}

// TestApplyManyOriginals finds them without looking through all for each.
func TestApplyManyOriginals(t *testing.T) {
	list := objects(t, many(3, "a")...)
	list = append(list, parseObject(t, settings("a-1", "second: one")))
	byKey := index(list)
	for i, info := range list[:3] {
		if byKey[object.IDOf(info)] != list[i] || byKey[object.IDOf(info)] != list.Get(info) {
			t.Errorf("found another one for %s", info.Name)
		}
	}
	if byKey[object.IDOf(parseObject(t, secret))] != nil {
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
