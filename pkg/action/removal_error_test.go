// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// reportOf is of an object in deletion.
func reportOf(kind, name string, finalizers ...string) watcher.Report {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetFinalizers(finalizers)
	return watcher.Report{
		Target: watcher.Target{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: name},
		Object: object, Status: readiness.Status{State: readiness.Terminating, Message: "being deleted"},
	}
}

func TestRemovalError(t *testing.T) {
	top, base := &sequencer.Node{Chart: "shop", Layer: "top"}, &sequencer.Node{Chart: "shop", Layer: "base"}
	late := func(cause error, reports ...watcher.Report) error {
		return notGone(&watcher.NotReadyError{Reports: reports, Cause: cause}, time.Now())
	}
	held := reportOf("ConfigMap", "b", "example.com/hold")
	tests := []struct {
		name  string
		err   error
		ended error
		want  string
		is    error
	}{
		{
			name: "held by a finalizer", err: late(&timeoutError{5 * time.Second}, held), is: context.DeadlineExceeded,
			want: "ConfigMap/b was not gone when the operation's time of 5s was over: being deleted\n" +
				"  if whoever set its finalizers only needs more time, raise --timeout\nnot deleted because of that: shop:base",
		},
		{
			name: "two, each as long as a node may take", err: late(&goneTimeoutError{time.Second}, reportOf("Pod", "b"), reportOf("Pod", "a")), is: context.DeadlineExceeded,
			want: "2 resources are not gone: Pod/a, Pod/b\n  Pod/a was not gone within 1s: being deleted\n  Pod/b was not gone within 1s: being deleted\n" +
				"  if it only needs more time, raise --readiness-timeout\nnot deleted because of that: shop:base",
		},
		{
			name: "cancelled", err: late(context.Canceled, held), is: context.Canceled,
			want: "ConfigMap/b was not gone when the operation was cancelled: being deleted\nnot deleted because of that: shop:base",
		},
		{
			name: "refused", err: errors.New("no"),
			want: "layer \"top\" of chart shop could not be deleted: no\nnot deleted because of that: shop:base",
		},
		{
			name: "cut off while a request was under way", ended: &timeoutError{3 * time.Second}, is: context.DeadlineExceeded,
			err:  fmt.Errorf("Delete \"https://localhost\": %w", context.DeadlineExceeded),
			want: "layer \"top\" of chart shop was cut off while it was deleted: the operation took longer than its timeout of 3s: raise --timeout\nnot deleted because of that: shop:base",
		},
		{
			name: "refused, and then it ended", err: errors.New("no"), ended: &timeoutError{3 * time.Second},
			want: "layer \"top\" of chart shop could not be deleted: no\nnot deleted because of that: shop:base",
		},
		{
			name: "cancelled before anything failed", ended: context.Canceled, is: context.Canceled,
			want: "context canceled\nnot deleted because of that: shop:base",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := &sequencer.ExecutionError{NotStarted: []*sequencer.Node{base}}
			if tt.err != nil {
				ended.Failed = []sequencer.NodeError{{Node: top, Err: tt.err}}
			}
			if tt.ended != nil {
				cancel(tt.ended)
			}
			err := (&removal{namespace: "shop"}).removalError(ctx, ended)
			if err.Error() != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not found in it", tt.is)
			}
			var removal *RemovalError
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
	if err := (&removal{}).removalError(t.Context(), nil); err != nil {
		t.Errorf("what succeeded is %v", err)
	}
}
