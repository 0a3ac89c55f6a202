// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"reflect"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// TestCreateReturnsStates checks that creation returns the states of the created objects,
// and does not modify the given objects.
func TestCreateReturnsStates(t *testing.T) {
	for _, hook := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			api := fakeapi.NewWritableAPI(t)
			api.Fault = fakeapi.Forbid("create", "configmaps/b")
			api.Mutate = func(created *unstructured.Unstructured) {
				if created.GetName() == "" {
					created.SetName("generated")
				}
			}
			manifests := []string{"{apiVersion: v1, kind: Pod, metadata: {generateName: gen}}", fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("b", "")}
			list := fakeapi.Infos(t, manifests...)
			create := newWriter(t, api).Create
			if hook {
				create = newWriter(t, api).CreateHook
			}
			states, err := create(t.Context(), list)
			if err == nil || len(states) != 2 {
				t.Fatalf("got %v, %v", states, err)
			}
			for i, name := range []string{"generated", "a"} {
				if state := states.Of(list[i]); state.Name != name || object.UID(state) == "" || object.UID(state) != api.Get(state).GetUID() {
					t.Errorf("got %s with the state %v", state.Name, state.Object)
				}
			}
			if states.Of(list[2]) != list[2] {
				t.Error("an object that was not created has a state")
			}
			if !reflect.DeepEqual(list, fakeapi.Infos(t, manifests...)) {
				t.Errorf("the objects have changed: %v", list)
			}
		})
	}
}
