// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// migrations writes a chart with a Job whose name contains the number of the revision, like
// those of many charts. podAnnotations say what the Job does. The layer of the Job also has a
// ConfigMap, and a ConfigMap depends on the layer. A second Job, whose name never changes,
// follows.
func migrations(t *testing.T, revision int, podAnnotations ...string) string {
	t.Helper()
	value := fmt.Sprint(revision)
	return charts.Write(t,
		charts.Object{
			Kind: "Job", Name: "migrate-" + value, Layer: "migrate", PodAnnotations: podAnnotations,
			PodSpec: "terminationGracePeriodSeconds: 1",
		},
		charts.Object{Name: "beside", Layer: "migrate", Value: value},
		charts.Object{Kind: "Job", Name: "seed", Layer: "seed", DependsOn: "migrate", Annotations: []string{"revision: '" + value + "'"}},
		charts.Object{Name: "last", Layer: "last", DependsOn: "seed", Value: value})
}

// upgrade returns the arguments of an ordered upgrade to a chart.
func upgrade(chart string, more ...string) []string {
	return append([]string{"upgrade", "rel", chart, "--wait=ordered"}, more...)
}

// installAndFail installs revision 1, and then upgrades to revision 2, whose Job does not
// complete in time.
func installAndFail(t *testing.T, h *harness.Helm, podAnnotations ...string) {
	t.Helper()
	h.MustRun("install", "rel", migrations(t, 1), "--wait=ordered")
	h.ExpectFailure(t, upgrade(migrations(t, 2, podAnnotations...), "--readiness-timeout", "2s"), "Job/migrate-2 was not ready within 2s")
}

// TestEarlierJobs checks that the Job of an upgrade never runs at the same time as the Job of
// an upgrade that did not complete, and that nothing else waits for the latter.
func TestEarlierJobs(t *testing.T) {
	t.Parallel()
	const stillRunning = "app:migrate Job/migrate-2: still running since an earlier revision; Job/migrate-3 starts when it has finished"
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"of an upgrade that timed out": func(t *testing.T, h *harness.Helm) {
			installAndFail(t, h, charts.NeverReady...)
			h.MustRunWhile(t, stillRunning, func() {
				if h.Get(t, "Job/migrate-3") != nil {
					t.Error("the next Job was created")
				}
				completePods(t, h, "migrate-2")
			}, upgrade(migrations(t, 3))...)
			stopped := expectNoOverlap(t, h, "migrate-2", "migrate-3")
			if beside := h.ReadTrace(t).Since(h.Started).HelmWrites("ConfigMap/beside", "patch"); len(beside) == 0 || beside[0].Received.After(stopped) {
				t.Error("another resource of the node waited, too")
			}
			h.ExpectObjects(t, "rel", "ConfigMap/beside", "ConfigMap/last", "Job/migrate-3", "Job/seed")
		},
		"of an upgrade that was killed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", migrations(t, 1), "--wait=ordered")
			running := func() bool { return len(runningPods(t, h, "migrate-2")) > 0 }
			h.KillWhen(t, "app:migrate applied", running, upgrade(migrations(t, 2, charts.NeverReady...))...)
			h.MustRunWhile(t, stillRunning, func() { completePods(t, h, "migrate-2") }, upgrade(migrations(t, 3))...)
			expectNoOverlap(t, h, "migrate-2", "migrate-3")
		},
		"whose container cannot start": func(t *testing.T, h *harness.Helm) {
			installAndFail(t, h, "devcluster/pod: image-pull-back-off")
			h.MustRun(upgrade(migrations(t, 3))...)
			recorded := h.ReadTrace(t)
			if deleted, _ := recorded.Deleted("Job/migrate-2"); deleted.IsZero() || deleted.After(recorded.Created("Job/migrate-3")) {
				t.Errorf("it was deleted at %s, after the next Job was created", deleted)
			}
		},
		"that runs until the timeout": func(t *testing.T, h *harness.Helm) {
			installAndFail(t, h, charts.NeverReady...)
			for _, timeout := range harness.Timeouts() {
				r := h.Run(upgrade(migrations(t, 3), "--timeout", timeout)...)
				if r.ExitCode != 1 || h.Get(t, "Job/migrate-3") != nil {
					t.Fatalf("the next Job was created:\n%s", r.Stderr)
				}
				if strings.Contains(r.Stderr, "migrate-2 was still running when the operation timed out after "+timeout) {
					harness.ExpectContains(t, r.Stderr, "kubectl delete job migrate-2 --namespace "+h.Namespace, "Job/migrate-3 must not run at the same time")
					return
				}
			}
			t.Error("the error never named the Job")
		},
		"in a rollback": func(t *testing.T, h *harness.Helm) {
			installAndFail(t, h, charts.NeverReady...)
			h.Patch(t, "Job/seed", `{"metadata":{"annotations":{"revision":"2"}}}`)
			h.MustRun("rollback", "rel", "1")
			deleted, _ := h.ReadTrace(t).Deleted("Job/migrate-2")
			changes := h.ReadTrace(t).HelmWrites("Job/seed", "patch")
			if stopped := lastContainerStop(t, h, "migrate-2"); len(changes) != 1 || deleted.IsZero() || stopped.After(changes[0].Received) {
				t.Errorf("the Job was deleted at %s, its pods stopped at %s, and the other Job was changed: %+v", deleted, stopped, changes)
			}
		},
		"whose name the server rejects": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", migrations(t, 1), "--wait=ordered")
			rejected := charts.Write(t, charts.Object{Kind: "Job", Name: strings.Repeat("m", 64), Layer: "migrate"})
			h.ExpectFailure(t, upgrade(rejected), "could not be applied")
			h.MustRun(upgrade(migrations(t, 3))...)
		},
		"that has failed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", migrations(t, 1), "--wait=ordered")
			chart := migrations(t, 2, "devcluster/pod: fail")
			h.ExpectFailure(t, upgrade(chart), "Job/migrate-2 failed")
			if plan := h.Run("plan", "rel", chart, "--wait=ordered"); !strings.Contains(plan.Stdout, "+ create Job/migrate-2") || !strings.Contains(plan.Stdout, "it is deleted and created again") {
				t.Errorf("the plan does not say that the Job is created again:\n%s", plan.Stdout)
			}
			h.ExpectFailure(t, upgrade(chart), "Job/migrate-2 failed")
			if created := h.ReadTrace(t).HelmWrites("Job/migrate-2", "create"); len(created) != 2 {
				t.Errorf("the Job was created %d times, want 2", len(created))
			}
		},
	})
}

