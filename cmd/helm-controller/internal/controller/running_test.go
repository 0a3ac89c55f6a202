// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

func newRequest(name string, generation int64) *v1alpha1.HelmRequest {
	return &v1alpha1.HelmRequest{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a", Generation: generation}}
}

// TestChangesEndOperations checks which changes of a HelmRequest cancel the operation that runs because of it:
//   - "If the HelmRequest is changed or deleted while an operation on its release runs, the operation is canceled"
//   - "An uninstall that runs because the HelmRequest was deleted is not canceled"
func TestChangesEndOperations(t *testing.T) {
	deleted := func(r *v1alpha1.HelmRequest) *v1alpha1.HelmRequest {
		now := metav1.Now()
		r.DeletionTimestamp = &now
		return r
	}
	for name, c := range map[string]struct {
		running, changed *v1alpha1.HelmRequest
		canceled         bool
	}{
		"status written":          {newRequest("shop", 2), newRequest("shop", 2), false},
		"changed":                 {newRequest("shop", 2), newRequest("shop", 3), true},
		"deleted":                 {newRequest("shop", 2), deleted(newRequest("shop", 3)), true},
		"changed before it began": {newRequest("shop", 2), newRequest("shop", 1), false},
		"changed while deleted":   {deleted(newRequest("shop", 2)), deleted(newRequest("shop", 3)), false},
		"other request":           {newRequest("shop", 2), newRequest("web", 3), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newRunningOperations(1)
			ctx, end, started := o.start(t.Context(), c.running)
			if !started {
				t.Fatal("the operation has not started")
			}
			defer end()
			o.changed(c.changed)
			if got := errors.Is(context.Cause(ctx), errChanged); got != c.canceled {
				t.Errorf("canceled is %t, want %t", got, c.canceled)
			}
		})
	}
}

// TestOperationsPerNamespace checks the flag --concurrency-per-namespace: one namespace cannot take all places.
func TestOperationsPerNamespace(t *testing.T) {
	o := newRunningOperations(2)
	other := newRequest("c", 1)
	other.Namespace = "team-b"
	var ends []func()
	for _, c := range []struct {
		request *v1alpha1.HelmRequest
		started bool
	}{{newRequest("a", 1), true}, {newRequest("b", 1), true}, {newRequest("c", 1), false}, {other, true}} {
		_, end, started := o.start(t.Context(), c.request)
		if started != c.started {
			t.Errorf("%s/%s: started is %t", c.request.Namespace, c.request.Name, started)
		}
		ends = append(ends, end)
	}
	ends[0]()
	if _, _, started := o.start(t.Context(), newRequest("c", 1)); !started {
		t.Error("the place of an operation that has ended is still taken")
	}
}
