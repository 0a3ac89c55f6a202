// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// permissionChart is the chart for which docs/permissions.md lists the permissions.
const permissionChart = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/layer: first}}
data: {value: "{{ .Values.value }}"}
{{- if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, annotations: {helm.sh/layer: first}}
{{- end }}
{{- if .Values.web }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {helm.sh/layer: web, helm.sh/depends-on/layers: first}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {devcluster/after: 1s}} # so that it is looked at more than once
    spec: {containers: [{name: c, image: "i:{{ .Values.image }}"}]}
{{- end }}
{{- if .Values.hooks }}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: trial, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
{{- end }}
`

// TestDocumentedPermissions runs each operation in docs/permissions.md with the Role that the
// page lists for it, which must be sufficient. Then it runs the operation once for each verb
// of the Role without that verb, which must fail or print a warning.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "these Roles grant no permissions for releases as objects")
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata, "values.yaml": "value: one\nextra: true\nweb: true\nhooks: false\nimage: one\n", "templates/all.yaml": permissionChart,
	})
	with := func(args ...string) []string { return append([]string{args[0], "rel", chart}, args[1:]...) }
	const ordered, changed, rolledOut, hooks = "--wait=ordered", "--set=value=two,extra=false", "--set=value=two,extra=false,image=two", "--set=hooks=true,web=false,extra=false"
	type steps = [][]string
	anyVerb := []string{"any"}
	cases := map[string]struct {
		before    steps
		operation []string
		// code is the exit code if the operation succeeds.
		code int
		// late contains the verbs without which the operation fails only after it has changed
		// something. "any" stands for all verbs: without an order, permissions are not checked
		// beforehand, as in stock Helm.
		late []string
		// warned contains the verbs without which the operation succeeds with a warning,
		// because its result is not recorded or something is left in the cluster.
		warned []string
	}{
		"helm-read":         {before: steps{with("install")}, operation: []string{"status", "rel"}},
		"helm-install":      {operation: with("install"), late: anyVerb, warned: []string{"update secrets"}},
		"helm-install-wait": {operation: with("install", "--wait"), late: anyVerb, warned: []string{"update secrets"}},
		"helm-install-ordered": {
			operation: with("install", ordered), warned: []string{"update secrets"},
		},
		"helm-upgrade": {
			before: steps{with("install")}, operation: with("upgrade", changed), late: anyVerb, warned: []string{"delete configmaps"},
		},
		"helm-upgrade-ordered": {
			before: steps{with("install", ordered)}, operation: with("upgrade", ordered, rolledOut),
			late: []string{"get secrets", "update secrets", "patch configmaps", "patch deployments"},
		},
		"helm-upgrade-install": {operation: with("upgrade", "--install", ordered), warned: []string{"update secrets"}},
		"helm-rollback": {
			before: steps{with("install", ordered), with("upgrade", ordered, rolledOut)}, operation: []string{"rollback", "rel"},
			late: []string{"get secrets", "update secrets", "patch configmaps", "patch deployments"},
		},
		"helm-uninstall": {before: steps{with("install")}, operation: []string{"uninstall", "rel"}, late: anyVerb},
		"helm-uninstall-ordered": {
			before: steps{with("install", ordered)}, operation: []string{"uninstall", "rel"},
			late: []string{"delete secrets", "get configmaps", "delete configmaps"},
		},
		"helm-plan":  {before: steps{with("install", ordered)}, operation: with("plan", ordered, rolledOut), code: 2},
		"helm-hooks": {operation: with("install", ordered, hooks), late: []string{"watch jobs", "create jobs", "delete jobs"}, warned: []string{"update secrets"}},
		"helm-test":  {before: steps{with("install", ordered, hooks)}, operation: []string{"test", "rel"}, late: anyVerb},
	}
	roles := documentedRoles(t)
	if got, want := slices.Sorted(maps.Keys(roles)), slices.Sorted(maps.Keys(cases)); !slices.Equal(got, want) {
		t.Fatalf("the page has the roles %q, and %q are tested", got, want)
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := func(t *testing.T) *harness.Helm {
				t.Helper()
				h := harness.New(t)
				for _, args := range tt.before {
					h.MustRun(args...)
				}
				return h
			}
			h := begin(t)
			do := func(h *harness.Helm, rules []rbacv1.PolicyRule, account string) harness.Result {
				as := h.CreateServiceAccount(t, account, rules)
				return h.Run(append(as, tt.operation...)...)
			}
			for i, missing := range verbsOf(roles[name]) {
				what := missing.verb + " " + missing.resource
				account := fmt.Sprintf("without-%d", i)
				before := resourceVersions(t, h)
				r := do(h, missing.rest, account)
				if warned := slices.Contains(tt.warned, what); (r.ExitCode == 1) == warned {
					t.Errorf("without %s: exit code %d\n%s", what, r.ExitCode, r.Stderr)
				}
				missing.expectNamed(t, r.Stdout+r.Stderr, h.Namespace, account)
				after := resourceVersions(t, h)
				switch expected := slices.Contains(tt.late, what) || slices.Contains(tt.warned, what); {
				case maps.Equal(before, after) && expected:
					t.Errorf("without %s nothing was changed: it is not found late any more", what)
				case !maps.Equal(before, after):
					if !expected && !slices.Equal(tt.late, anyVerb) {
						t.Errorf("without %s something was changed: before\n%v\nafter\n%v\n%s", what, before, after, r.Stderr)
					}
					h = begin(t)
				}
			}
			if r := do(h, roles[name], "allowed"); r.ExitCode != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", r.ExitCode, tt.code, r.Stdout, r.Stderr)
			}
		})
	}
}

// documentedRoles returns the rules of the Roles in docs/permissions.md, by name of the Role.
func documentedRoles(tb testing.TB) map[string][]rbacv1.PolicyRule {
	tb.Helper()
	page, err := os.ReadFile(filepath.Join(binaries.Root(tb), "docs", "permissions.md"))
	harness.NoError(tb, err)
	roles := map[string][]rbacv1.PolicyRule{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		if strings.HasPrefix(string(block[1]), "kind: ClusterRole\n") {
			continue // the tests in test/e2e/state are about these
		}
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict(block[1], &role); err != nil {
			tb.Fatalf("%v in\n%s", err, block[1])
		}
		roles[role.Name] = role.Rules
	}
	return roles
}

// missingVerb is a verb on a resource, with the rules of a Role from which it was removed.
type missingVerb struct {
	verb, resource string
	rest           []rbacv1.PolicyRule
}

func verbsOf(rules []rbacv1.PolicyRule) []missingVerb {
	var list []missingVerb
	for i, rule := range rules {
		for n, verb := range rule.Verbs {
			less := slices.Clone(rules)
			less[i].Verbs = slices.Delete(slices.Clone(rule.Verbs), n, n+1)
			if len(less[i].Verbs) == 0 {
				less = slices.Delete(less, i, i+1)
			}
			list = append(list, missingVerb{verb, rule.Resources[0], less})
		}
	}
	return list
}

// expectNamed checks that a message names the missing permission and the account or the
// namespace. The message can be the server's, or that of the check before the operation.
func (m missingVerb) expectNamed(tb testing.TB, said, namespace, account string) {
	tb.Helper()
	asked := m.verb + " " + harness.Kinds[m.resource] + " in namespace " + namespace
	answered := `:` + account + `" cannot ` + m.verb + ` resource "` + m.resource + `"`
	if !strings.Contains(said, asked) && !strings.Contains(said, answered) {
		tb.Errorf("without %s it says neither %q nor %q:\n%s", m.verb+" "+m.resource, asked, answered, said)
	}
}

// resourceVersions returns the resource versions of the objects of releases and of the stored
// revisions, by kind and name, to detect changes. For objects that controllers write too, it
// returns the generation instead.
func resourceVersions(tb testing.TB, h *harness.Helm) map[string]string {
	tb.Helper()
	found := map[string]string{}
	client := h.Client
	for _, resource := range harness.Resources {
		if resource.Group == rbacv1.GroupName || resource.Resource == "serviceaccounts" {
			continue
		}
		list, err := client.Resource(resource).Namespace(h.Namespace).List(tb.Context(), metav1.ListOptions{})
		harness.NoError(tb, err)
		for i := range list.Items {
			item := &list.Items[i]
			version := item.GetResourceVersion()
			if item.GetGeneration() > 0 {
				version = fmt.Sprint(item.GetUID(), item.GetGeneration())
			}
			if len(item.GetOwnerReferences()) == 0 {
				found[item.GetKind()+"/"+item.GetName()] = version
			}
		}
	}
	return found
}
