// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// readinessCase is a resource under test, with the expected result of waiting for it. The
// resource is in the layer "tested", on which ConfigMap/next depends, so the creation of
// ConfigMap/next shows when Helm considers the resource ready.
type readinessCase struct {
	name string
	// manifest is the manifest of the resource. NAMESPACE in it stands for the test's
	// namespace.
	manifest string
	// annotations contains annotations of the resource, as lines of YAML. If they do not
	// contain a readiness timeout, writeChart adds one.
	annotations []string
	// beside contains the manifests of other objects of the chart.
	beside string
	// leaf is true if the resource has no dependents. ConfigMap/next is then a post-install
	// hook, which is created when everything is ready.
	leaf bool
	// before prepares the cluster. play runs while helm waits, and changes the cluster.
	before func(tb testing.TB, s *caseRun)
	play   func(ctx context.Context, s *caseRun) error
	args   []string
	env    []string
	// fails is true if the resource does not become ready. The expected error is in the golden
	// file, unless says is set.
	fails bool
	// timeout is the readiness timeout of a case that fails.
	timeout string
	// ready is the state in which the resource is ready: ConfigMap/next must not be created
	// before the resource reaches it. The default is harness.Snapshot.Ready for the kind.
	ready harness.State
	// through is a state that the resource must have reached before it is ready.
	through harness.State
	// never is a state that the resource must not have reached before ConfigMap/next is
	// created.
	never harness.State
	// says contains texts that stderr must contain, silent contains texts that it must not
	// contain.
	says, silent []string
	// unwatched is true if helm must not watch resources of this kind.
	unwatched bool
}

// always is the state of any object.
func always(*unstructured.Unstructured) bool { return true }

// sufficientTimeout is longer than any resource needs to become ready.
const sufficientTimeout = "40s"

// runReadiness runs the cases in parallel. The names of their golden files begin with group.
func runReadiness(t *testing.T, group string, cases []readinessCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, group)
		})
	}
}

func (c readinessCase) check(t *testing.T, group string) {
	if c.fails {
		c.checkFailure(t, goldenFile(group+" "+c.name))
		return
	}
	s := newCaseRun(t, c)
	if c.before != nil {
		c.before(t, s)
	}
	r := s.install(t)
	s.checkOutput(t, r.Stderr)
	if r.ExitCode != 0 {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
	}
	s.checkWaited(t)
	if c.unwatched {
		s.checkUnwatched(t)
	}
}

// checkOutput checks that stderr contains the texts in c.says and none of those in c.silent.
func (c readinessCase) checkOutput(tb testing.TB, stderr string) {
	tb.Helper()
	for _, want := range c.says {
		if !strings.Contains(stderr, want) {
			tb.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	}
	for _, unwanted := range c.silent {
		if strings.Contains(stderr, unwanted) {
			tb.Errorf("stderr says %q:\n%s", unwanted, stderr)
		}
	}
}

// install installs the chart, and runs the play of the case meanwhile.
func (s *caseRun) install(tb testing.TB) harness.Result {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	played := make(chan error, 1)
	if s.play == nil {
		played <- nil
	} else {
		go func() { played <- s.play(ctx, s) }()
	}
	args := append([]string{"install", "rel", s.chart, "--wait=ordered", "--timeout", "60s"}, s.args...)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "NAMESPACE", s.Namespace)
	}
	r := s.Run(args...)
	cancel()
	if err := <-played; err != nil {
		tb.Errorf("what was to happen while helm waits did not: %v\n%s", err, r.Stderr)
	}
	return r
}

// writeChart writes the chart of the case, which contains the resource tested, and returns its
// directory.
func (c readinessCase) writeChart(tb testing.TB, tested *unstructured.Unstructured) string {
	tb.Helper()
	manifest, err := yaml.Marshal(c.annotated(tb, tested))
	harness.NoError(tb, err)
	next := charts.ConfigMap("next", "helm.sh/layer: next", "depends-on.helm.sh/layers: tested")
	if c.leaf {
		next = charts.ConfigMap("next", "helm.sh/hook: post-install")
	}
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml": charts.Metadata, "templates/tested.yaml": string(manifest), "templates/next.yaml": next,
		"templates/beside.yaml": c.beside,
	})
}

