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

// TestHooksOfKindsThatHooksDefine has hooks that define kinds, and after them
// hooks of these kinds. Helm looks kinds up in what it found before, and fails.
func TestHooksOfKindsThatHooksDefine(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".example.com"
	var definitions, objects strings.Builder
	for i := range 8 {
		fmt.Fprintf(&definitions, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadget%[1]ds.%[2]s
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "%[3]d"}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: Gadget%[1]d, plural: gadget%[1]ds, singular: gadget%[1]d}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, i, group, 2*i)
		fmt.Fprintf(&objects, `---
apiVersion: %[2]s/v1
kind: Gadget%[1]d
metadata:
  name: gadget
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "%[3]d"}
`, i, group, 2*i+1)
	}
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":                 "apiVersion: v2\nname: gadgets\nversion: 1.0.0\n",
		"templates/definitions.yaml": definitions.String(),
		"templates/objects.yaml":     objects.String(),
	})
	h.MustRun("install", "gadgets", chart)
	h.MustRun("uninstall", "gadgets")
}

// TestDefinitionsThatAreThereAreNotSent installs a chart with a definition in its
// crds/ folder twice: it is created by the first release, and only looked for by the
// second, which uses it all the same.
func TestDefinitionsThatAreThereAreNotSent(t *testing.T) {
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
