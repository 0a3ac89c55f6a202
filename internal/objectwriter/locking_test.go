// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// TestOptimisticLocking checks what Apply does if another client changes an object between the
// requests with which Apply reads and writes it.
func TestOptimisticLocking(t *testing.T) {
	right, wrong := fakeapi.ConfigMap("a", "x: right"), fakeapi.ConfigMap("a", "x: wrong")
	for name, tt := range map[string]struct {
		there string
		// meanwhile is called before each write request is processed, with its number.
		meanwhile func(api *fakeapi.WritableAPI, number int)
		options   ApplyOptions
		calls     []string
		outcome   string
		data, err string
	}{
		"nobody": {
			there: wrong, calls: []string{"get configmaps/a", "patch configmaps/a"}, outcome: "updated", data: "map[x:right]",
		},
		"changed once": {
			there: wrong, meanwhile: func(api *fakeapi.WritableAPI, number int) {
				if number == 1 {
					api.Have(fakeapi.ConfigMap("a", "x: worse, foreign: kept"))
				}
			},
			calls: []string{"get configmaps/a", "patch configmaps/a", "get configmaps/a", "patch configmaps/a"}, outcome: "updated", data: "map[foreign:kept x:right]",
		},
		"corrected": {
			there: wrong, meanwhile: func(api *fakeapi.WritableAPI, _ int) { api.Have(right) },
			calls: []string{"get configmaps/a", "patch configmaps/a", "get configmaps/a"}, outcome: "unchanged", data: "map[x:right]",
		},
		"changed all the time": {
			there: wrong, meanwhile: func(api *fakeapi.WritableAPI, number int) {
				api.Have(fakeapi.ConfigMap("a", fmt.Sprintf("x: v%d", number)))
			},
			data: "map[x:v10]", err: "the object has been modified",
		},
		"given away": {
			there: wrong, meanwhile: func(api *fakeapi.WritableAPI, _ int) { api.Have(fakeapi.ConfigMap("a", "owner: other")) },
			options: ApplyOptions{MayChange: func(_ *object.Info, live *unstructured.Unstructured) error {
				if owner, _, _ := unstructured.NestedString(live.Object, "data", "owner"); owner != "" {
					return errors.New("it belongs to " + owner)
				}
				return nil
			}},
			calls: []string{"get configmaps/a", "patch configmaps/a", "get configmaps/a"}, data: "map[owner:other]", err: "it belongs to other",
		},
		"deleted": {
			there: wrong, meanwhile: func(api *fakeapi.WritableAPI, number int) {
				if number == 1 {
					api.Clear()
				}
			},
			calls: []string{"get configmaps/a", "create configmaps/a", "patch configmaps/a"}, outcome: "created", data: "map[x:right]",
		},
		"created": {
			meanwhile: func(api *fakeapi.WritableAPI, number int) {
				if number == 1 {
					api.Have(wrong)
				}
			},
			calls: []string{"get configmaps/a", "create configmaps/a", "get configmaps/a", "patch configmaps/a"}, outcome: "updated", data: "map[x:right]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				if tt.there != "" {
					api.Have(tt.there)
				}
				number := 0
				api.Fault = func(c fakeapi.ReceivedCall) error {
					if !c.Reads() && tt.meanwhile != nil {
						number++
						tt.meanwhile(api, number)
					}
					return nil
				}
				tt.options.KeepForeignFields, tt.options.OptimisticLocking = true, true
				applied, err := newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, right), tt.options)
				if failed := err != nil; failed != (tt.err != "") || failed && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got the error %v, want %q", err, tt.err)
				}
				if got := outcomeOf(applied); got != tt.outcome {
					t.Errorf("it is %q, want %q", got, tt.outcome)
				}
				if got := api.Requests(); tt.calls != nil && !slices.Equal(got, tt.calls) {
					t.Errorf("requests %q, want %q", got, tt.calls)
				}
				data, _, _ := unstructured.NestedMap(api.Get(fakeapi.Info(t, right)).Object, "data")
				if got := fmt.Sprint(data); got != tt.data {
					t.Errorf("the object has %s, want %s", got, tt.data)
				}
			})
		})
	}
}

// outcomeOf returns what Apply did with the only object.
func outcomeOf(applied *ApplyResult) string {
	for what, list := range map[string]kube.ResourceList{"created": applied.Created, "updated": applied.Updated, "unchanged": applied.Unchanged} {
		if len(list) > 0 {
			return what
		}
	}
	return ""
}

// TestSkipSameState checks that a patch which only writes values in another form is sent unless
// SkipSameState is set.
func TestSkipSameState(t *testing.T) {
	for _, skip := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			api := fakeapi.NewWritableAPI(t)
			api.Have("{apiVersion: v1, kind: Secret, metadata: {name: key}, data: {a: Yg==}}")
			list := fakeapi.Infos(t, "{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {a: b}}")
			_, err := newWriter(t, api).Apply(t.Context(), list, ApplyOptions{KeepForeignFields: true, SkipSameState: skip})
			if sent := api.Count("patch") > 0; err != nil || sent == skip {
				t.Errorf("SkipSameState %v: the patch was sent: %v, %v", skip, sent, err)
			}
		})
	}
}

// TestDeclaration checks that an existing object is compared with the result of the option
// Declaration, also after a conflict.
func TestDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Have(fakeapi.ConfigMap("a", "x: wrong, z: wrong"))
		api.Fault = fakeapi.FailFirst("patch", apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("modified")))
		asked := 0
		o := ApplyOptions{KeepForeignFields: true, OptimisticLocking: true, Declaration: func(info *object.Info, live *unstructured.Unstructured) (*object.Info, error) {
			if asked++; live.GetUID() == "" {
				return nil, errors.New("there is no live object")
			}
			declared := *info
			declared.Object = fakeapi.Info(t, fakeapi.ConfigMap("a", "x: right")).Object
			return &declared, nil
		}}
		_, err := newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMap("a", "x: right, z: right")), o)
		data, _, _ := unstructured.NestedMap(api.Get(fakeapi.Info(t, fakeapi.ConfigMap("a", ""))).Object, "data")
		if err != nil || asked != 2 || fmt.Sprint(data) != "map[x:right z:wrong]" {
			t.Errorf("asked %d times, got %v, %v", asked, data, err)
		}
	})
}
