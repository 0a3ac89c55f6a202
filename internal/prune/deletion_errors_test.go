// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// terminating returns the report on an object that is being deleted.
func terminating(kind, name string, finalizers ...string) watcher.Report {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetFinalizers(finalizers)
	return watcher.Report{
		Target: watcher.Target{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: name},
		Object: object, Status: readiness.Status{State: readiness.Terminating, Message: "being deleted"},
	}
}

// TestRemovalError checks the errors of deletions in reverse order.
func TestRemovalError(t *testing.T) {
	top, base := &sequencer.Node{Chart: "shop", Layer: "top"}, &sequencer.Node{Chart: "shop", Layer: "base"}
	notGoneError := func(cause error, reports ...watcher.Report) error {
		return stillExistError(&watcher.NotReadyError{Reports: reports, Cause: cause}, time.Now())
	}
	kept := terminating("ConfigMap", "b", "example.com/hold")
	tests := []struct {
		name  string
		err   error
		cause error // why the operation ended; nil if it did not end
		want  string
		is    error
	}{
		{
			name: "kept by a finalizer", err: notGoneError(&failure.TimeoutError{Limit: 5 * time.Second}, kept), is: context.DeadlineExceeded,
			want: "ConfigMap/b still existed when the operation timed out after 5s: being deleted\n" +
				"  to allow the controllers of its finalizers more time, increase --timeout\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "two, timeout of a node", err: notGoneError(failure.DeletionTimeout(time.Second), terminating("Pod", "b"), terminating("Pod", "a")), is: context.DeadlineExceeded,
			want: "2 resources still exist: Pod/a, Pod/b\n  Pod/a still existed after 1s: being deleted\n  Pod/b still existed after 1s: being deleted\n" +
				"  to allow it more time, increase --readiness-timeout\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "cancelled", err: notGoneError(context.Canceled, kept), is: context.Canceled,
			want: "ConfigMap/b still existed when the operation was cancelled: being deleted\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "rejected", err: errors.New("no"),
			want: "layer \"top\" of chart shop could not be deleted: no\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "timeout of the operation during a request", cause: &failure.TimeoutError{Limit: 3 * time.Second}, is: context.DeadlineExceeded,
			err:  fmt.Errorf("Delete \"https://localhost\": %w", context.DeadlineExceeded),
			want: "layer \"top\" of chart shop was interrupted while being deleted: the operation timed out after 3s: increase --timeout\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "rejected, and then the operation ended", err: errors.New("no"), cause: &failure.TimeoutError{Limit: 3 * time.Second},
			want: "layer \"top\" of chart shop could not be deleted: no\nnot deleted (blocked by this failure): shop:base",
		},
		{
			name: "cancelled before anything failed", cause: context.Canceled, is: context.Canceled,
			want: "context canceled\nnot deleted (blocked by this failure): shop:base",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			execution := &execute.Error{NotStarted: []sequencer.Vertex{base}}
			if tt.err != nil {
				execution.Failed = []execute.VertexError{{Vertex: top, Err: tt.err}}
			}
			if tt.cause != nil {
				cancel(tt.cause)
			}
			err := (&OrderedDeletion{Namespace: "shop"}).removalError(ctx, execution)
			if err.Error() != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("it does not wrap %v", tt.is)
			}
			var removal *failure.RemovalError
			if !errors.As(err, &removal) {
				t.Fatalf("it is a %T", err)
			}
			data, jsonErr := json.Marshal(removal)
			var read struct {
				Summary    string
				NotDeleted []string
			}
			if jsonErr = errors.Join(jsonErr, json.Unmarshal(data, &read)); jsonErr != nil || read.Summary != removal.Summary() || fmt.Sprint(read.NotDeleted) != "[shop:base]" {
				t.Errorf("in JSON it is %s (%v)", data, jsonErr)
			}
		})
	}
	if err := (&OrderedDeletion{}).removalError(t.Context(), nil); err != nil {
		t.Errorf("got %v without a failure", err)
	}
}
