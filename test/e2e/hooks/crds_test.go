// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestHooksOfKindsDefinedByHooks checks that hooks can be custom resources whose CRDs are
// earlier hooks. Stock Helm does not discover such kinds, and fails.
func TestHooksOfKindsDefinedByHooks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".example.com"
	var definitions, objects []charts.Object
	for i := range 8 {
		kind := fmt.Sprintf("Gadget%d", i)
		definition, object := charts.Definition(group, kind), charts.CustomResource(group, kind, "gadget")
		definition.Hook, definition.Weight = "pre-install", 2*i
		object.Hook, object.Weight = "pre-install", 2*i+1
		definitions, objects = append(definitions, definition), append(objects, object)
	}
	chart := charts.Chart{Name: "gadgets", APIVersion: "v2", Templates: map[string]string{
		"definitions.yaml": charts.Manifests(definitions...), "objects.yaml": charts.Manifests(objects...),
	}}.Write(t)
	h.MustRun("install", "gadgets", chart)
	h.MustRun("uninstall", "gadgets")
}

// TestExistingCRDsAreNotWritten installs a chart with a CRD in its directory crds/ twice. It
// checks that only the first install creates the CRD, and that the second one can use it.
func TestExistingCRDsAreNotWritten(t *testing.T) {
	h := harness.New(t)
	d := newCRDHook(t, h, "gadgets")
	chart := func(object string) string {
		return charts.WriteFiles(t, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: defining\nversion: 0.1.0\n", "crds/gadgets.yaml": d.manifest(), "templates/all.yaml": d.resource(object),
		})
	}
	for _, want := range []struct {
		release string
		sent    int
	}{{"one", 1}, {"two", 0}} {
		from := harness.Now()
		h.MustRun("install", want.release, chart(want.release))
		sent := 0
		for _, e := range h.Cluster.Audit(t) {
			if e.Verb == "create" && e.Resource == "customresourcedefinitions" && !e.Received.Before(from) && strings.Contains(string(e.Request), d.name()) {
				sent++
			}
		}
		if sent != want.sent {
			t.Errorf("release %s: the definition was sent %d times, want %d", want.release, sent, want.sent)
		}
	}
}

// TestCRDOfSimultaneousInstalls installs charts with the same CRD at the same time. Those that do
// not create it must wait until the cluster serves its kind. Stock Helm does not.
func TestCRDOfSimultaneousInstalls(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	d := newCRDHook(t, h, "gadgets")
	var installs []*harness.Process
	for i := range 8 {
		name := fmt.Sprintf("rel-%d", i)
		installs = append(installs, h.Start(t, "install", name, charts.WriteFiles(t, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: defining\nversion: 0.1.0\n", "crds/gadgets.yaml": d.manifest(), "templates/all.yaml": d.resource(name),
		})))
	}
	for _, install := range installs {
		if r := install.Wait(t); r.ExitCode != 0 {
			t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
		}
	}
}
