// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// Annotations for the pods of hooks: the pod fails, or runs longer than any test.
var (
	failing = []string{"devcluster/pod: fail"}
	running = []string{"devcluster/pod: complete", "devcluster/after: 1h"}
)

// existingObjects returns the Jobs, Pods and ConfigMaps in the namespace, by "Kind/name".
func existingObjects(tb testing.TB, h *harness.Helm) map[string]types.UID {
	tb.Helper()
	core, there := h.Cluster.Client().CoreV1(), map[string]types.UID{}
	jobs, err := h.Cluster.Client().BatchV1().Jobs(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	pods, err2 := core.Pods(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	maps, err3 := core.ConfigMaps(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	harness.NoError(tb, errors.Join(err, err2, err3))
	for _, o := range jobs.Items {
		there["Job/"+o.Name] = o.UID
	}
	for _, o := range pods.Items {
		there["Pod/"+o.Name] = o.UID
	}
	for _, o := range maps.Items {
		there["ConfigMap/"+o.Name] = o.UID
	}
	return there
}

// objectExists reports whether a Job, Pod or ConfigMap exists.
func objectExists(tb testing.TB, h *harness.Helm, id string) bool {
	tb.Helper()
	_, there := existingObjects(tb, h)[id]
	return there
}

// awaitObjects waits until objects exist.
func awaitObjects(tb testing.TB, h *harness.Helm, ids ...string) {
	tb.Helper()
	harness.Eventually(tb, fmt.Sprintf("that there are %s", ids), func() bool {
		there := existingObjects(tb, h)
		return !slices.ContainsFunc(ids, func(id string) bool { _, found := there[id]; return !found })
	})
}

// awaitDeleted waits until an object no longer exists.
func awaitDeleted(tb testing.TB, h *harness.Helm, id string) {
	tb.Helper()
	harness.Eventually(tb, "that there is no "+id, func() bool { return !objectExists(tb, h, id) })
}

// awaitPodPhase waits until the pods of Jobs are in a phase.
func awaitPodPhase(tb testing.TB, h *harness.Helm, phase string, jobs ...string) {
	tb.Helper()
	for _, job := range jobs {
		harness.Eventually(tb, "a pod of "+job+" that is "+phase, func() bool {
			list, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(tb.Context(), metav1.ListOptions{LabelSelector: "app=" + job})
			harness.NoError(tb, err)
			return len(list.Items) > 0 && string(list.Items[0].Status.Phase) == phase
		})
	}
}

// storedRuns returns the last run of each hook in the last stored revision, by "Kind/name" of
// the hook. It returns nil if there is no release.
func storedRuns(tb testing.TB, h *harness.Helm) map[string]release.HookExecution {
	tb.Helper()
	rel, err := h.Storage().Last("rel")
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		tb.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return runsOf(rel)
}

func runsOf(rel *release.Release) map[string]release.HookExecution {
	runs := map[string]release.HookExecution{}
	for _, hook := range rel.Hooks {
		runs[hook.Kind+"/"+hook.Name] = hook.LastRun
	}
	return runs
}

// awaitHookPhases waits until the stored release contains the hooks with a phase.
func awaitHookPhases(tb testing.TB, h *harness.Helm, phase release.HookPhase, ids ...string) {
	tb.Helper()
	harness.Eventually(tb, fmt.Sprintf("the release saying %s of %s", phase, ids), func() bool {
		runs := storedRuns(tb, h)
		for _, id := range ids {
			if runs[id].Phase != phase {
				return false
			}
		}
		return true
	})
}

// writeHooked writes a chart with subcharts, whose hooks log their start and end, and returns
// its directory. Each hook has its own template, which is named after it.
func writeHooked(tb testing.TB, top charts.Chart, subcharts ...charts.Chart) string {
	tb.Helper()
	top = withLogs(top)
	for _, sub := range subcharts {
		top.Subcharts = append(top.Subcharts, withLogs(sub))
	}
	return top.Write(tb)
}

// withLogs returns a copy of the chart whose hooks log the lines of logLines.
func withLogs(c charts.Chart) charts.Chart {
	c.APIVersion, c.TemplatePerObject, c.Objects = "v2", true, slices.Clone(c.Objects)
	for i, o := range c.Objects {
		if !strings.Contains(strings.Join(o.PodAnnotations, "\n"), "devcluster/log") {
			log := fmt.Sprintf("devcluster/log: %q", strings.Join(logLines(o), "\n"))
			c.Objects[i].PodAnnotations = append([]string{log}, o.PodAnnotations...)
		}
	}
	return c
}

// logLines returns the lines that a hook logs.
func logLines(o charts.Object) []string { return []string{o.Name + " begins", o.Name + " ends"} }
