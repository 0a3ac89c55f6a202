// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/harness"
)

// TestReadinessTimeouts checks where the readiness timeout of a resource comes from: its
// annotation, the flag, the environment variable or the default. The error names the source.
func TestReadinessTimeouts(t *testing.T) {
	t.Parallel()
	pod := barePod(never)
	env := []string{"HELM_READINESS_TIMEOUT=LIMIT"}
	flag := []string{"--readiness-timeout", "LIMIT"}
	longFlag := []string{"--readiness-timeout", "30s"}
	runReadiness(t, "timeout", []readinessCase{
		{name: "of the annotation", manifest: pod, annotations: []string{"helm.sh/readiness-timeout: LIMIT"}, fails: true},
		{name: "of the annotation wins over the flag", manifest: pod, annotations: []string{"helm.sh/readiness-timeout: LIMIT"}, args: longFlag, fails: true},
		{name: "of the annotation wins over a shorter flag", manifest: barePod("devcluster/after: 3s"), args: []string{"--readiness-timeout", "1s"}},
		{name: "of the flag", manifest: pod, annotations: []string{noTimeout}, args: flag, fails: true},
		{name: "of the flag wins over the environment", manifest: pod, annotations: []string{noTimeout}, args: flag, env: []string{"HELM_READINESS_TIMEOUT=30s"}, fails: true},
		{name: "of the environment", manifest: pod, annotations: []string{noTimeout}, env: env, fails: true},
		{name: "by default", manifest: pod, annotations: []string{noTimeout}, fails: true},
		{name: "by default cut down to the timeout of the operation", manifest: pod, annotations: []string{noTimeout}, args: []string{"--timeout", "LIMIT"}, fails: true},
		{name: "of the whole operation", manifest: pod, annotations: []string{noTimeout}, args: []string{"--timeout", "LIMIT", "--readiness-timeout", "LIMIT"}, fails: true},
	})
}

// TestInvalidReadinessTimeouts checks that invalid readiness timeouts, and explicit ones that
// are longer than --timeout, are rejected before anything is changed.
func TestInvalidReadinessTimeouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		annotations, args, env, want []string
	}{
		"annotation above the timeout of the operation": {
			annotations: []string{"helm.sh/readiness-timeout: 61s"},
			want:        []string{"app/templates/tested.yaml", "Pod/web", "helm.sh/readiness-timeout", "1m1s", "1m0s", "--timeout"},
		},
		"flag above the timeout of the operation": {
			args: []string{"--readiness-timeout", "61s"}, want: []string{"readiness timeout", "1m1s", "1m0s", "--timeout"},
		},
		"environment above the timeout of the operation": {
			env: []string{"HELM_READINESS_TIMEOUT=61s"}, want: []string{"readiness timeout", "1m1s", "1m0s", "--timeout"},
		},
		"flag below zero":           {args: []string{"--readiness-timeout=-1s"}, want: []string{"--readiness-timeout", "-1s", "greater than 0"}},
		"flag without unit":         {args: []string{"--readiness-timeout", "20"}, want: []string{"readiness-timeout", `"20"`, "unit"}},
		"environment without unit":  {env: []string{"HELM_READINESS_TIMEOUT=20"}, want: []string{"HELM_READINESS_TIMEOUT", `"20"`}},
		"environment of no meaning": {env: []string{"HELM_READINESS_TIMEOUT=soon"}, want: []string{"HELM_READINESS_TIMEOUT", `"soon"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.annotations == nil {
				tt.annotations = []string{noTimeout}
			}
			s := newCaseRun(t, readinessCase{manifest: barePod(""), annotations: tt.annotations, args: tt.args, env: tt.env})
			s.ExpectRejected(t, s.install(t), tt.want...)
		})
	}
}

// TestReadinessOfLeaves checks the wait for leaves at the end of an operation, before the
// post-hooks run.
func TestReadinessOfLeaves(t *testing.T) {
	t.Parallel()
	job := func(play string) string { return workload{kind: "Job", play: play}.manifest() }
	failingJob := workload{kind: "Job", play: exitsOnce, spec: []string{"backoffLimit: 0"}}.manifest()
	completed := harness.HasCondition("Complete", "True", "")
	runReadiness(t, "leaf", []readinessCase{
		{name: "is waited for before the hooks", leaf: true, manifest: barePod(slowly)},
		{name: "is waited for as long as the operation may take", leaf: true, manifest: barePod("devcluster/after: 3s"), annotations: []string{noTimeout}, args: []string{"--readiness-timeout", "1s"}},
		{name: "is waited for no longer than its own timeout", leaf: true, manifest: barePod(never), fails: true},
		{name: "is waited for no longer than the operation may take", leaf: true, manifest: barePod(never), annotations: []string{noTimeout}, args: []string{"--timeout", "LIMIT"}, fails: true},
		{name: "a Job is waited for", leaf: true, manifest: job(slowly)},
		{name: "a Job is not waited for if that is not wanted", leaf: true, manifest: job("devcluster/after: 30s"), args: []string{"--wait-for-jobs=false"}, ready: always, never: completed},
		{name: "a Job that failed is not waited for if that is not wanted", leaf: true, manifest: failingJob, args: []string{"--wait-for-jobs=false"}, ready: always},
		{name: "a Job that failed", leaf: true, manifest: failingJob, annotations: []string{noTimeout}, fails: true},
	})
}
