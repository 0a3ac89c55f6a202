// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestHooksOfKindsThatHooksDefine has hooks that define kinds, and after them
// hooks of these kinds. Helm looks kinds up in what it found before, and fails.
func TestHooksOfKindsThatHooksDefine(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	group := h.namespace + ".example.com"
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
	h.ok("install", "gadgets", chart)
	h.ok("uninstall", "gadgets")
}
