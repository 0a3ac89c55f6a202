// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// secretWord is in Secrets that must never be seen elsewhere.
const secretWord = "the-word-of-another-tenant"

// limitedRules are what a service account needs for releases of ConfigMaps.
func limitedRules() []rbacv1.PolicyRule {
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"*"}}
	}
	return []rbacv1.PolicyRule{rule("", "secrets", "configmaps"), rule("helm.sh", "releases", "releaseversions"), rule("coordination.k8s.io", "leases"), rule("rbac.authorization.k8s.io", "roles", "rolebindings")}
}

// otherTenant returns the namespace of another tenant, which contains a Secret, and is seen by the
// controller, too.
func (e *env) otherTenant(t *testing.T) string {
	t.Helper()
	other := e.Cluster.Namespace(t)
	e.createSecret(t, other, "secret", map[string]string{"word": secretWord, "values.yaml": "v: " + secretWord})
	return other
}

// TestTenantsAreIsolated tries, as a tenant, to reach what belongs to others or to the cluster.
//   - "Scripts run in the process of the controller"
//   - "cluster reads as the service account"
//   - "Schemas that refer to other documents"
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	e, p := start(t)
	other := e.otherTenant(t)
	server := chartserver.Start(t, t.TempDir(), chartserver.Options{})
	e.CreateServiceAccount(t, "limited", limitedRules())
	chart := func(name, more string) string { return e.storeChart(t, name, chartFiles("1.0.0", "---\n"+more)) }
	manifest := func(head, namespace string) string {
		return head + "\nmetadata: {name: attack-" + e.Namespace + namespace + "}\n"
	}
	for _, c := range []struct {
		name, spec, reason string
		stalled            bool
	}{
		{"foreign-namespace", chart("foreign-namespace", manifest("apiVersion: v1\nkind: ConfigMap", ", namespace: "+other)), "Forbidden", false},
		{"foreign-kind", chart("foreign-kind", manifest("apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}", "")), "Forbidden", false},
		{"cluster-role", chart("cluster-role", manifest("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules: []", "")), "Forbidden", false},
		{"namespace", chart("namespace", manifest("apiVersion: v1\nkind: Namespace", "")), "Forbidden", false},
		{"escalation", chart("escalation", manifest("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: limited}]", "")), "Forbidden", false},
		{"definition", e.storeChart(t, "definition", withFile(chartFiles("1.0.0", ""), "crds/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: attacks.example.com}\nspec: {group: example.com, scope: Namespaced, names: {kind: Attack, plural: attacks}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n")), "Forbidden", false},
		{"lookup", chart("lookup", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lookup}\ndata: {word: {{ (lookup \"v1\" \"Secret\" \""+other+"\" \"secret\").data.word }}}\n"), "RenderFailed", false},
		{"script", e.storeChart(t, "script", scriptChart("[cluster]", `print(cluster.get("v1", "ConfigMap", "`+other+`", "kube-root-ca.crt").data["ca.crt"])`)) + "  acceptPermissions: [cluster]", "", false},
		{"filesystem", chart("filesystem", "") + "  acceptPermissions: [filesystem]", "PermissionRefused", true},
		{"environment", chart("environment", "") + "  acceptPermissions: [environment]", "PermissionRefused", true},
		{"network", chart("network", "") + "  acceptPermissions: [network]", "PermissionRefused", true},
		{"not-accepted", e.storeChart(t, "not-accepted", scriptChart("[cluster]", "")), "ScriptPermissionMissing", true},
		{"values", chart("values", "") + "  valuesFrom: [{kind: Secret, name: ../" + other + "/secret}]", "", false},
		{"account", strings.Replace(chart("account", ""), "  chart:", "  serviceAccountName: ../"+other+"/default\n  chart:", 1), "", false},
		{"account-user", strings.Replace(chart("account-user", ""), "  chart:", "  serviceAccountName: '"+other+":default'\n  chart:", 1), "ServiceAccountNotFound", false},
		{"schema-file", e.storeChart(t, "schema-file", withFile(chartFiles("1.0.0", ""), "values.schema.json", `{"$ref": "file:///etc/passwd"}`)), "InvalidChart", false},
		{"schema-draft", e.storeChart(t, "schema-draft", withFile(chartFiles("1.0.0", ""), "values.schema.json", `{"$schema": "file://json-schema.org/etc/passwd"}`)), "InvalidChart", false},
		{"schema-server", e.storeChart(t, "schema-server", withFile(chartFiles("1.0.0", ""), "values.schema.json", `{"$id": "`+server.URL+`/", "properties": {"v": {"$ref": "v.json"}}}`)), "InvalidChart", false},
		{"schema-of-schema", e.storeChart(t, "schema-of-schema", withFile(chartFiles("1.0.0", ""), "values.schema.json", `{"$schema": "`+server.URL+`/schema"}`)), "InvalidChart", false},
	} {
		spec := "  serviceAccountName: limited\n" + c.spec
		if strings.Count(spec, "serviceAccountName") == 2 {
			spec = c.spec
		}
		harness.NoError(t, e.Create(t.Context(), "apiVersion: "+requestAPI+"\nkind: HelmRequest\nmetadata: {name: "+c.name+"}\nspec:\n"+spec+"\n"))
		o := e.await(t, c.name, harness.HasCondition("Ready", "False", c.reason))
		if got := harness.HasCondition("Stalled", "True", "")(o); got != c.stalled {
			t.Errorf("%s: stalled is %t, want %t: %s", c.name, got, c.stalled, messageOf(o))
		}
		if status := fmt.Sprint(o.Object["status"]); strings.Contains(status, secretWord) || strings.Contains(status, "root:") {
			t.Errorf("%s: the status contains what the tenant must not see: %s", c.name, status)
		}
		t.Logf("%s: %s", c.name, messageOf(o))
	}
	if requests := server.Requests(); len(requests) > 0 {
		t.Errorf("requests because of schemas: %v", requests)
	}
	p.Kill()
	if log := p.Wait(t).Stderr; strings.Contains(log, secretWord) {
		t.Errorf("the log contains a Secret:\n%s", log)
	}
	for _, event := range e.Cluster.AuditIn(t, other) {
		if event.UserAgent == "helm-controller" && event.Code < 300 {
			t.Errorf("the controller was allowed to %s %s", event.Verb, event.URI)
		}
	}
	objects, err := e.Cluster.Client().CoreV1().ConfigMaps(other).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=attack-" + e.Namespace})
	if err != nil || len(objects.Items) > 0 {
		t.Errorf("objects in the namespace of another tenant: %v, %v", objects.Items, err)
	}
}

// TestPermissionsOfUninstall tries to get the permission "filesystem" for the scripts of a release that was installed
// by hand, when its HelmRequest is deleted.
//   - "Scripts that run before or after the uninstall get no more permissions than any others"
func TestPermissionsOfUninstall(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", "")))
	e.awaitReady(t, "shop", "Deployed")
	files := scriptChart("[filesystem]", "")
	files["ext/lua/main.lua"] = `events.on("pre-delete", 0.5, function() error(io.open("/etc/hostname"):read("*a")) end)` + "\n"
	e.MustRun("upgrade", "shop", charts.WriteFiles(t, files), "--accept-perms", "filesystem")
	e.change(t, "shop", `{"acceptPermissions":["filesystem"]}`)
	e.awaitNotReady(t, "shop", "PermissionRefused", true)
	harness.NoError(t, e.requests().Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	e.awaitNotReady(t, "shop", "PermissionRefused", true, "spec.suspend")
	e.change(t, "shop", `{"acceptPermissions":null}`)
	e.awaitNotReady(t, "shop", "ScriptPermissionMissing", true, "filesystem")
	e.change(t, "shop", `{"suspend":true}`)
	e.awaitGone(t, "shop")
}

// withFile adds a file to a chart.
func withFile(files map[string]string, name, text string) map[string]string {
	files[name] = text
	return files
}

// scriptChart returns a chart with a script that runs a statement after rendering.
func scriptChart(permissions, statement string) map[string]string {
	files := chartFiles("1.0.0", "")
	files["Chart.yaml"] = strings.Replace(files["Chart.yaml"], "annotations: {", "annotations: {helm.sh/scripts: enabled, ", 1)
	files["ext/permissions.yaml"] = "lua: " + permissions + "\n"
	files["ext/lua/main.lua"] = `events.on("post-render", 0.5, function() ` + statement + " end)\n"
	return files
}

// TestServiceAccounts checks requests without a service account, and with one that does not exist.
//   - "A HelmRequest without serviceAccountName uses the service account that --default-service-account names"
//   - "The service account must exist, even if roles are bound to its name"
//   - "The service account needs the permissions for releases as objects and for the objects of the chart"
func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	e, p := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	create := func(name, spec string) {
		harness.NoError(t, e.Create(t.Context(), "apiVersion: "+requestAPI+"\nkind: HelmRequest\nmetadata: {name: "+name+"}\nspec:\n"+spec))
	}
	create("none", chart)
	e.awaitNotReady(t, "none", "NoServiceAccount", true, "set spec.serviceAccountName")
	create("missing", chart+"  serviceAccountName: later\n")
	e.awaitNotReady(t, "missing", "ServiceAccountNotFound", false, `service account "later" not found`)
	// A service account that does not exist must not be used, even if it is in a RoleBinding.
	e.CreateServiceAccount(t, "later", limitedRules())
	e.awaitReady(t, "missing", "Deployed")
	p.Kill()
	p.Wait(t)
	e.startController(t, "--default-service-account", "deployer")
	e.awaitReady(t, "none", "Deployed")
}

// TestControllerHasFewPermissions checks that the controller itself cannot read Secrets.
func TestControllerHasFewPermissions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	account := "system:serviceaccount:" + e.system + ":helm-controller"
	for _, c := range []struct {
		verb, resource string
		want           bool
	}{
		{"get", "secrets", false}, {"list", "secrets", false}, {"get", "configmaps", false}, {"create", "pods", false}, {"create", "rolebindings.rbac.authorization.k8s.io", false},
		{"impersonate", "serviceaccounts", true}, {"list", "helmrequests.helm.sh", true}, {"delete", "helmrequests.helm.sh", false},
		{"impersonate", "users", false}, {"impersonate", "groups", false},
	} {
		out, _ := e.Kubectl(t, "auth", "can-i", c.verb, c.resource, "--as", account)
		if got := strings.TrimSpace(out) == "yes"; got != c.want {
			t.Errorf("%s %s: got %q, want %t", c.verb, c.resource, out, c.want)
		}
	}
}

// TestAllowedChartSources checks from where charts are downloaded.
//   - "--allow-chart-source limits them to URLs with certain prefixes"
func TestAllowedChartSources(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	allowed := chartserver.Start(t, folder, chartserver.Options{})
	forbidden := chartserver.Start(t, folder, chartserver.Options{})
	allowed.Answer("/charts/redirect.tgz", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, forbidden.URL+"/app-1.0.0.tgz", http.StatusFound)
	})
	serve := func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, folder+"/app-1.0.0.tgz") }
	allowed.Answer("/charts/app.tgz", serve)
	allowed.Answer("/charts2/app.tgz", serve)
	e := newEnv(t)
	e.startController(t, "--allow-chart-source", allowed.URL+"/charts")
	e.request(t, "allowed", "  chart: {url: "+allowed.URL+"/charts/app.tgz}")
	e.awaitReady(t, "allowed", "Deployed")
	for name, url := range map[string]string{
		"other-host": forbidden.URL + "/charts/app.tgz", "redirect": allowed.URL + "/charts/redirect.tgz",
		"other-path": allowed.URL + "/charts2/app.tgz", "parent": allowed.URL + "/charts/../app-1.0.0.tgz",
	} {
		e.request(t, name, "  chart: {url: '"+url+"'}")
		e.awaitNotReady(t, name, "ChartSourceRefused", true, "--allow-chart-source")
	}
	if requests := forbidden.Requests(); len(requests) > 0 {
		t.Errorf("requests to a host that is not allowed: %v", requests)
	}
}

