// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycle takes a release through its life with its HelmRequest, and with the command line in between.
//   - "helm-controller deploys charts in the cluster in which it runs"
//   - "asks it for a release in the namespace of the HelmRequest"
//   - "A change of fields other than the chart, the values and order, such as timeout, creates no revision"
//   - "An upgrade uses the values of the HelmRequest only"
//   - "The release has the labels helm.sh/request, with the name of the HelmRequest, and helm.sh/chart-digest"
//   - "Events of a HelmRequest have the reason Installed, Upgraded, RolledBack, Uninstalled or DriftCorrected"
//   - "release | in the namespace and the cluster of the HelmRequest"
func TestLifecycle(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  values: {v: one}")
	o := e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "deployed")
	if got := harness.IntAt(o, "status.release.revision"); got != 1 || e.value(t, "shop") != "one" {
		t.Errorf("revision %d, value %q", got, e.value(t, "shop"))
	}
	if out, err := e.Kubectl(t, "get", "hreq", "shop"); err != nil || !strings.Contains(out, "app-1.0.0") {
		t.Errorf("kubectl get hreq: %v\n%s", err, out)
	}
	digest, _, _ := unstructured.NestedString(o.Object, "status", "chart", "digest")
	labels := "helm.sh/request=shop,helm.sh/chart-digest=1." + strings.TrimPrefix(digest, "sha256:")[:48]
	if got := e.MustRun("list", "--short", "--selector", labels).Stdout; got != "shop\n" {
		t.Errorf("with the labels %s, there is %q", labels, got)
	}

	e.change(t, "shop", `{"values":{"v":"two"}}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")

	e.change(t, "shop", `{"rollbackTo":1}`)
	o = e.awaitReady(t, "shop", "RolledBack")
	harness.ExpectContains(t, messageOf(o), "revision 3 has the content of revision 1")
	if got := e.value(t, "shop"); got != "one" {
		t.Errorf("after the rollback: %q", got)
	}
	e.change(t, "shop", `{"rollbackTo":null}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded superseded superseded deployed")

	// Changes that are not about the chart and the values make no revision.
	e.change(t, "shop", `{"timeout":"7m","interval":"1h"}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded superseded superseded deployed")

	// An upgrade does not reuse the values of the revision before.
	e.change(t, "shop", `{"values":null,"historyMax":2}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")
	if got := e.value(t, "shop"); got != "default" {
		t.Errorf("without values: %q", got)
	}

	e.delete(t, "shop")
	if got := e.value(t, "shop"); got != "" {
		t.Errorf("after the uninstall: %q", got)
	}
	harness.ExpectContains(t, e.history(t, "shop"), "not found")
	for _, reason := range []string{"Installed", "Upgraded", "RolledBack", "Uninstalled"} {
		e.awaitEvent(t, "shop", "Normal", reason, "release shop is ")
	}
}

// TestByHand works with the command line on what the controller has deployed.
//   - "The controller runs the same operations as the command, and both work on the same releases"
//   - "The releases of HelmRequests are releases like any other"
//   - "helm rollback and all other commands work on them, if they use the storage driver of the controller"
//   - "The controller records in the status which revision it has deployed"
//   - "The controller then does not deploy the HelmRequest over it"
//   - "If that revision is deployed, Ready is true"
//   - "A change of the spec or of the annotation helm.sh/reconcile ends this: the HelmRequest is deployed again"
//   - "If somebody uninstalls the release, the HelmRequest is installed again"
//   - "With the storage driver crd, the controller watches the Releases and notices this immediately"
//   - "or was deployed by hand, there is a warning with the reason of the condition"
func TestByHand(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  values: {v: one}")
	e.awaitReady(t, "shop", "Deployed")
	harness.ExpectContains(t, e.MustRun("list").Stdout, "shop", "deployed", "app-1.0.0")
	harness.ExpectContains(t, e.MustRun("status", "shop").Stdout, "STATUS: deployed")

	dir := charts.WriteFiles(t, chartFiles("1.0.0", ""))
	e.MustRun("upgrade", "shop", dir, "--set", "v=hand")
	o := e.awaitReady(t, "shop", "DeployedByHand")
	if !harness.HasCondition("DeployedByHand", "True", "")(o) {
		t.Error("no condition DeployedByHand")
	}
	harness.ExpectContains(t, messageOf(o), "revision 2 of release shop was not deployed by the controller")
	e.awaitEvent(t, "shop", "Warning", "DeployedByHand", "revision 2 of release shop")
	if got := e.value(t, "shop"); got != "hand" {
		t.Errorf("after an upgrade by hand: %q", got)
	}
	e.MustRun("rollback", "shop", "1")
	harness.Eventually(t, "the rollback is noticed", func() bool {
		o, err := e.requests().Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && harness.HasCondition("Ready", "True", "DeployedByHand")(o) && messageOf(o)[:len("revision 3")] == "revision 3"
	})

	e.annotate(t, "shop", "1")
	o = e.awaitReady(t, "shop", "Deployed")
	if harness.HasCondition("DeployedByHand", "", "")(o) {
		t.Error("the condition DeployedByHand is still there")
	}

	// An upgrade by hand to another chart, with the same values and so the labels of the controller, is not taken for
	// the chart of the request.
	other := chartFiles("1.0.0", "")
	other["templates/all.yaml"] = strings.ReplaceAll(other["templates/all.yaml"], ".Values.v", `"other"`)
	e.MustRun("upgrade", "shop", charts.WriteFiles(t, other), "--reuse-values")
	e.awaitReady(t, "shop", "DeployedByHand")
	e.annotate(t, "shop", "2")
	e.awaitReady(t, "shop", "Deployed")
	if got := e.value(t, "shop"); got != "one" {
		t.Errorf("after the annotation: %q", got)
	}

	e.MustRun("uninstall", "shop", "--keep-history")
	harness.Eventually(t, "the release is installed again", func() bool { return e.value(t, "shop") == "one" })
	e.awaitReady(t, "shop", "Deployed")
	e.MustRun("uninstall", "shop")
	harness.Eventually(t, "the release is installed again", func() bool { return e.history(t, "shop") == "deployed" })
	e.awaitReady(t, "shop", "Deployed")
}

// TestOrder checks the order of an installation and an uninstall with the audit log.
//   - "The finalizer helm.sh/uninstall keeps a HelmRequest until its release is uninstalled, in reverse order"
func TestOrder(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.Started = harness.Now()
	e.request(t, "rel", e.storePackage(t, "chart", pack(t, charts.ThreeLayers(t, "one"))))
	e.awaitReady(t, "rel", "Deployed")
	manifest := e.MustRun("get", "manifest", "rel").Stdout
	order := &harness.Order{}
	order.AddManifest(t, manifest)
	order.CheckInstall(t, e.ReadTrace(t), 2)
	e.Started = harness.Now()
	e.delete(t, "rel")
	e.CheckUninstallOrder(t, manifest)
}

// TestDependencies checks that requests are deployed after the requests on which they depend, and uninstalled
// before them.
//   - "kubectl delete deletes one object after the other"
func TestDependencies(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.request(t, "web", chart+"  dependsOn: [database]")
	e.awaitNotReady(t, "web", "DependencyNotReady", false, "database (does not exist)")
	e.request(t, "database", chart+"  dependsOn: [web]")
	e.awaitNotReady(t, "web", "DependencyCycle", true, "web → database → web")
	e.awaitNotReady(t, "database", "DependencyCycle", true, "database → web → database")
	e.change(t, "database", `{"dependsOn":null}`)
	e.awaitReady(t, "database", "Deployed")
	e.awaitReady(t, "web", "Deployed")
	trace := e.ReadTrace(t)
	if first, second := trace.Created("ConfigMap/database-own"), trace.Created("ConfigMap/web-own"); !first.Before(second) {
		t.Errorf("database was created at %s, web at %s", first, second)
	}
	// The dependency is deleted first, as by kubectl.
	harness.NoError(t, e.requests().Delete(t.Context(), "database", metav1.DeleteOptions{}))
	harness.NoError(t, e.requests().Delete(t.Context(), "web", metav1.DeleteOptions{}))
	e.awaitGone(t, "database")
	e.awaitGone(t, "web")
	trace = e.ReadTrace(t)
	_, web := trace.Deleted("ConfigMap/web-own")
	database, _ := trace.Deleted("ConfigMap/database-own")
	if web.IsZero() || database.Before(web) {
		t.Errorf("web was deleted at %s, database at %s", web, database)
	}
}

// TestRollbackTo rolls back to the oldest revision that is kept, and to one that was not made by the controller.
//   - "As long as rollbackTo is set, the chart, the values and the order of the HelmRequest are neither read nor deployed"
//   - "Remove the field to deploy the chart again"
//   - "With adopt, the first operation on the release upgrades it, or rolls it back if rollbackTo is set"
func TestRollbackTo(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.MustRun("install", "shop", charts.WriteFiles(t, chartFiles("1.0.0", "")), "--set", "v=hand")
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  values: {v: one}\n  adopt: true\n  historyMax: 2")
	e.awaitReady(t, "shop", "Deployed")
	e.change(t, "shop", `{"rollbackTo":9}`)
	e.awaitNotReady(t, "shop", "RevisionNotFound", true, "it has 1, 2")
	e.change(t, "shop", `{"rollbackTo":1}`)
	e.awaitReady(t, "shop", "RolledBack")
	if got := e.value(t, "shop"); got != "hand" {
		t.Errorf("after the rollback: %q", got)
	}
	// The chart and the values are not read meanwhile.
	harness.NoError(t, e.Cluster.Client().CoreV1().ConfigMaps(e.Namespace).Delete(t.Context(), "chart", metav1.DeleteOptions{}))
	before := e.history(t, "shop")
	e.change(t, "shop", `{"values":{"v":"two"},"valuesFrom":[{"kind":"Secret","name":"missing"}]}`)
	e.awaitReady(t, "shop", "RolledBack")
	e.expectHistory(t, "shop", before)
	e.change(t, "shop", `{"rollbackTo":null,"valuesFrom":null}`)
	e.awaitNotReady(t, "shop", "ChartNotFound", false, "ConfigMap chart not found")
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	e.annotate(t, "shop", "1")
	e.awaitReady(t, "shop", "Deployed")
	if got := e.value(t, "shop"); got != "two" {
		t.Errorf("without rollbackTo: %q", got)
	}
	e.delete(t, "shop")
	harness.ExpectContains(t, e.history(t, "shop"), "not found")

	e.request(t, "new", chart+"  rollbackTo: 1")
	e.awaitNotReady(t, "new", "RevisionNotFound", true, "it has none")
	for _, value := range []string{"one", "two"} {
		e.MustRun("upgrade", "--install", "adopted", charts.WriteFiles(t, chartFiles("1.0.0", "")), "--set", "v="+value)
	}
	e.request(t, "adopted", chart+"  adopt: true\n  rollbackTo: 1")
	e.awaitReady(t, "adopted", "RolledBack")
	e.expectHistory(t, "adopted", "superseded superseded deployed")
	if got := e.value(t, "adopted"); got != "one" {
		t.Errorf("after the rollback of an adopted release: %q", got)
	}
}

// TestSuspend suspends a request, changes it, resumes it, and deletes it while it is suspended.
//   - "While suspend is true, the controller does not change the release, and the condition Suspended is true"
//   - "If the HelmRequest is suspended, or if the release does not belong to it, it is deleted and the release stays"
func TestSuspend(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  values: {v: one}")
	e.awaitReady(t, "shop", "Deployed")
	e.change(t, "shop", `{"suspend":true,"values":{"v":"two"}}`)
	o := e.await(t, "shop", harness.HasCondition("Suspended", "True", "Suspended"))
	if !harness.HasCondition("Ready", "True", "Deployed")(o) {
		t.Errorf("the conditions have changed: %v", o.Object["status"])
	}
	e.expectHistory(t, "shop", "deployed")
	e.change(t, "shop", `{"suspend":false}`)
	o = e.awaitReady(t, "shop", "Deployed")
	if harness.HasCondition("Suspended", "", "")(o) || e.value(t, "shop") != "two" {
		t.Errorf("after resuming: value %q", e.value(t, "shop"))
	}
	e.change(t, "shop", `{"suspend":true}`)
	e.delete(t, "shop")
	e.expectHistory(t, "shop", "superseded deployed")
}

// TestChangeEndsOperation changes a request during an operation that would wait for a long time.
//   - "so that a correction does not have to wait for a timeout"
//   - "A running operation is canceled, because the spec has changed; the release can then have the status failed"
func TestChangeEndsOperation(t *testing.T) {
	t.Parallel()
	e, p := start(t)
	slow := e.storeChart(t, "slow", chartFiles("1.0.0", podTemplate("devcluster/pod: never")))
	e.storeChart(t, "fast", chartFiles("1.0.1", ""))
	e.request(t, "shop", slow+"  timeout: 1h")
	e.await(t, "shop", harness.HasCondition("Reconciling", "True", "Installing"))
	harness.Eventually(t, "the pod exists", func() bool { return e.value(t, "shop") != "" })
	e.change(t, "shop", `{"chart":{"configMap":{"name":"fast"}}}`)
	e.awaitReady(t, "shop", "Deployed")
	if _, found := p.NextLine("the request has changed during the operation"); !found {
		t.Error("the operation was not canceled")
	}
	e.request(t, "other", slow+"  timeout: 1h")
	e.await(t, "other", harness.HasCondition("Reconciling", "True", "Installing"))
	e.delete(t, "other")
	harness.ExpectContains(t, e.history(t, "other"), "not found")
	e.request(t, "suspended", slow+"  timeout: 1h")
	e.await(t, "suspended", harness.HasCondition("Reconciling", "True", "Installing"))
	harness.Eventually(t, "the pod exists", func() bool { return e.value(t, "suspended") != "" })
	e.change(t, "suspended", `{"suspend":true}`)
	e.await(t, "suspended", harness.HasCondition("Suspended", "True", ""))
	e.expectHistory(t, "suspended", "failed")
}

// TestDrift changes objects of a release, which the controller changes back without a revision: when the annotation
// asks for it, and after the interval.
//   - "upgrades the release if something has changed, and otherwise corrects drift"
//   - "An event (DriftCorrected) names the objects"
//   - "The value can be any text, such as the time"
//   - "status.handledRequest contains the last value that was processed"
func TestDrift(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", ""))+"  values: {v: one}")
	e.awaitReady(t, "shop", "Deployed")
	e.Patch(t, "ConfigMap/shop-own", `{"data":{"v":"changed","other":"kept"}}`)
	e.annotate(t, "shop", "the time, or any other text")
	harness.Eventually(t, "the change is undone", func() bool { return e.value(t, "shop") == "one" })
	e.await(t, "shop", func(o *unstructured.Unstructured) bool {
		handled, _, _ := unstructured.NestedString(o.Object, "status", "handledRequest")
		return handled == "the time, or any other text"
	})
	if other, _, _ := unstructured.NestedString(e.Get(t, "ConfigMap/shop-own").Object, "data", "other"); other != "kept" {
		t.Errorf("a key that the chart does not declare is %q", other)
	}
	e.change(t, "shop", `{"interval":"10s"}`)
	e.awaitReady(t, "shop", "Deployed")
	e.Delete(t, "ConfigMap/shop-own")
	harness.Eventually(t, "the object is created again", func() bool { return e.value(t, "shop") == "one" })
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "deployed")
	e.awaitEvent(t, "shop", "Normal", "DriftCorrected", "ConfigMap/shop-own")
}

