// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestDeleteByUID checks that an object is deleted, but not another object with the same
// name.
func TestDeleteByUID(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("modified"))
	for _, c := range []struct {
		name  string
		uid   func(live *unstructured.Unstructured) string
		fault func(fakeapi.ReceivedCall) error
		stays bool
		fails bool
	}{
		{name: "not known", uid: func(*unstructured.Unstructured) string { return "" }},
		{name: "the same", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }},
		{name: "another", uid: func(*unstructured.Unstructured) string { return "other" }, stays: true},
		{name: "a conflict that passes", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }, fault: fakeapi.FailFirst("delete", conflict)},
		{
			name: "a conflict about something else", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }, stays: true, fails: true,
			fault: func(c fakeapi.ReceivedCall) error {
				if c.Verb == "delete" {
					return conflict
				}
				return nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Have(fakeapi.ConfigMap("a", ""))
				api.Fault = c.fault
				list := fakeapi.Infos(t, fakeapi.ConfigMap("a", ""))
				live := api.Get(list[0])
				list[0].Object = live.DeepCopy()
				list[0].Object.(*unstructured.Unstructured).Object["metadata"].(map[string]any)["uid"] = c.uid(live)
				deleted, errs := newWriter(t, api).Delete(t.Context(), list, metav1.DeletePropagationBackground)
				if len(errs) > 0 != c.fails {
					t.Errorf("got %v", errs)
				}
				if said := len(deleted) == 1; said == c.stays {
					t.Errorf("it says that it has deleted it: %v", said)
				}
				if there := api.Get(list[0]) != nil; there != c.stays {
					t.Errorf("it is there: %v, want %v; requests %q", there, c.stays, slices.Compact(api.Requests()))
				}
			})
		})
	}
}
