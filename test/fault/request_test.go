// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http/httptest"
	"testing"
)

func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ method, target, want string }{
		{"GET", "/version", "get | | | | |"},
		{"GET", "/apis", "get | | | | |"},
		{"GET", "/apis/apps/v1", "get | | | | |"},
		{"GET", "/api/v1/namespaces", "list | |namespaces | | |"},
		{"GET", "/api/v1/namespaces/shop", "get | |namespaces | | |shop"},
		{"PUT", "/api/v1/namespaces/shop/finalize", "update | |namespaces |finalize | |shop"},
		{"GET", "/api/v1/namespaces/shop/pods", "list | |pods | |shop |"},
		{"GET", "/api/v1/namespaces/shop/pods?watch=true", "watch | |pods | |shop |"},
		{"GET", "/api/v1/pods?watch=1", "watch | |pods | | |"},
		{"GET", "/api/v1/pods?watch=false", "list | |pods | | |"},
		{"GET", "/api/v1/namespaces/shop/pods/a/log", "get | |pods |log |shop |a"},
		{"POST", "/apis/apps/v1/namespaces/shop/deployments", "create |apps |deployments | |shop |"},
		{"PATCH", "/apis/apps/v1/namespaces/shop/deployments/a/status", "patch |apps |deployments |status |shop |a"},
		{"DELETE", "/apis/apps/v1/namespaces/shop/deployments/a", "delete |apps |deployments | |shop |a"},
		{"DELETE", "/apis/apps/v1/namespaces/shop/deployments", "deletecollection |apps |deployments | |shop |"},
		{"GET", "/apis/storage.k8s.io/v1/storageclasses/wait", "get |storage.k8s.io |storageclasses | | |wait"},
	} {
		d := describe(httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, nil))
		got := fmt.Sprintf("%s |%s |%s |%s |%s |%s", d.Verb, d.Group, d.Resource, d.Subresource, d.Namespace, d.Name)
		if got != tt.want {
			t.Errorf("%s %s is %q, want %q", tt.method, tt.target, got, tt.want)
		}
	}
}