// TestLocalChartSources checks that charts are not downloaded from the machine of the controller.
//   - "Charts are not downloaded from loopback and link-local addresses"
func TestLocalChartSources(t *testing.T) {
	t.Parallel()
	server := chartserver.Start(t, t.TempDir(), chartserver.Options{})
	e := newEnv(t)
	e.startController(t, "--allow-local-chart-sources=false")
	for name, source := range map[string]string{
		"loopback": "url: " + server.URL + "/a.tgz", "name": "url: '" + strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/a.tgz'",
		"metadata": "url: 'http://169.254.169.254/latest/meta-data/'", "repository": "repository: " + server.URL + ", name: app",
		"registry": "oci: oci://" + strings.TrimPrefix(server.URL, "http://") + "/app, version: 1.0.0, plainHTTP: true",
	} {
		e.request(t, name, "  chart: {"+source+"}")
		e.awaitNotReady(t, name, "ChartSourceRefused", true, "local address")
	}
	if requests := server.Requests(); len(requests) > 0 {
		t.Errorf("requests to a local server: %v", requests)
	}
}

// TestSecretsAreMasked makes operations fail with Secrets in their errors.
//   - "The texts in these Secrets, and those in Secrets of the release, are masked in conditions, events and logs"
//   - "Logs are JSON on standard error, one object per line"
//   - "With --log-level debug, they contain the steps of each operation"
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	e, p := start(t, "--log-level", "debug")
	const word, chartWord = "word-in-a-secret", "password-of-the-chart"
	isMasked := func(text string) bool { return !strings.Contains(text, word) && !strings.Contains(text, chartWord) }
	e.createSecret(t, e.Namespace, "values", map[string]string{"values.yaml": "v: " + word})
	for name, template := range map[string]string{
		"template": "{{ fail .Values.v }}",
		"server":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.v | quote }}, labels: {a: \"{{ .Values.v }} !\"}}",
		"release":  "apiVersion: v1\nkind: Secret\nmetadata: {name: release}\nstringData: {word: " + chartWord + "}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: release, labels: {a: " + chartWord + " !}}",
		"hook":     "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install, devcluster/pod: fail, devcluster/log: '{{ .Values.v }}'}}\nspec: {restartPolicy: Never, containers: [{name: c, image: x}]}",
	} {
		e.request(t, name, e.storeChart(t, name, chartFiles("1.0.0", "---\n"+template+"\n"))+"  valuesFrom: [{kind: Secret, name: values}]")
		o := e.await(t, name, harness.HasCondition("Ready", "False", ""))
		if status := fmt.Sprint(o.Object["status"]); !isMasked(status) {
			t.Errorf("%s: the status contains a value of a Secret: %s", name, status)
		}
	}
	p.Kill()
	log := p.Wait(t).Stderr
	if !isMasked(log) {
		t.Error("the log contains a value of a Secret")
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
	}
	harness.ExpectContains(t, log, `"level":"DEBUG"`, `"msg":"node-failed"`)
	events, err := e.Cluster.Client().CoreV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	if len(events.Items) == 0 {
		t.Error("there are no events")
	}
	for _, event := range events.Items {
		if event.ReportingController == "helm-controller" && !isMasked(event.Message) {
			t.Errorf("an event contains a value of a Secret: %s", event.Message)
		}
	}
}