// annotated returns the resource with the annotations of the case. It is not an Unstructured,
// because the values of annotations can be lists.
func (c readinessCase) annotated(tb testing.TB, tested *unstructured.Unstructured) map[string]any {
	tb.Helper()
	annotations := map[string]any{"helm.sh/layer": "tested"}
	for key, value := range tested.GetAnnotations() {
		annotations[key] = value
	}
	harness.NoError(tb, yaml.Unmarshal([]byte(strings.Join(c.annotations, "\n")), &annotations))
	const key = "helm.sh/readiness-timeout"
	switch timeout, said := annotations[key]; {
	case said && timeout == nil:
		delete(annotations, key)
	case !said && c.timeout != "":
		annotations[key] = c.timeout
	case !said:
		annotations[key] = sufficientTimeout
	}
	content := tested.DeepCopy().Object
	content["metadata"].(map[string]any)["annotations"] = annotations
	return content
}

// noTimeout is an entry for readinessCase.annotations. With it, the resource has no readiness
// timeout.
const noTimeout = "helm.sh/readiness-timeout: null"

// version is a version of the resource under test, from the audit log.
type version struct {
	received time.Time
	object   *unstructured.Unstructured
	text     []byte
}

// versions returns the versions of the resource under test, from the first one that the
// release wrote.
func (s *caseRun) versions(tb testing.TB) []version {
	tb.Helper()
	gvr := harness.GuessResource(s.tested.GetAPIVersion(), s.tested.GetKind())
	var list []version
	for _, e := range s.Cluster.Audit(tb) {
		if e.Group != gvr.Group || e.Resource != gvr.Resource || e.Namespace != s.tested.GetNamespace() ||
			e.Stage != cluster.StageComplete || e.Code >= 300 || len(e.Response) == 0 || e.Verb == "delete" ||
			e.Subresource != "" && e.Subresource != "status" {
			continue
		}
		v := version{received: e.Received, object: &unstructured.Unstructured{}, text: e.Response}
		if err := json.Unmarshal(e.Response, &v.object.Object); err != nil {
			tb.Fatalf("%s %s: %v", e.Verb, e.URI, err)
		}
		_, ours := v.object.GetAnnotations()["helm.sh/layer"]
		if v.object.GetName() == s.tested.GetName() && (ours || len(list) > 0) {
			list = append(list, v)
		}
	}
	return list
}

// nextCreated returns the time at which ConfigMap/next was created.
func (s *caseRun) nextCreated(tb testing.TB) time.Time {
	tb.Helper()
	return s.ReadTrace(tb).Created("ConfigMap/next")
}

// checkWaited checks with the audit log that ConfigMap/next was created after the resource was
// ready, and checks the states through and never of the case.
func (s *caseRun) checkWaited(tb testing.TB) {
	tb.Helper()
	next := s.nextCreated(tb)
	if next.IsZero() {
		tb.Error("what depends on it was not created")
		return
	}
	versions := s.versions(tb)
	for _, v := range versions {
		if s.never != nil && v.received.Before(next) && s.never(v.object) {
			tb.Errorf("what depends on it was created at %s, after it had reached a state that must not be waited for at %s", next, v.received)
		}
	}
	through := s.through == nil
	for _, v := range versions {
		if !through {
			through = s.through(v.object)
		}
		if !s.isReady(tb, v) {
			continue
		}
		if !through {
			tb.Error("it was ready without having been in the state that the case is about")
		}
		if next.Before(v.received) {
			tb.Errorf("what depends on it was created at %s, before it was ready at %s", next, v.received)
		}
		return
	}
	tb.Error("it was never ready")
}

func (s *caseRun) isReady(tb testing.TB, v version) bool {
	tb.Helper()
	if s.ready != nil {
		return s.ready(v.object)
	}
	var stored harness.Snapshot
	harness.NoError(tb, json.Unmarshal(v.text, &stored))
	switch kind := s.tested.GetKind(); kind {
	case "DaemonSet":
		wanted := harness.IntAt(v.object, "status.desiredNumberScheduled")
		return wanted > 0 && harness.IntAt(v.object, "status.numberReady") >= wanted &&
			stored.Status.ObservedGeneration >= stored.Metadata.Generation
	case "CustomResourceDefinition":
		return stored.Condition("Established")
	case "APIService":
		return stored.Condition("Available")
	case "ReplicaSet", "ReplicationController":
		return stored.Ready("StatefulSet")
	default:
		return stored.Ready(kind)
	}
}

// checkUnwatched checks that helm did not watch resources of the kind.
func (s *caseRun) checkUnwatched(tb testing.TB) {
	tb.Helper()
	gvr := harness.GuessResource(s.tested.GetAPIVersion(), s.tested.GetKind())
	for _, e := range s.Cluster.Audit(tb) {
		if e.Verb == "watch" && e.Group == gvr.Group && e.Resource == gvr.Resource &&
			e.Namespace == s.Namespace && strings.HasPrefix(e.UserAgent, "Helm/") {
			tb.Errorf("it is ready on creation, and was watched all the same: %s", e.URI)
		}
	}
}
