// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
)

// permissionChart is the chart of docs/permissions.md.
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

// TestPermissions does each operation of docs/permissions.md with the Role that the
// page has for it, and with each of its verbs missing in turn.
func TestPermissions(t *testing.T) {
	t.Parallel()
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
		// code is the exit code of a success.
		code int
		// late are the verbs that are found missing when something has been changed: all
		// of them, where it is "any", as Helm has it where there is no order.
		late []string
		// warned are those without which it succeeds all the same, with a warning: what
		// was done is not recorded, or something is left.
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
			begin := func(t *testing.T) *helm {
				t.Helper()
				h := newHelm(t)
				for _, args := range tt.before {
					h.ok(args...)
				}
				return h
			}
			h := begin(t)
			do := func(h *helm, rules []rbacv1.PolicyRule, account string) result {
				as := h.serviceAccount(t, account, rules)
				return h.run(append(as, tt.operation...)...)
			}
			for i, missing := range verbsOf(roles[name]) {
				what := missing.verb + " " + missing.resource
				account := fmt.Sprintf("without-%d", i)
				before := h.versions(t)
				r := do(h, missing.rest, account)
				if warned := slices.Contains(tt.warned, what); (r.code == 1) == warned {
					t.Errorf("without %s: exit code %d\n%s", what, r.code, r.stderr)
				}
				missing.expectNamed(t, r.stdout+r.stderr, h.namespace, account)
				after := h.versions(t)
				switch expected := slices.Contains(tt.late, what) || slices.Contains(tt.warned, what); {
				case maps.Equal(before, after) && expected:
					t.Errorf("without %s nothing was changed: it is not found late any more", what)
				case !maps.Equal(before, after):
					if !expected && !slices.Equal(tt.late, anyVerb) {
						t.Errorf("without %s something was changed: before\n%v\nafter\n%v\n%s", what, before, after, r.stderr)
					}
					h = begin(t)
				}
			}
			if r := do(h, roles[name], "allowed"); r.code != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", r.code, tt.code, r.stdout, r.stderr)
			}
		})
	}
}

// documentedRoles reads the Roles of docs/permissions.md, by name.
func documentedRoles(tb testing.TB) map[string][]rbacv1.PolicyRule {
	tb.Helper()
	page, err := os.ReadFile(filepath.Join(binaries.Root(tb), "docs", "permissions.md"))
	if err != nil {
		tb.Fatal(err)
	}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict(block[1], &role); err != nil {
			tb.Fatalf("%v in\n%s", err, block[1])
		}
		roles[role.Name] = role.Rules
	}
	return roles
}

// missingVerb is one verb on one resource, and the rules without it.
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

// expectNamed checks that a message names what is missing, as the server does or as
// what is asked before, and for whom or where.
func (m missingVerb) expectNamed(tb testing.TB, said, namespace, account string) {
	tb.Helper()
	asked := m.verb + " " + kinds[m.resource] + " in namespace " + namespace
	answered := `:` + account + `" cannot ` + m.verb + ` resource "` + m.resource + `"`
	if !strings.Contains(said, asked) && !strings.Contains(said, answered) {
		tb.Errorf("without %s it says neither %q nor %q:\n%s", m.verb+" "+m.resource, asked, answered, said)
	}
}

// serviceAccount makes an account with these permissions in the namespace, and returns
// the arguments by which the binary acts as it.
func (h *helm) serviceAccount(tb testing.TB, name string, rules []rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	ctx, client := tb.Context(), h.cluster.Client()
	meta := metav1.ObjectMeta{Name: name}
	_, err := client.CoreV1().ServiceAccounts(h.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		// A rule of its own tells when the whole Role is in force.
		sign := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"test.example"}, Resources: []string{"signs"}}
		_, err = client.RbacV1().Roles(h.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: append(slices.Clone(rules), sign)}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.RbacV1().RoleBindings(h.namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: h.namespace, Name: name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		}, metav1.CreateOptions{})
	}
	user := "system:serviceaccount:" + h.namespace + ":" + name
	if err == nil {
		err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, tooLong, true, func(ctx context.Context) (bool, error) {
			review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: h.namespace, Verb: "get", Group: "test.example", Resource: "signs",
				}},
			}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed, err
		})
	}
	if err != nil {
		tb.Fatalf("make an account: %v", err)
	}
	return []string{"--kube-as-user", user}
}

// versions are those of what releases consist of, and of the releases themselves, by
// kind and name; of what others write, too, the generation.
func (h *helm) versions(tb testing.TB) map[string]string {
	tb.Helper()
	found := map[string]string{}
	client := h.client
	for _, resource := range listed {
		if resource.Group == rbacv1.GroupName || resource.Resource == "serviceaccounts" {
			continue
		}
		list, err := client.Resource(resource).Namespace(h.namespace).List(tb.Context(), metav1.ListOptions{})
		if err != nil {
			tb.Fatal(err)
		}
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
