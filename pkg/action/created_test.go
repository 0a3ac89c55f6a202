// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhyNotCreated(t *testing.T) {
	object := func(uid, releaseName string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetUID(types.UID(uid))
		if releaseName != "" {
			u.SetLabels(map[string]string{managedByLabel: managedByHelm})
			u.SetAnnotations(map[string]string{releaseNameAnnotation: releaseName, releaseNamespaceAnnotation: "ns"})
		}
		return u
	}
	for _, c := range []struct {
		name, answered string
		live           *unstructured.Unstructured
		want           string
	}{
		{"the same", "1", object("1", "rel"), ""},
		{"the same, and its marks were taken away", "1", object("1", ""), ""},
		{"another one", "1", object("2", "rel"), "another object"},
		{"no answer", "", object("1", "rel"), ""},
		{"no answer, and it is another release's", "", object("1", "other"), "marks"},
		{"no answer, and it is nobody's", "", object("1", ""), "marks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &rollout{name: "rel", namespace: "ns"}
			got := r.whyNotCreated(&kubeInfo{Object: object(c.answered, "rel")}, c.live)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