// completePods lets the containers of the pods of a Job complete.
func completePods(t *testing.T, h *harness.Helm, job string) {
	t.Helper()
	for _, pod := range runningPods(t, h, job) {
		h.Patch(t, "Pod/"+pod, `{"metadata":{"annotations":{"devcluster/pod":"complete"}}}`)
	}
}

// runningPods returns the names of the pods of a Job in which a container runs.
func runningPods(t *testing.T, h *harness.Helm, job string) []string {
	t.Helper()
	pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + job})
	harness.NoError(t, err)
	var names []string
	for _, pod := range pods.Items {
		if isRunning(&pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

func isRunning(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running != nil })
}

// expectNoOverlap checks that a Job was created after the containers of another Job had
// stopped, which must have run. It returns the time at which they had stopped.
func expectNoOverlap(t *testing.T, h *harness.Helm, earlier, later string) time.Time {
	t.Helper()
	stopped, created := lastContainerStop(t, h, earlier), h.ReadTrace(t).Created("Job/"+later)
	if created.IsZero() || created.Before(stopped) {
		t.Errorf("Job %s was created at %s, before the containers of Job %s had stopped at %s", later, created, earlier, stopped)
	}
	return stopped
}

// lastContainerStop returns the time at which the last container of a Job stopped, as the audit log
// shows it: at the first write to each pod after which no container ran, or its deletion. At
// least one container must have run.
func lastContainerStop(t *testing.T, h *harness.Helm, job string) time.Time {
	t.Helper()
	var last time.Time
	running := map[string]bool{}
	for _, e := range h.Cluster.AuditIn(t, h.Namespace) {
		if e.Resource != "pods" || e.Subresource == "binding" || e.Stage != cluster.StageComplete || e.Code >= 300 || !strings.HasPrefix(e.Name, job+"-") || len(e.Response) == 0 {
			continue
		}
		var pod corev1.Pod
		harness.NoError(t, e.DecodeResponse(&pod))
		runs := isRunning(&pod) && (e.Verb != "delete" || pod.DeletionTimestamp != nil)
		if running[e.Name] && !runs && e.Received.After(last) {
			last = e.Received
		}
		running[e.Name] = runs
	}
	if last.IsZero() {
		t.Errorf("no container of Job %s ran and stopped: %v", job, running)
	}
	return last
}
