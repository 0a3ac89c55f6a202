// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectreader

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestNothingIsReadOneByOneFromAnAPIThatIsAway checks that a failed list is not followed by
// a hundred individual requests that also fail.
func TestNothingIsReadOneByOneFromAnAPIThatIsAway(t *testing.T) {
	api := fakeapi.NewServer(t)
	api.Fail("list", http.StatusInternalServerError)
	api.Fail("get", http.StatusInternalServerError)
	client := fakeapi.Client(t, "http://127.0.0.1", &fakeapi.Transport{Handler: api})
	names := make([]string, 100)
	for n := range names {
		names[n] = fmt.Sprintf("d%d", n)
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	if _, err := New(client.Resource(deployments).Namespace("shop")).Read(t.Context(), names); err == nil {
		t.Error("no error")
	}
	if got := api.Count("get deployments"); got == 0 || got > 2*MaxSingleReads {
		t.Errorf("%d reads", got)
	}
}