// TestActsAsServiceAccount checks in the audit log that the controller does everything for releases as the service
// account of their HelmRequests, and what it does as itself.
//   - "The controller impersonates the service account of the HelmRequest"
//   - "It does everything for the release as this account"
//   - "As itself, it only reads and changes HelmRequests and their status"
func TestActsAsServiceAccount(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", "")))
	e.awaitReady(t, "shop", "Deployed")
	e.delete(t, "shop")
	seen := map[string]bool{}
	for _, event := range e.Cluster.AuditIn(t, e.Namespace) {
		if event.UserAgent != "helm-controller" || event.Stage != cluster.StageComplete {
			continue
		}
		reads := event.Verb == "get" || event.Verb == "list" || event.Verb == "watch"
		own := event.Resource == "helmrequests" || event.Resource == "events" && !reads || reads && (event.Resource == "serviceaccounts" || event.Resource == "namespaces")
		impersonated := event.ImpersonatedUser == "system:serviceaccount:"+e.Namespace+":deployer"
		if watchesReleases := event.Verb != "get" && reads && event.Resource == "releases"; impersonated == own && !watchesReleases {
			t.Errorf("%s %s as %q for %q", event.Verb, event.URI, event.User, event.ImpersonatedUser)
		}
		if impersonated {
			seen[event.Verb+" "+event.Resource] = true
		}
	}
	for _, want := range []string{"get configmaps", "get secrets", "create configmaps", "create releaseversions", "delete configmaps"} {
		if !seen[want] {
			t.Errorf("the controller has not sent the request %s as the service account: %v", want, seen)
		}
	}
}

// TestUserRoles checks the roles of the chart for users, which are added to those of Kubernetes.
//   - "values are part of the HelmRequest, which everyone with the role view can read"
func TestUserRoles(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	text := h.MustRun("template", "helm-controller", chartDir(t), "--show-only", "templates/user-roles.yaml").Stdout
	verbs := map[string][]string{} // by role of Kubernetes
	for document := range strings.SplitSeq(text, "\n---\n") {
		var role rbacv1.ClusterRole
		harness.NoError(t, yaml.Unmarshal([]byte(document), &role))
		for label := range role.Labels {
			if name, aggregated := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); aggregated && len(role.Rules) == 1 && slices.Equal(role.Rules[0].Resources, []string{"helmrequests"}) {
				verbs[name] = role.Rules[0].Verbs
			}
		}
	}
	if got := verbs["view"]; !slices.Equal(got, []string{"get", "list", "watch"}) {
		t.Errorf("the role view allows to %v HelmRequests", got)
	}
	if got := verbs["edit"]; !slices.Contains(got, "create") || !slices.Contains(got, "delete") {
		t.Errorf("the role edit allows to %v HelmRequests", got)
	}
}
