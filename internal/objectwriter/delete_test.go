// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// TestDelete checks that an object is deleted only if it is still the one that was read, and
// that the result says whether it still exists.
func TestDelete(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("modified"))
	alwaysConflict := func(c fakeapi.ReceivedCall) error {
		if c.Verb == "delete" {
			return conflict
		}
		return nil
	}
	plain, finalized := fakeapi.ConfigMap("a", ""), `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x/y]}}`
	for _, c := range []struct {
		name        string
		live        string
		change      func(state *unstructured.Unstructured) // changes the state that was read; nil if none was read
		ifUnchanged bool
		fault       func(fakeapi.ReceivedCall) error
		want        string
		stays       bool
	}{
		{name: "state not known", live: plain, want: "deleted terminating"},
		{name: "state known", live: plain, change: asRead, want: "deleted"},
		{name: "unchanged", live: plain, change: asRead, ifUnchanged: true, want: "deleted"},
		{name: "changed", live: plain, change: withVersion("0"), ifUnchanged: true, want: "changed", stays: true},
		{name: "changed, which does not matter", live: plain, change: withVersion("0"), want: "deleted"},
		{name: "with finalizers", live: finalized, change: asRead, want: "deleted terminating", stays: true},
		{name: "already deleted", live: plain, change: alreadyDeleted, want: "deleted terminating"},
		{name: "absent", change: withUID("other"), want: ""},
		{name: "another object", live: plain, change: withUID("other"), want: "", stays: true},
		{name: "another object instead of an unchanged one", live: plain, change: withUID("other"), ifUnchanged: true, want: "changed", stays: true},
		{name: "a conflict that passes", live: plain, change: asRead, fault: fakeapi.FailFirst("delete", conflict), want: "deleted"},
		{name: "a conflict about something else", live: plain, change: asRead, fault: alwaysConflict, want: "failed", stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				list := fakeapi.Infos(t, plain)
				if c.live != "" {
					api.Have(c.live)
				}
				if state := api.Get(list[0]); c.change != nil {
					if state == nil {
						state = fakeapi.Object(t, plain)
					}
					state = state.DeepCopy()
					c.change(state)
					list[0] = object.WithState(list[0], state)
				}
				api.Fault = c.fault
				result, errs := newWriter(t, api).Delete(t.Context(), list, DeleteOptions{Propagation: metav1.DeletePropagationBackground, IfUnchanged: c.ifUnchanged})
				if got := describeResult(result, errs); got != c.want {
					t.Errorf("got %q, want %q: %v", got, c.want, errs)
				}
				if stays := api.Get(list[0]) != nil; stays != c.stays {
					t.Errorf("the object exists: %v, want %v; requests %q", stays, c.stays, slices.Compact(api.Requests()))
				}
			})
		})
	}
}

// TestDeleteError checks that the error of the server is returned with its message.
func TestDeleteError(t *testing.T) {
	api := fakeapi.NewWritableAPI(t)
	api.Have(fakeapi.ConfigMap("a", ""))
	api.Fault = fakeapi.Forbid("delete", "configmaps")
	_, errs := newWriter(t, api).Delete(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMap("a", "")), DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	if len(errs) != 1 || !apierrors.IsForbidden(errs[0]) || !strings.Contains(errs[0].Error(), "configmaps") || strings.Contains(errs[0].Error(), "unknown") {
		t.Errorf("got %v", errs)
	}
}

func asRead(*unstructured.Unstructured) {}

func withUID(uid types.UID) func(*unstructured.Unstructured) {
	return func(state *unstructured.Unstructured) { state.SetUID(uid) }
}

func withVersion(version string) func(*unstructured.Unstructured) {
	return func(state *unstructured.Unstructured) { state.SetResourceVersion(version) }
}

func alreadyDeleted(state *unstructured.Unstructured) {
	state.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
}

// describeResult names the lists of a result that contain an object.
func describeResult(result *DeleteResult, errs []error) string {
	var parts []string
	for _, part := range []struct {
		name  string
		count int
	}{
		{"deleted", len(result.Deleted)}, {"terminating", len(result.Terminating)}, {"changed", len(result.Changed)}, {"failed", len(errs)},
	} {
		if part.count > 0 {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, " ")
}
