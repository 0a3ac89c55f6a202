// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// TestOtherReleases checks requests for releases that others have installed.
//   - "The first one makes the release belong to the HelmRequest"
//   - "The others are stalled until that one is deleted"
func TestOtherReleases(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.MustRun("install", "by-hand", charts.WriteFiles(t, chartFiles("1.0.0", "")))
	e.request(t, "by-hand", chart+"  values: {v: request}")
	e.awaitNotReady(t, "by-hand", "ReleaseNotOwned", true, "another program has installed it", "spec.adopt")
	if got := e.value(t, "by-hand"); got != "default" {
		t.Errorf("the value is %q", got)
	}
	e.change(t, "by-hand", `{"adopt":true}`)
	e.awaitReady(t, "by-hand", "Deployed")
	e.expectHistory(t, "by-hand", "superseded deployed")

	e.request(t, "first", chart)
	e.awaitReady(t, "first", "Deployed")
	e.request(t, "second", chart+"  releaseName: first")
	e.awaitNotReady(t, "second", "ReleaseClaimed", true, "HelmRequest first is for the same release")
	e.delete(t, "first")
	e.awaitReady(t, "second", "Deployed")

	e.change(t, "second", `{"releaseName":"third"}`)
	e.awaitNotReady(t, "second", "ReleaseNameChanged", true, "release first is installed")
	e.change(t, "second", `{"releaseName":"first"}`)
	e.awaitReady(t, "second", "Deployed")

	// A request that did not install the release does not uninstall it.
	e.MustRun("install", "kept", charts.WriteFiles(t, chartFiles("1.0.0", "")))
	e.request(t, "kept", chart)
	e.awaitNotReady(t, "kept", "ReleaseNotOwned", true)
	e.delete(t, "kept")
	e.expectHistory(t, "kept", "deployed")
}

// TestReleaseInOtherDriver adopts a release that is stored by another driver, which is possible after it was moved.
//   - "A release in another storage driver must be moved first"
func TestReleaseInOtherDriver(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	secrets := *e.Helm
	secrets.Env = append(slices.Clone(e.Env), "HELM_DRIVER=secret")
	secrets.MustRun("install", "shop", charts.WriteFiles(t, chartFiles("1.0.0", "")))
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  adopt: true\n  values: {v: request}")
	e.awaitNotReady(t, "shop", "OperationFailed", false, "is stored by the storage driver secret")
	if got := e.value(t, "shop"); got != "default" {
		t.Errorf("the value is %q", got)
	}
	e.MustRun("state", "migrate", "shop", "--from", "secret", "--to", "crd")
	e.annotate(t, "shop", "1")
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")
}

// TestRetries checks that a failed deployment is tried again, and that a failed upgrade with spec.atomic is rolled
// back.
func TestRetries(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	needs := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ required \"no name\" .Values.name }}, namespace: {{ .Values.namespace | default .Release.Namespace }}}\n"
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", needs))
	e.request(t, "shop", chart+"  values: {name: a}")
	e.awaitReady(t, "shop", "Deployed")
	e.change(t, "shop", `{"atomic":true,"values":{"name":"b","namespace":"does-not-exist"}}`)
	o := e.await(t, "shop", harness.HasCondition("Ready", "False", ""))
	if !harness.HasCondition("Reconciling", "True", "")(o) || harness.IntAt(o, "status.lastAttempt.failures") < 1 {
		t.Errorf("status: %v", o.Object["status"])
	}
	harness.Eventually(t, "the upgrade is tried again", func() bool {
		o, err := e.requests().Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && harness.IntAt(o, "status.lastAttempt.failures") >= 2
	})
	e.change(t, "shop", `{"values":{"name":"c","namespace":null}}`)
	o = e.awaitReady(t, "shop", "Deployed")
	if got, _, _ := unstructured.NestedString(o.Object, "status", "lastError"); got != "" {
		t.Errorf("the last error is still there: %q", got)
	}
}

