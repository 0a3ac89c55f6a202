// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestAllocations checks that comparing an unchanged object with its declaration does not
// allocate, because this is done for every object of a release.
func TestAllocations(t *testing.T) {
	declared := fakeapi.Info(t, fakeapi.ConfigMap("a", "x: i"))
	live := fakeapi.Info(t, fakeapi.ConfigMap("a", "x: i, foreign: z")).Object.(*unstructured.Unstructured)
	got := testing.AllocsPerRun(10, func() {
		p, err := Compute(declared, declared.Object, live, false)
		if err != nil {
			t.Fatal(err)
		}
		if !p.IsEmpty() {
			t.Errorf("there is a patch: %s", p.Data)
		}
	})
	if got > 0 {
		t.Errorf("%.0f allocations, want none", got)
	}
}
