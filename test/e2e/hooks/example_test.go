// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/harness"
)

// TestHooksExample installs the example chart with parallel hooks, and checks the plan of its
// hooks.
func TestHooksExample(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := harness.ExampleChart(t, "hooks")
	const want = `
pre-install, pre-upgrade hooks
  weight -1
    - ServiceAccount/release-name-migrations (hooks)
  weight 0
    in parallel
    - Job/release-name-migrate-accounts (hooks)
    - Job/release-name-migrate-orders (hooks)
    - Job/release-name-migrate-payments (hooks)
    - Job/release-name-migrate-stock (hooks)
    - Job/release-name-schema-1-create (hooks/schema), then Job/release-name-schema-2-fill (hooks/schema)
    then one after the other
    - Job/release-name-legacy-export (hooks/legacy)
    - Job/release-name-legacy-import (hooks/legacy)

batch 1
`
	if got := h.MustRun("dag", chart).Stdout; !strings.Contains(got, want) {
		t.Errorf("got:\n%s\nwant in it:\n%s", got, want)
	}
	for _, action := range []string{"install", "upgrade"} {
		h.MustRun(action, "demo", chart)
		jobs, err := h.Cluster.Client().BatchV1().Jobs(h.Namespace).List(t.Context(), metav1.ListOptions{})
		harness.NoError(t, err)
		var left []string
		for _, job := range jobs.Items {
			if job.Status.CompletionTime == nil {
				t.Errorf("%s: the Job %s is not complete", action, job.Name)
			}
			left = append(left, job.Name)
		}
		slices.Sort(left)
		if want := []string{"demo-legacy-export", "demo-legacy-import", "demo-schema-1-create", "demo-schema-2-fill"}; !slices.Equal(left, want) {
			t.Errorf("%s: the Jobs %q are left, want %q", action, left, want)
		}
	}
	h.MustRun("uninstall", "demo")
}
