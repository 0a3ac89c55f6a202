// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// TestDeferredObjects checks that Apply asks the option Defer about each object, and does not
// write those that are deferred.
func TestDeferredObjects(t *testing.T) {
	const missing = "{apiVersion: v1, kind: ConfigMap, metadata: {name: missing}}"
	const same = "{apiVersion: v1, kind: ConfigMap, metadata: {name: same}, data: {a: b}}"
	const changed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {a: %s}}"
	for name, tt := range map[string]struct {
		defers, fails string
		force         bool
		written       []string
	}{
		"none":                  {written: []string{"create configmaps/missing", "patch configmaps/changed"}},
		"an object to create":   {defers: "missing", written: []string{"patch configmaps/changed"}},
		"an object to change":   {defers: "changed", written: []string{"create configmaps/missing"}},
		"an unchanged object":   {defers: "same", written: []string{"create configmaps/missing", "patch configmaps/changed"}},
		"an object to replace":  {defers: "changed", force: true, written: []string{"create configmaps/missing", "update configmaps/same"}},
		"an object that is bad": {fails: "changed", written: []string{"create configmaps/missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				old := fmt.Sprintf(changed, "old")
				api.Have(same)
				api.Have(old)
				var mu sync.Mutex
				asked := map[string]string{}
				applied, err := newWriter(t, api).Apply(t.Context(), fakeapi.Infos(t, missing, same, fmt.Sprintf(changed, "new")), ApplyOptions{
					Originals: fakeapi.Infos(t, same, old), Force: tt.force,
					Defer: func(_ context.Context, info *object.Info, live *unstructured.Unstructured, unchanged bool) (bool, error) {
						mu.Lock()
						defer mu.Unlock()
						asked[info.Name] = fmt.Sprint(live != nil, " ", unchanged)
						if info.Name == tt.fails {
							return false, errors.New("no")
						}
						return info.Name == tt.defers, nil
					},
				})
				if failed := err != nil; failed != (tt.fails != "") {
					t.Fatalf("error %v", err)
				}
				written := slices.DeleteFunc(api.Requests(), func(r string) bool { return strings.HasPrefix(r, "get ") || strings.HasPrefix(r, "list ") })
				slices.Sort(written)
				if !slices.Equal(written, tt.written) {
					t.Errorf("written: %q, want %q", written, tt.written)
				}
				var want []string
				if tt.defers != "" {
					want = []string{"ConfigMap/" + tt.defers}
				}
				if got := fakeapi.Names(applied.Deferred); !slices.Equal(got, want) {
					t.Errorf("deferred: %q, want %q", got, want)
				}
				if asked["missing"] != "false false" || asked["changed"] != "true false" || asked["same"] != fmt.Sprint("true ", !tt.force) {
					t.Errorf("asked: %v", asked)
				}
			})
		})
	}
}
