// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExpectFullChart checks that the release of a charts.FullChart is deployed, that its objects
// have the value of the last revision, and that no hooks are left except those that their
// policies keep.
func (h *Helm) ExpectFullChart(tb testing.TB) {
	tb.Helper()
	h.ExpectDeployed(tb)
	h.expectNoHooks(tb)
	value := fmt.Sprint(h.LastRevision(tb, "rel").Config["value"])
	for id, o := range h.ReleaseObjects(tb, "rel") {
		if !strings.HasSuffix(id, "-"+value) && ValueOf(o) != value {
			tb.Errorf("%s has the value %s, want %s", id, ValueOf(o), value)
		}
	}
}

// ExpectNoFullChart checks that nothing is left of the release of a charts.FullChart.
func (h *Helm) ExpectNoFullChart(tb testing.TB) {
	tb.Helper()
	h.ExpectObjects(tb, "rel")
	h.expectNoHooks(tb)
	h.ExpectNoReleases(tb)
}

// expectNoHooks checks that only the hooks that their policies keep are left.
func (h *Helm) expectNoHooks(tb testing.TB) {
	tb.Helper()
	for _, kind := range []string{"ConfigMap", "Job"} {
		list, err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).List(tb.Context(), metav1.ListOptions{})
		NoError(tb, err)
		for _, item := range list.Items {
			kept := item.GetName() == "of-hooks" || item.GetName() == "kube-root-ca.crt"
			if !kept && item.GetAnnotations()["meta.helm.sh/release-name"] == "" {
				tb.Errorf("%s/%s is left of hooks", kind, item.GetName())
			}
		}
	}
}
