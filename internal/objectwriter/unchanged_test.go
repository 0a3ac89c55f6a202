// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestApplyIgnoresChangesByOthers checks that an object is reported as unchanged if a
// controller writes its status between the read and a patch that changes nothing.
func TestApplyIgnoresChangesByOthers(t *testing.T) {
	// The server removes one annotation, so Apply sends a patch each time.
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {some: thing}}"
	const declared = "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {some: thing, unwanted: thing}}"
	for _, c := range []struct {
		name, there, target string
		unchanged           bool
	}{
		{name: "nothing", there: pod + "}", target: declared + "}", unchanged: true},
		{name: "a status", there: pod + ", status: {phase: Pending}}", target: declared + "}", unchanged: true},
		{name: "a status that is declared", there: pod + ", status: {phase: Pending}}", target: declared + ", status: {phase: Pending}}"},
		{name: "the object itself", there: pod + "}", target: declared + ", spec: {nodeName: there}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Mutate = func(object *unstructured.Unstructured) {
					unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "unwanted")
				}
				api.Have(c.there)
				api.Fault = func(asked fakeapi.ReceivedCall) error {
					if asked.Verb == "patch" {
						api.Have(pod + ", status: {phase: Running}}")
					}
					return nil
				}
				list := fakeapi.Infos(t, c.target)
				applied, err := newWriter(t, api).Apply(t.Context(), list, ApplyOptions{Originals: fakeapi.Infos(t, c.there)})
				if err != nil {
					t.Fatal(err)
				}
				if got := api.Requests(); !slices.Equal(got, []string{"get pods/a", "patch pods/a"}) {
					t.Errorf("requests %q", got)
				}
				want, other := applied.Updated, applied.Unchanged
				if c.unchanged {
					want, other = other, want
				}
				if !slices.Equal(fakeapi.Names(want), []string{"Pod/a"}) || len(other) > 0 {
					t.Errorf("changed %q, unchanged %q", fakeapi.Names(applied.Updated), fakeapi.Names(applied.Unchanged))
				}
			})
		})
	}
}
