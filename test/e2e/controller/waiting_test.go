// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// podTemplate returns the template of a pod of the release, with an annotation that defines what it does.
func podTemplate(annotation string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}-pod, annotations: {" + annotation + "}}\nspec: {containers: [{name: c, image: x}]}\n"
}

// TestWaitStrategies deploys a pod that never becomes ready with each strategy, and uninstalls an object that is not
// deleted immediately. The flag --max-timeout shortens the timeouts.
//   - "With waitStrategy: none, Ready means that all resources were applied"
//   - "With waitStrategy: none, the uninstall does not wait until the last objects are gone"
func TestWaitStrategies(t *testing.T) {
	t.Parallel()
	e, _ := start(t, "--max-timeout", "4s")
	never := e.storeChart(t, "never", chartFiles("1.0.0", podTemplate("devcluster/pod: never")))
	e.request(t, "ordered", never+"  timeout: 1h")
	e.request(t, "unordered", never+"  timeout: 1h\n  waitStrategy: unordered")
	e.request(t, "none", never+"  waitStrategy: none")
	e.awaitReady(t, "none", "Deployed")
	e.awaitNotReady(t, "ordered", "DeploymentFailed", false, "Pod/ordered-pod")
	e.awaitEvent(t, "ordered", "Warning", "DeploymentFailed", "Pod/ordered-pod")
	e.awaitNotReady(t, "unordered", "DeploymentFailed", false, "Pod/unordered-pod")

	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.request(t, "waiting", chart)
	e.awaitReady(t, "waiting", "Deployed")
	for _, name := range []string{"none", "waiting"} {
		e.Patch(t, "ConfigMap/"+name+"-own", `{"metadata":{"finalizers":["example.com/slow"]}}`)
		t.Cleanup(func() {
			_, _ = e.Kubectl(t, "patch", "configmap", name+"-own", "--type", "merge", "--patch", `{"metadata":{"finalizers":null}}`)
		})
	}
	e.delete(t, "none")
	if e.Get(t, "ConfigMap/none-own") == nil {
		t.Error("the object does not exist any more, so this checks nothing")
	}
	harness.NoError(t, e.requests().Delete(t.Context(), "waiting", metav1.DeleteOptions{}))
	e.await(t, "waiting", harness.HasCondition("Ready", "Unknown", "Uninstalling"))
	e.awaitNotReady(t, "waiting", "RemovalFailed", false, "waiting-own: Terminating")
	e.RemoveFinalizers(t, "ConfigMap/waiting-own")
	e.awaitGone(t, "waiting")
}

// TestOperationByHand upgrades by hand to a revision that never becomes ready.
//   - "While the other operation runs, Ready is false with the reason OperationByHand"
//   - "If it has failed, the HelmRequest is stalled (FailedByHand)"
func TestOperationByHand(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", "")))
	e.awaitReady(t, "shop", "Deployed")
	dir := charts.WriteFiles(t, chartFiles("1.0.1", podTemplate("devcluster/pod: never")))
	upgrade := e.Start(t, "upgrade", "shop", dir, "--wait", "--timeout", "10s")
	e.awaitNotReady(t, "shop", "OperationByHand", false, "pending-upgrade")
	upgrade.ExpectExit(t, 1)
	e.awaitNotReady(t, "shop", "FailedByHand", true, "to deploy the request again, change it")
	e.expectHistory(t, "shop", "deployed failed")
	e.change(t, "shop", `{"values":{"v":"new"}}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded failed deployed")
}

// TestOtherDriver upgrades by hand a release that is not stored as an object. The controller notices it after the
// interval, and corrects drift to what was deployed by hand.
//   - "With other drivers, it notices it when it compares the release for the next time"
func TestOtherDriver(t *testing.T) {
	t.Parallel()
	e, _ := start(t, "--storage-driver", "secret")
	e.Env = append(e.Env, "HELM_DRIVER=secret")
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  interval: 10s\n  values: {v: one}")
	e.awaitReady(t, "shop", "Deployed")
	e.MustRun("upgrade", "shop", charts.WriteFiles(t, chartFiles("1.0.0", "")), "--set", "v=hand")
	e.awaitReady(t, "shop", "DeployedByHand")
	e.Patch(t, "ConfigMap/shop-own", `{"data":{"v":"changed"}}`)
	harness.Eventually(t, "the drift is corrected", func() bool { return e.value(t, "shop") == "hand" })
	e.change(t, "shop", `{"values":{"v":"two"}}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded superseded deployed")
}

// TestStoppedController stops the controller during an installation, which records that it was canceled. The next
// controller deploys the HelmRequest again.
//   - "A controller that is stopped (SIGTERM) cancels its operations, and has 25 seconds in which they record that"
func TestStoppedController(t *testing.T) {
	t.Parallel()
	e, p := start(t)
	e.request(t, "shop", e.storeChart(t, "never", chartFiles("1.0.0", podTemplate("devcluster/pod: never")))+"  timeout: 1h")
	harness.Eventually(t, "the pod exists", func() bool { return e.Get(t, "Pod/shop-pod") != nil })
	p.Signal(t, syscall.SIGTERM)
	p.ExpectExit(t, 0)
	e.expectHistory(t, "shop", "failed")
	e.startController(t)
	e.storeChart(t, "fast", chartFiles("1.0.0", ""))
	e.change(t, "shop", `{"chart":{"configMap":{"name":"fast"}}}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")
}

// TestKilledDuringInstallation kills the controller during an installation, which then counts as failed. The next
// controller takes over the release, and continues.
//   - "If it is killed, the release stays locked until its lease expires, at most 45 seconds later"
//   - "The next controller waits for that, takes over the release and continues"
func TestKilledDuringInstallation(t *testing.T) {
	t.Parallel()
	e, p := start(t)
	e.request(t, "shop", e.storeChart(t, "slow", chartFiles("1.0.0", podTemplate("devcluster/after: 5s"))))
	harness.Eventually(t, "the pod exists", func() bool { return e.Get(t, "Pod/shop-pod") != nil })
	uid := e.Get(t, "Pod/shop-pod").GetUID()
	p.Kill()
	p.Wait(t)
	o, err := e.requests().Get(t.Context(), "shop", metav1.GetOptions{})
	harness.NoError(t, err)
	retry, _, _ := unstructured.NestedString(o.Object, "status", "lastAttempt", "retryTime")
	if failures := harness.IntAt(o, "status.lastAttempt.failures"); failures != 1 || retry == "" {
		t.Errorf("%d failures, repeated at %q", failures, retry)
	}
	e.expectHistory(t, "shop", "pending-install")
	e.startController(t)
	o = e.awaitReady(t, "shop", "Deployed")
	if failures := harness.IntAt(o, "status.lastAttempt.failures"); failures != 0 {
		t.Errorf("%d failures of a HelmRequest that is ready", failures)
	}
	if got := e.Get(t, "Pod/shop-pod").GetUID(); got != uid {
		t.Error("the pod was created twice")
	}
}
