// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestAllUnreadyResourcesAreReported checks the error if several resources, in several nodes
// of the graph, are not ready.
func TestAllUnreadyResourcesAreReported(t *testing.T) {
	t.Parallel()
	other := func(name, layer, play string) string {
		return strings.NewReplacer("name: web", "name: "+name, "annotations: {",
			"annotations: {helm.sh/layer: "+layer+", helm.sh/readiness-timeout: LIMIT, ").Replace(barePod(play))
	}
	runReadiness(t, "several", []readinessCase{{
		name: "nodes and resources", manifest: barePod(never), fails: true,
		beside: other("beside", "tested", noImage) + other("fine", "tested", "") + other("apart", "elsewhere", crashes) +
			charts.ConfigMap("after-apart", "helm.sh/layer: after", "depends-on.helm.sh/layers: elsewhere") +
			charts.ConfigMap("after-next", "depends-on.helm.sh/layers: next"),
	}})
}

// TestFailureIsReportedBeforeCleanup checks that a failed install with --atomic prints the
// cause before it deletes objects, and that the description of a failed release contains the
// cause.
func TestFailureIsReportedBeforeCleanup(t *testing.T) {
	t.Parallel()
	s := newCaseRun(t, readinessCase{manifest: barePod(noImage), fails: true, args: []string{"--atomic"}})
	r := s.install(t)
	if r.ExitCode != 1 {
		t.Errorf("exit code %d, want 1", r.ExitCode)
	}
	told, cleaned := strings.Index(r.Stderr, "ImagePull"), strings.Index(r.Stderr, "deleting")
	if failed := strings.Index(r.Stderr, "app:tested failed"); failed < 0 || told < 0 || cleaned < failed || cleaned < told {
		t.Errorf("the failure is not told before the cleanup:\n%s", r.Stderr)
	}
	s = newCaseRun(t, readinessCase{manifest: barePod(noImage), fails: true})
	s.install(t)
	status := s.MustRun("status", "rel", "--show-desc").Stdout
	harness.ExpectContains(t, status, "STATUS: failed", "Pod", "web", "ImagePull")
}

// TestFailureWithoutReadPermissions checks the error if the user is not allowed to read the
// pods and events that show the cause.
func TestFailureWithoutReadPermissions(t *testing.T) {
	t.Parallel()
	runReadiness(t, "permission", []readinessCase{{
		name: "to read pods and events is missing", manifest: workload{kind: "Deployment", play: noImage}.manifest(), args: limitedUser, fails: true,
		before: func(tb testing.TB, s *caseRun) { tb.Helper(); s.allowOnly(tb, "secrets", "configmaps", "deployments") },
	}})
}

// TestFailureAsJSON checks the JSON form of the error of a failed operation.
func TestFailureAsJSON(t *testing.T) {
	t.Parallel()
	s := newCaseRun(t, readinessCase{
		manifest: workload{kind: "Job", play: exitsOnce, spec: []string{"backoffLimit: 0"}}.manifest(), args: []string{"-o", "json"},
	})
	r := s.install(t)
	if r.ExitCode != 1 {
		t.Errorf("exit code %d, want 1", r.ExitCode)
	}
	var printed struct {
		Info    struct{ Status, Description string }
		Failure struct {
			Summary      string
			NeverStarted []string
			Resources    []struct {
				Resource, Namespace, File, Node, State, Reason, Message string
				WaitedSeconds                                           float64
				Causes                                                  []struct {
					Object, Container, Reason, Message string
					Log                                []string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &printed); err != nil {
		t.Fatalf("%v in\n%s", err, r.Stdout)
	}
	if len(printed.Failure.Resources) != 1 || len(printed.Failure.Resources[0].Causes) != 1 {
		t.Fatalf("want one resource with one cause:\n%s", r.Stdout)
	}
	resource := printed.Failure.Resources[0]
	cause := resource.Causes[0]
	if resource.WaitedSeconds <= 0 {
		t.Errorf("the time waited is %v s", resource.WaitedSeconds)
	}
	for what, pair := range map[string][2]string{
		"status":      {printed.Info.Status, "failed"},
		"description": {printed.Info.Description, `Release "rel" failed: ` + printed.Failure.Summary},
		"resource":    {resource.Resource, "Job/web"},
		"namespace":   {resource.Namespace, s.Namespace},
		"file":        {resource.File, "app/templates/tested.yaml"},
		"node":        {resource.Node, "app:tested"},
		"state":       {resource.State, "Failed"},
		"reason":      {resource.Reason, "BackoffLimitExceeded"},
		"container":   {cause.Container, "main"},
		"log":         {strings.Join(cause.Log, "\n"), "migration 0007 failed: column exists"},
		"the rest":    {strings.Join(printed.Failure.NeverStarted, " "), "app:next"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
		}
	}
}

// TestUnorderedWaitReportsCauses checks that an install with --wait, without an order, fails
// with the error of stock Helm, and also prints the causes.
func TestUnorderedWaitReportsCauses(t *testing.T) {
	t.Parallel()
	args := []string{"--wait=true", "--timeout", "LIMIT"}
	runReadiness(t, "plain wait", []readinessCase{
		{name: "for a crash loop", manifest: workload{kind: "Deployment", play: crashes}.manifest(), leaf: true, args: args, annotations: []string{noTimeout}, fails: true},
		{
			name: "for a Job", manifest: workload{kind: "Job", play: exitsOnce, spec: []string{"backoffLimit: 0"}}.manifest(), leaf: true,
			args: []string{"--wait=true", "--wait-for-jobs"}, annotations: []string{noTimeout}, fails: true,
		},
		{
			name: "for a LoadBalancer without an address", leaf: true, args: args, annotations: []string{noTimeout}, fails: true,
			manifest: "{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {devcluster/load-balancer: pending}}, spec: {type: LoadBalancer, ports: [{port: 80}]}}",
		},
	})
}
