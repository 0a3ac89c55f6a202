// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// leaf is a pod, alone in its layer, that does as the annotations say.
func leaf(name string, annotations ...string) string {
	return strings.Replace(pod(name, name, "containers: [{name: c, image: i}]"), "helm.sh/layer: "+name,
		"helm.sh/layer: "+name+"\n    "+strings.Join(annotations, "\n    "), 1)
}

// failingPod fails for good as soon as it runs.
func failingPod(name string, annotations ...string) string {
	return strings.Replace(leaf(name, append(annotations, "devcluster/pod: fail")...), "containers:", "restartPolicy: Never\n  containers:", 1)
}

// TestFailedLeafEndsTheWaiting: what nothing depends on is waited for together,
// for up to --timeout; when one of it fails there is nothing left to wait for.
func TestFailedLeafEndsTheWaiting(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := writeChart(t, map[string]string{"Chart.yaml": v3Chart, "templates/all.yaml": failingPod("broken", "devcluster/after: 1s") +
		leaf("hanging", "devcluster/pod: never")})
	r := h.run("install", "rel", chart, "--wait=ordered", "--timeout", "10m")
	if r.code != 1 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for _, want := range []string{"Pod/broken failed: ", "not ready so far when that ended the operation: Pod/hanging"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("the error does not say %q:\n%s", want, r.stderr)
		}
	}
}

// TestNothingStartsAfterALeafFailed: a failed leaf is a failure like any other.
func TestNothingStartsAfterALeafFailed(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := writeChart(t, map[string]string{"Chart.yaml": v3Chart, "templates/all.yaml": failingPod("broken") +
		leaf("slow", "devcluster/after: 4s", "helm.sh/readiness-timeout: 50s") + configMap("after", "helm.sh/layer: after", "helm.sh/depends-on/layers: slow")})
	r := h.run("install", "rel", chart, "--wait=ordered")
	if r.code != 1 || !strings.Contains(r.stderr, "Pod/broken failed: ") || !strings.Contains(r.stderr, "never started because of that: app:after") {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	recorded := readTimeline(t, h.cluster, h.namespace)
	if recorded["ConfigMap/after"] != nil {
		t.Error("a node was started after a leaf had failed")
	}
	if slow := recorded["Pod/slow"]; slow == nil || slow.ready.IsZero() {
		t.Error("a node that was applied was not followed to its end")
	}
}

// TestRefusalNamesTheResource: the server's words for a refusal need not say
// what it refused.
func TestRefusalNamesTheResource(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := writeChart(t, map[string]string{"Chart.yaml": v3Chart, "templates/all.yaml": configMap("good", "helm.sh/layer: first") +
		configMap("Bad_Name", "helm.sh/layer: first") + last})
	r := h.run("install", "rel", chart, "--wait=ordered", "--disable-openapi-validation")
	if r.code != 1 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for _, want := range []string{"ConfigMap/Bad_Name could not be applied: ", `layer "first" of chart app`, "never started because of that: app:last"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("the error does not say %q:\n%s", want, r.stderr)
		}
	}
}
