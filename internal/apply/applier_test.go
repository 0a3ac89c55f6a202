// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/object"
)

// TestWhyNotCreated compares an object in the cluster with the object that the server
// returned for the create request. If there was no response, the owner decides.
func TestWhyNotCreated(t *testing.T) {
	configMap := func(uid, releaseName string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetUID(types.UID(uid))
		if releaseName != "" {
			if err := object.SetOwner(kube.ResourceList{{Object: u}}, object.OwningRelease{Name: releaseName, Namespace: "ns"}); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	for _, c := range []struct {
		name, returned string // the UID in the response; empty if there was no response
		live           *unstructured.Unstructured
		want           string
	}{
		{"same object", "1", configMap("1", "rel"), ""},
		{"same object, labels removed", "1", configMap("1", ""), ""},
		{"another object", "1", configMap("2", "rel"), "another object"},
		{"no response", "", configMap("1", "rel"), ""},
		{"no response, owned by another release", "", configMap("1", "other"), "not labeled as owned"},
		{"no response, not owned", "", configMap("1", ""), "not labeled as owned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(ApplierConfig{Owner: object.OwningRelease{Name: "rel", Namespace: "ns"}})
			got := a.WhyNotCreated(&object.Info{Object: configMap(c.returned, "rel")}, c.live)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
