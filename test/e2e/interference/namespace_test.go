// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// deleteNamespace deletes the namespace of the test. An object with a finalizer keeps the
// namespace in the phase Terminating until the end of the test.
func deleteNamespace(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	h.Apply(tb, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, finalizers: [people.example/hold]}\n")
	tb.Cleanup(func() {
		err := harness.MergePatch(context.WithoutCancel(tb.Context()), h.Resource("v1", "ConfigMap"), "theirs", `{"metadata":{"finalizers":null}}`)
		if err != nil {
			tb.Error(err)
		}
	})
	harness.NoError(tb, h.Cluster.Client().CoreV1().Namespaces().Delete(tb.Context(), h.Namespace, metav1.DeleteOptions{}))
}

// TestOthersDeleteNamespace checks that an operation during which another client deletes the
// namespace fails with an error that names the namespace. Either a request that creates an
// object or one that stores the release fails first.
func TestOthersDeleteNamespace(t *testing.T) {
	t.Parallel()
	ordered := func(verb, dir string, more ...string) []string {
		return append([]string{verb, "rel", dir, "--wait=ordered", "--timeout", "1m"}, more...)
	}
	for name, tt := range map[string]struct {
		before [][]string
		// at is the text on stderr at which the namespace is deleted. If it is empty, the
		// namespace is deleted immediately.
		at   string
		do   []string
		ends bool // the operation can succeed if the record is read in time
	}{
		"install":                    {nil, appliedApp, ordered("install", slowThreeLayers(t, "1", "40s")), false},
		"install that is atomic":     {nil, appliedApp, ordered("install", slowThreeLayers(t, "1", "40s"), "--atomic"), false},
		"install into one that goes": {nil, "", ordered("install", charts.ThreeLayers(t, "1")), false},
		"upgrade":                    {[][]string{ordered("install", charts.ThreeLayers(t, "1"))}, appliedApp, ordered("upgrade", slowThreeLayers(t, "2", "40s")), false},
		"upgrade that is atomic":     {[][]string{ordered("install", charts.ThreeLayers(t, "1"))}, appliedApp, ordered("upgrade", slowThreeLayers(t, "2", "40s"), "--atomic"), false},
		"upgrade in one that goes":   {[][]string{ordered("install", charts.ThreeLayers(t, "1"))}, "", ordered("upgrade", charts.ThreeLayers(t, "2")), false},
		"rollback": {
			[][]string{ordered("install", slowThreeLayers(t, "1", "2s")), ordered("upgrade", charts.ThreeLayers(t, "2"))},
			appliedApp, []string{"rollback", "rel", "--timeout", "1m"}, false,
		},
		"uninstall":                  {[][]string{ordered("install", charts.ThreeLayers(t, "1"))}, "app:app deleting", []string{"uninstall", "rel", "--timeout", "1m"}, true},
		"uninstall in one that goes": {[][]string{ordered("install", charts.ThreeLayers(t, "1"))}, "", []string{"uninstall", "rel", "--timeout", "1m"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			for _, args := range tt.before {
				h.MustRun(args...)
			}
			var r harness.Result
			if tt.at == "" {
				deleteNamespace(t, h)
				r = h.Run(tt.do...)
			} else {
				r = h.RunWhile(t, tt.at, func() { deleteNamespace(t, h) }, tt.do...)
			}
			if r.ExitCode == 0 && tt.ends {
				return
			}
			says := func(text string) bool { return strings.Contains(r.Stderr, text) }
			if r.ExitCode != 1 || !slices.ContainsFunc([]string{
				"in namespace " + h.Namespace + " because it is being terminated", "no longer exists: the release was uninstalled", `"rel" has no deployed releases`, "release: not found",
			}, says) {
				t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			if says("taken over") {
				t.Errorf("it blames an operation that there is not:\n%s", r.Stderr)
			}
		})
	}
}
