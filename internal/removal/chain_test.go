// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestChainIsRemovedInReverse checks that the resources of a chain are deleted one after another, the last
// one first.
func TestChainIsRemovedInReverse(t *testing.T) {
	var resources []sequencer.Resource
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("c%02d", 19-i)
		want = append(want, name)
		resources = append([]sequencer.Resource{{Chart: "shop", Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		}}}, resources...)
	}
	removal := OrderOf([]*sequencer.Plan{sequencer.Chain("shop", resources, "test")}, func(r *sequencer.PlannedResource) (sequencer.ID, bool) { return r.ID, true })
	var mu sync.Mutex
	var got []string
	err := removal.Execute(t.Context(), func(_ context.Context, g, _ *Group) error {
		mu.Lock()
		defer mu.Unlock()
		if g.Awaited == (g.Resources[0].ID.Name == "c00") {
			t.Errorf("%s: awaited: %t", g.Resources[0].ID, g.Awaited)
		}
		got = append(got, g.Resources[0].ID.Name)
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