// TestOutageOfServer makes the API server unreachable for the controller while it deploys.
func TestOutageOfServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	proxy := fault.New(t, e.Cluster.Config())
	var down atomic.Bool
	proxy.Intercept(func(_ http.ResponseWriter, _ *http.Request, _ fault.Request) bool {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	harness.NoError(t, proxy.WriteKubeconfig(file, e.Namespace))
	e.kubeconfig = file
	e.startController(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.request(t, "before", chart)
	e.awaitReady(t, "before", "Deployed")
	down.Store(true)
	for i := range 5 {
		e.request(t, fmt.Sprintf("during-%d", i), chart)
	}
	e.change(t, "before", `{"values":{"v":"during"}}`)
	down.Store(false)
	for i := range 5 {
		e.awaitReady(t, fmt.Sprintf("during-%d", i), "Deployed")
	}
	e.awaitReady(t, "before", "Deployed")
	e.expectHistory(t, "before", "superseded deployed")
}

// TestForbiddenUninstall deletes a request whose service account may not uninstall its release.
//   - "This also works if an uninstall fails: set suspend on a HelmRequest that is being deleted"
func TestForbiddenUninstall(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	for _, name := range []string{"healed", "abandoned"} {
		e.request(t, name, chart)
		e.awaitReady(t, name, "Deployed")
	}
	bindings := e.Cluster.Client().RbacV1().RoleBindings(e.Namespace)
	binding, err := bindings.Get(t.Context(), "deployer", metav1.GetOptions{})
	harness.NoError(t, err)
	harness.NoError(t, bindings.Delete(t.Context(), "deployer", metav1.DeleteOptions{}))
	for _, name := range []string{"healed", "abandoned"} {
		harness.NoError(t, e.requests().Delete(t.Context(), name, metav1.DeleteOptions{}))
		e.awaitNotReady(t, name, "Forbidden", false, "to delete the HelmRequest without uninstalling the release, set spec.suspend")
	}
	e.change(t, "abandoned", `{"suspend":true}`)
	e.awaitGone(t, "abandoned")
	_, err = bindings.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}, RoleRef: binding.RoleRef, Subjects: binding.Subjects}, metav1.CreateOptions{})
	harness.NoError(t, err)
	e.awaitGone(t, "healed")
	harness.ExpectContains(t, e.history(t, "healed"), "not found")
	e.expectHistory(t, "abandoned", "deployed")
}

// TestNamespaceDeletion deletes the namespace of requests.
//   - "If the namespace is being deleted, the roles of the service account may be gone already"
//   - "cluster-scoped objects of the release and objects in other namespaces stay"
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	e := newClusterWideEnv(t) // otherwise, the permissions of the controller are deleted, too
	e.startController(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.request(t, "shop", chart)
	e.request(t, "broken", e.storeChart(t, "broken", chartFiles("1.0.0", "---\n{{ fail \"no\" }}\n")))
	e.awaitReady(t, "shop", "Deployed")
	e.awaitNotReady(t, "broken", "RenderFailed", true)
	// The account of this release has no permissions any more when the namespace is deleted.
	outside := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside, namespace: " + e.system + "}\n"
	e.CreateServiceAccount(t, "limited", limitedRules())
	e.allowIn(t, e.system, "limited")
	harness.NoError(t, e.Create(t.Context(), strings.Replace(requestOf("outside", e.storeChart(t, "outside", chartFiles("1.0.0", outside))), "deployer", "limited", 1)))
	e.awaitReady(t, "outside", "Deployed")
	harness.NoError(t, e.Cluster.Client().RbacV1().RoleBindings(e.Namespace).Delete(t.Context(), "limited", metav1.DeleteOptions{}))
	harness.NoError(t, e.requests().Delete(t.Context(), "outside", metav1.DeleteOptions{}))
	e.awaitNotReady(t, "outside", "Forbidden", false)
	namespaces := e.Cluster.Client().CoreV1().Namespaces()
	harness.NoError(t, namespaces.Delete(t.Context(), e.Namespace, metav1.DeleteOptions{}))
	harness.Eventually(t, "the namespace is deleted", func() bool {
		_, err := namespaces.Get(t.Context(), e.Namespace, metav1.GetOptions{})
		return err != nil
	})
	_, err := e.Cluster.Client().CoreV1().ConfigMaps(e.system).Get(t.Context(), "outside", metav1.GetOptions{})
	harness.NoError(t, err)
}

// allowIn allows a service account of the namespace to change ConfigMaps in another namespace.
func (e *env) allowIn(t *testing.T, namespace, account string) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.Namespace, Name: account}},
	}
	client := e.Cluster.Client().RbacV1()
	_, err := client.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	harness.NoError(t, err)
	_, err = client.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	harness.NoError(t, err)
}

// TestLeaderElection kills the replica that works, and lets the other one go on.
//   - "With --leader-elect, several replicas can run"
//   - "One works, and the others wait for its Lease"
//   - "and /readyz when it has read the HelmRequests, also in replicas that wait"
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	flags := []string{"--leader-elect", "--leader-election-namespace", e.system}
	first := e.startController(t, flags...)
	first.AwaitLine(t, "Starting workers")
	health := freeAddress(t)
	second := e.startController(t, append(flags, "--health-probe-bind-address", health)...)
	harness.Eventually(t, "the replica that waits is ready", func() bool {
		response, err := http.Get("http://" + health + "/readyz") //nolint:noctx // it ends soon
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	_, err := e.Cluster.Client().CoordinationV1().Leases(e.system).Get(t.Context(), "helm-controller.helm.sh", metav1.GetOptions{})
	harness.NoError(t, err)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.request(t, "a", chart)
	e.awaitReady(t, "a", "Deployed")
	first.Kill()
	if log := first.Wait(t).Stderr; !strings.Contains(log, "revision 1 of release a is deployed") {
		t.Error("the first replica has not deployed the release")
	}
	e.request(t, "b", chart)
	e.awaitReady(t, "b", "Deployed")
	second.AwaitLine(t, "revision 1 of release b is deployed")
	e.expectHistory(t, "a", "deployed")
}
