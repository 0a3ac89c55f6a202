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
// returned for the create request. If the server did not answer, the owner decides.
func TestWhyNotCreated(t *testing.T) {
	configMap := func(uid, releaseName string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetUID(types.UID(uid))
		if releaseName != "" {
			if err := object.SetOwner(kube.ResourceList{{Object: u}}, object.Owner{Name: releaseName, Namespace: "ns"}); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	for _, c := range []struct {
		name, answered string // the UID in the answer; empty if there was no answer
		live           *unstructured.Unstructured
		want           string
	}{
		{"same object", "1", configMap("1", "rel"), ""},
		{"same object, labels removed", "1", configMap("1", ""), ""},
		{"another object", "1", configMap("2", "rel"), "another object"},
		{"no answer", "", configMap("1", "rel"), ""},
		{"no answer, owned by another release", "", configMap("1", "other"), "not labelled as owned"},
		{"no answer, not owned", "", configMap("1", ""), "not labelled as owned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(Config{Owner: object.Owner{Name: "rel", Namespace: "ns"}})
			got := a.WhyNotCreated(&object.Info{Object: configMap(c.answered, "rel")}, c.live)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
