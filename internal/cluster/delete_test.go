// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDeleteByUID deletes what was written before, and nothing that has its name.
func TestDeleteByUID(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("modified"))
	for _, c := range []struct {
		name  string
		uid   func(live *unstructured.Unstructured) string
		fault func(call) error
		stays bool
		fails bool
	}{
		{name: "not known", uid: func(*unstructured.Unstructured) string { return "" }},
		{name: "the same", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }},
		{name: "another", uid: func(*unstructured.Unstructured) string { return "other" }, stays: true},
		{name: "a conflict that passes", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }, fault: first("delete", conflict)},
		{
			name: "a conflict about something else", uid: func(live *unstructured.Unstructured) string { return string(live.GetUID()) }, stays: true, fails: true,
			fault: func(c call) error {
				if c.verb == "delete" {
					return conflict
				}
				return nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFakeAPI(t)
				api.have(settings("a", ""))
				api.fault = c.fault
				list := objects(t, settings("a", ""))
				live := api.now(list[0])
				list[0].Object = live.DeepCopy()
				list[0].Object.(*unstructured.Unstructured).Object["metadata"].(map[string]any)["uid"] = c.uid(live)
				deleted, errs := api.client().Delete(t.Context(), list, metav1.DeletePropagationBackground)
				if len(errs) > 0 != c.fails {
					t.Errorf("got %v", errs)
				}
				if said := len(deleted) == 1; said == c.stays {
					t.Errorf("it says that it has deleted it: %v", said)
				}
				if there := api.now(list[0]) != nil; there != c.stays {
					t.Errorf("it is there: %v, want %v; requests %q", there, c.stays, slices.Compact(api.log()))
				}
			})
		})
	}
}
