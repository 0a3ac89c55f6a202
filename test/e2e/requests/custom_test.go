// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// TestWatchCustomResources checks that Helm watches custom resources whose CRD is in an
// earlier layer of the same chart, and waits until a controller makes them ready.
func TestWatchCustomResources(t *testing.T) {
	t.Parallel()
	const status = `{"status":{"phase":"Done","conditions":[{"type":"Ready","status":"%s","reason":"Made","message":"made"}]}}`
	for _, tt := range []struct {
		name, ready string
		annotations []string
	}{
		{name: "by condition", ready: "True"},
		{name: "by expression", annotations: []string{`helm.sh/readiness-success: '{.phase} == "Done"'`}, ready: "False"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			group := h.Namespace + ".example"
			resource := h.Resource(group+"/v1", "Widget")
			written := make(chan error, 1)
			go func() { written <- makeReady(t.Context(), resource, fmt.Sprintf(status, tt.ready)) }()

			definition, widget := charts.Definition(group, "Widget"), charts.CustomResource(group, "Widget", "one")
			definition.Layer, widget.Layer, widget.DependsOn, widget.Annotations = "definitions", "widgets", "definitions", tt.annotations
			widget.Body = `status: {conditions: [{type: Ready, status: "False", reason: New, message: not seen so far}]}` + "\n"
			h.MustRun("install", "rel", charts.Write(t, definition, widget, charts.Last("widgets")), "--wait=ordered")
			harness.NoError(t, <-written)
			var patched time.Time
			for _, e := range h.Cluster.Audit(t) {
				if e.Group == group && e.Verb == "patch" && e.Stage == cluster.StageComplete {
					patched = e.Received
				}
			}
			created := h.ReadTrace(t).Created("ConfigMap/last")
			if patched.IsZero() || created.Before(patched) {
				t.Errorf("ConfigMap/last was created at %s, the controller wrote at %s", created, patched)
			}
			if n := countVerb(requestsFor(t, h, "widgets"), "watch"); n != 1 {
				t.Errorf("%d watches of widgets, want 1", n)
			}
			h.MustRun("uninstall", "rel")
		})
	}
}

// makeReady waits until the widget exists, and then writes its status, as a controller would.
func makeReady(ctx context.Context, widgets dynamic.ResourceInterface, status string) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, harness.Timeout, true, func(ctx context.Context) (bool, error) {
		_, err := widgets.Patch(ctx, "one", types.MergePatchType, []byte(status), metav1.PatchOptions{})
		// The API server rejects requests for a kind whose CRD is not established yet.
		if apierrors.IsNotFound(err) || apierrors.IsServerTimeout(err) {
			return false, nil
		}
		return err == nil, err
	})
}
