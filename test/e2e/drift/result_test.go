// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestResult checks what a correction returns, and the events that it emits meanwhile.
//   - "The result has the number of the Revision, the objects that were Created or Changed"
//   - "the name of the operation in its events is correct-drift"
//   - "Drift contains the objects that were not as declared, with the fields that differed and who had set them"
//   - "In the SDK, FindDrift returns the same"
func TestResult(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "old"), "--wait=ordered")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "right", charts.Object{Name: "more"}), "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Delete(t, "ConfigMap/last")
	correct := action.NewCorrectDrift(newProgram(h).configuration(t))
	correct.Timeout = operationTimeout
	var operations []string
	correct.OnEvent = func(e action.Event) {
		if e.Operation != nil {
			operations = append(operations, string(e.Type)+" "+e.Operation.Name)
		}
	}
	found, err := action.NewFindDrift(newProgram(h).configuration(t)).RunWithContext(t.Context(), "rel")
	harness.NoError(t, err)
	result, err := correct.RunWithContext(t.Context(), "rel")
	harness.NoError(t, err)
	if !reflect.DeepEqual(result.Drift, found.Objects) || len(result.Drift) != 2 || result.Drift[0].Fields[0].Path != "data.value" || result.Drift[0].Fields[0].Manager == "" {
		t.Errorf("got the drift %+v, want %+v", result.Drift, found.Objects)
	}
	if result.Revision != 2 || result.Unchanged != 2 || describe(result) != "created ConfigMap/last changed ConfigMap/first" {
		t.Errorf("got %+v", *result)
	}
	if !slices.Equal(operations, []string{"started correct-drift", "finished correct-drift"}) {
		t.Errorf("got the events %v", operations)
	}
}

// TestReadinessTimeout checks that a correction waits for an object that it has changed, for as long as
// ReadinessTimeout says, and that objects which depend on it are not changed before.
//   - "ReadinessTimeout and OnEvent are as in Rollback"
func TestReadinessTimeout(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	objects := charts.ThreeLayerObjects("right")
	objects[1].Annotations = nil // its own timeout would take precedence
	h.MustRun("install", "rel", charts.Write(t, objects...), "--wait=ordered")
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"metadata":{"annotations":{"devcluster/pod":"never"}},"spec":{"containers":[{"name":"c","image":"wrong"}]}}}}`)
	h.Patch(t, "ConfigMap/last", `{"data":{"value":"wrong"}}`)
	correct := action.NewCorrectDrift(newProgram(h).configuration(t))
	correct.Timeout, correct.ReadinessTimeout = operationTimeout, time.Second
	result, err := correct.RunWithContext(t.Context(), "rel")
	failed, ok := errors.AsType[*action.DeployError](err)
	if !ok || len(failed.Resources) != 1 || failed.Resources[0].Resource != "Deployment/app" {
		t.Errorf("got the error %v", err)
	}
	if got := describe(result); got != "changed Deployment/app" {
		t.Errorf("got the result %q", got)
	}
	if got := harness.ValueOf(h.Get(t, "ConfigMap/last")); got != "wrong" {
		t.Errorf("the object that depends on the Deployment has the value %q", got)
	}
}

// TestDefinitionsInCRDs checks that a correction does not change the definitions in crds/ of a chart.
//   - "CRDs in crds/ and objects of hooks, because they are not in the manifest"
func TestDefinitionsInCRDs(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	definition := charts.Definition(h.Namespace+".example", "Widget")
	h.MustRun("install", "rel", charts.Chart{Objects: []charts.Object{{Name: "own", Value: "right"}}, CRDs: definition.Manifest()}.Write(t))
	definitions := h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	t.Cleanup(func() {
		_ = definitions.Delete(context.WithoutCancel(t.Context()), definition.Name, metav1.DeleteOptions{}) // uninstall keeps it
	})
	harness.NoError(t, harness.MergePatch(t.Context(), definitions, definition.Name, `{"spec":{"names":{"shortNames":["wid"]}}}`))
	p := newProgram(h)
	p.correct(t, "")
	p.expectWrites(t, 0)
}

// TestCustomClient checks that a correction refuses a Kubernetes client that is not Helm's own.
//   - "CorrectDrift needs Helm's own Kubernetes client"
func TestCustomClient(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("right")))
	h.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
	p := newProgram(h)
	cfg := p.configuration(t)
	cfg.KubeClient = struct{ kube.Interface }{cfg.KubeClient}
	if _, err := action.NewCorrectDrift(cfg).RunWithContext(t.Context(), "rel"); err == nil || !strings.Contains(err.Error(), "custom Kubernetes client") {
		t.Errorf("got the error %v", err)
	}
	p.expectWrites(t, 0)
}