// TestDefinitions checks that spec.crds applies the definitions of a new chart in an upgrade.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.mayDefine(t)
	definition := charts.Definition(e.Namespace+".example", "Gadget")
	e.DeleteAfter(t, harness.ParseManifest(t, definition.Manifest()))
	gadget := charts.CustomResource(e.Namespace+".example", "Gadget", "one").Manifest()
	first := chartFiles("1.0.0", "")
	first["crds/gadgets.yaml"] = definition.Manifest()
	e.request(t, "shop", e.storeChart(t, "one", first)+"  values: {v: one}\n  crds: skip")
	e.awaitReady(t, "shop", "Deployed")
	next := chartFiles("1.1.0", gadget)
	next["crds/gadgets.yaml"] = definition.Manifest()
	e.storeChart(t, "two", next)
	e.change(t, "shop", `{"chart":{"configMap":{"name":"two"}},"crds":"apply"}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")
	if err := harness.MergePatch(t.Context(), e.requests(), "shop", `{"spec":{"crds":"replace"}}`); err == nil {
		t.Error("an unknown policy was accepted")
	}
}

// mayDefine allows the service account to apply definitions, until the end of the test.
func (e *env) mayDefine(t *testing.T) {
	t.Helper()
	name, api := "definitions-"+e.Namespace, e.Cluster.Client().RbacV1()
	rule := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}}
	_, err := api.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	harness.NoError(t, err)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.Namespace, Name: "deployer"}},
	}
	_, err = api.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	harness.NoError(t, err)
	for _, kind := range []string{"clusterrole", "clusterrolebinding"} {
		t.Cleanup(func() { _, _ = e.Kubectl(t, "delete", kind, name) })
	}
}
