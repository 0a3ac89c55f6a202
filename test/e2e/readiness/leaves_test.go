// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// leaf returns a pod in a layer of its own, on which no other layer depends.
func leaf(name string, annotations ...string) charts.Object {
	return charts.Pod(name, name, annotations...)
}

// failingPod returns a pod that fails permanently as soon as it runs.
func failingPod(name string, annotations ...string) charts.Object {
	pod := leaf(name, append(annotations, "devcluster/pod: fail")...)
	pod.PodSpec = "restartPolicy: Never"
	return pod
}

// TestFailedLeafEndsWait checks that Helm stops waiting for all leaves when one of them fails.
func TestFailedLeafEndsWait(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, failingPod("broken", "devcluster/after: 1s"), leaf("hanging", "devcluster/pod: never"))
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered", "--timeout", "10m"}, "Pod/broken failed: ", "not ready yet when the operation ended: Pod/hanging")
}

// TestNoNodeStartsAfterFailedLeaf checks that no other node of the graph starts after a leaf
// has failed, as after any other failure.
func TestNoNodeStartsAfterFailedLeaf(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, failingPod("broken"),
		leaf("slow", "devcluster/after: 4s", "helm.sh/readiness-timeout: 50s"), charts.Object{Name: "after", Layer: "after", DependsOn: "slow"})
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered"}, "Pod/broken failed: ", "skipped (blocked by this failure): app:after")
	recorded := h.ReadTrace(t)
	if len(recorded["ConfigMap/after"]) > 0 {
		t.Error("a node was started after a leaf had failed")
	}
	if recorded.Ready("Pod/slow").IsZero() {
		t.Error("a node that was applied was not followed to its end")
	}
}

// TestRejectedResourceIsNamed checks that the error about a resource that the server rejects
// names the resource, even if the server's message does not.
func TestRejectedResourceIsNamed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, charts.Object{Name: "good", Layer: "first"}, charts.Object{Name: "Bad_Name", Layer: "first"}, charts.Last("first"))
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered", "--disable-openapi-validation"}, "ConfigMap/Bad_Name could not be applied: ", `layer "first" of chart app`, "skipped (blocked by this failure): app:last")
}

// changeWhen calls act, which changes the cluster, as soon as reached returns true for a pod.
func changeWhen(tb testing.TB, h *harness.Helm, name string, reached func(*corev1.Pod) bool, act func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	done := make(chan struct{})
	tb.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			pod, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil && reached(pod) {
				if err := act(ctx); err != nil && ctx.Err() == nil {
					tb.Error(err)
				}
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

func podIsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestLayerNeedsAllResourcesReadyAtOnce checks that the next layer starts only when all
// resources of a layer are ready at the same time: one that was ready earlier must be ready
// still.
func TestLayerNeedsAllResourcesReadyAtOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, charts.Pod("quick", "first"), charts.Pod("slow", "first", "devcluster/after: 3s"), charts.Last("first"))
	pods := h.Cluster.Client().CoreV1().Pods(h.Namespace)
	annotate := func(value string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := pods.Patch(ctx, "quick", types.MergePatchType, []byte(`{"metadata":{"annotations":{"devcluster/pod":"`+value+`"}}}`), metav1.PatchOptions{})
			return err
		}
	}
	changeWhen(t, h, "quick", podIsReady, annotate("never"))
	changeWhen(t, h, "slow", podIsReady, func(ctx context.Context) error {
		_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Get(ctx, "last", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Error("the next layer was started, though not all of the first one was ready")
		}
		return annotate("ready")(ctx)
	})
	h.MustRun("install", "rel", chart, "--wait=ordered")
}

// TestLeafMustBeReadyAtEnd checks that an install fails if a leaf is deleted after it was
// ready.
func TestLeafMustBeReadyAtEnd(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, leaf("gone"), leaf("slow", "devcluster/after: 3s"), charts.Object{Name: "after", Layer: "after", DependsOn: "slow"})
	changeWhen(t, h, "gone", podIsReady, func(ctx context.Context) error {
		return h.Cluster.Client().CoreV1().Pods(h.Namespace).Delete(ctx, "gone", metav1.DeleteOptions{})
	})
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered", "--timeout", "8s"}, "Pod/gone was not ready when the operation timed out after 8s: deleted while waiting for it")
}

// TestSecretsAreNotPrinted checks that the values of Secrets are not printed if logs, statuses
// or the server's messages contain them.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	const hook, odd, refused, found = "hook-s3cret-value", "odd-s3cret-value", "Refused-s3cret", "found-s3cret-value"
	secret := func(name, annotations, data string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n" + data + "\n"
	}
	secrets := secret("hook", "helm.sh/hook: pre-install", "stringData: {a: "+hook+"}") +
		secret("odd", "helm.sh/layer: secrets", "data: {none: null, a: "+base64.StdEncoding.EncodeToString([]byte(odd))+"}") +
		secret("plain", "helm.sh/layer: secrets", "stringData: {a: "+refused+", b: "+found+"}")
	logging := leaf("logging", "helm.sh/readiness-timeout: 3s", "devcluster/pod: crash-loop", `devcluster/log: "`+hook+" and "+odd+`"`).Manifest()
	gadget := "---\napiVersion: v1\nkind: Service\nmetadata: {name: gadget, annotations: {helm.sh/layer: gadget, helm.sh/readiness-timeout: 3s, " +
		"helm.sh/readiness-success: '{.conditions[0].message} == ok'}}\nspec: {ports: [{port: 80}]}\n"
	after := charts.Object{Name: "after", DependsOn: "logging, gadget"}.Manifest()
	service := "---\napiVersion: v1\nkind: Service\nmetadata: {name: wrong, annotations: {helm.sh/layer: wrong}}\nspec: {type: " + refused + ", ports: [{port: 80}]}\n"

	for name, template := range map[string]string{"log and status": secrets + logging + gadget + after, "refusal": secrets + service} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			if name == "log and status" {
				changeWhen(t, h, "logging", func(*corev1.Pod) bool { return true }, func(ctx context.Context) error {
					services := h.Cluster.Client().CoreV1().Services(h.Namespace)
					for ctx.Err() == nil {
						_, err := services.Patch(ctx, "gadget", types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"X","status":"False","reason":"R","message":"`+found+
							`","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`), metav1.PatchOptions{}, "status")
						if err == nil || !apierrors.IsNotFound(err) {
							return err
						}
						time.Sleep(10 * time.Millisecond)
					}
					return nil
				})
			}
			chart := charts.WriteTemplate(t, template)
			r := h.Run("install", "rel", chart, "--wait=ordered", "--disable-openapi-validation")
			said := r.Stderr + h.MustRun("status", "rel", "--show-desc").Stdout
			if r.ExitCode != 1 || !strings.Contains(said, "******") {
				t.Errorf("exit code %d\n%s", r.ExitCode, said)
			}
			for _, text := range []string{hook, odd, refused, found} {
				if strings.Contains(said, text) {
					t.Errorf("%s is printed:\n%s", text, said)
				}
			}
		})
	}
}
