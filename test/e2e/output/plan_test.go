// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// plan runs `helm plan` and returns the plan. It checks the exit code, and that the API server
// received only reads and dry runs.
func plan(tb testing.TB, h *harness.Helm, code int, args ...string) *action.Preview {
	tb.Helper()
	before := h.Statuses(tb, "rel")
	from := harness.Now()
	r := h.Run(append([]string{"plan", "rel", "-o", "json"}, args...)...)
	if r.ExitCode != code {
		tb.Fatalf("helm plan %q: exit code %d, want %d\n%s%s", args, r.ExitCode, code, r.Stdout, r.Stderr)
	}
	for _, e := range h.Cluster.AuditIn(tb, h.Namespace) {
		reads := e.Verb == "get" || e.Verb == "list" || e.Verb == "watch"
		if !reads && !e.Received.Before(from) && strings.HasPrefix(e.UserAgent, "Helm/") && !strings.Contains(e.URI, "dryRun=All") && !isDryDelete(e.Verb, e.Request) {
			tb.Errorf("the plan did %s %s", e.Verb, e.URI)
		}
	}
	if after := h.Statuses(tb, "rel"); after != before {
		tb.Errorf("the revisions are %q, were %q", after, before)
	}
	p := &action.Preview{}
	if err := json.Unmarshal([]byte(r.Stdout), p); err != nil {
		tb.Fatalf("%v\n%s", err, r.Stdout)
	}
	return p
}

// isDryDelete reports whether a request is a deletion that is a dry run, which its body says.
func isDryDelete(verb string, request []byte) bool {
	var options metav1.DeleteOptions
	return verb == "delete" && json.Unmarshal(request, &options) == nil && slices.Equal(options.DryRun, []string{metav1.DryRunAll})
}

// plannedObjects returns the "Kind/name" of the objects for which an action is planned,
// sorted.
func plannedObjects(p *action.Preview, what action.PreviewAction) []string {
	list := []string{}
	for _, nodes := range [][]action.PreviewNode{p.Nodes, p.Removed} {
		for _, n := range nodes {
			for _, o := range n.Objects {
				switch {
				case o.Action == what, o.Action == action.PreviewRename && what == action.PreviewCreate:
					list = append(list, o.Kind+"/"+o.Name)
				case o.Action == action.PreviewRename && what == action.PreviewDelete:
					list = append(list, o.Kind+"/"+o.Was)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// sequence returns the planned actions and their objects as one line, in the order of the
// plan.
func sequence(nodes []action.PreviewNode) string {
	var list []string
	for _, n := range nodes {
		for _, o := range n.Objects {
			list = append(list, string(o.Action)+" "+o.Kind+"/"+o.Name)
		}
	}
	return strings.Join(list, ", ")
}

// TestPlanMatchesUpgrade checks with the audit log that an upgrade does what `helm plan`
// printed before.
func TestPlanMatchesUpgrade(t *testing.T) {
	t.Parallel()
	object := func(name, layer, after string) charts.Object {
		return charts.Object{Name: name, Layer: layer, DependsOn: after}
	}
	valued := func(p charts.Object, value string) charts.Object { p.Value = value; return p }
	kept := func(p charts.Object) charts.Object {
		p.Annotations = append(p.Annotations, "helm.sh/resource-policy: keep")
		return p
	}
	web := charts.Object{Kind: "Deployment", Name: "web", Layer: "web", DependsOn: "base", Annotations: charts.LongTimeout}
	const ordered = "--wait=ordered"
	for _, tt := range []struct {
		name   string
		before []charts.Object
		// between runs between the install and the plan.
		between func(t *testing.T, h *harness.Helm)
		after   []charts.Object
		flags   []string
		code    int
		nodes   string
		removed string
	}{
		{
			name: "nothing to do", before: []charts.Object{object("a", "base", ""), web}, after: []charts.Object{object("a", "base", ""), web}, flags: []string{ordered},
			nodes: "unchanged ConfigMap/a, unchanged Deployment/web",
		},
		{
			name: "names with the revision", before: []charts.Object{object("a", "base", ""), object("job-{{ .Release.Revision }}", "base", "")},
			after: []charts.Object{object("a", "base", ""), object("job-{{ .Release.Revision }}", "base", "")}, flags: []string{ordered},
			nodes: "unchanged ConfigMap/a, rename ConfigMap/job-2",
		},
		{
			name: "names with the revision, and a change", before: []charts.Object{object("job-{{ .Release.Revision }}", "", "")},
			after: []charts.Object{valued(object("job-{{ .Release.Revision }}", "", ""), "2")}, code: 2,
			nodes: "create ConfigMap/job-2", removed: "delete ConfigMap/job-1",
		},
		{
			name:   "everything there is, in order",
			before: []charts.Object{valued(object("a", "base", ""), "1"), object("b", "base", ""), web, object("gone", "end", "web"), kept(object("kept", "end", "web")), object("old", "base", "")},
			after:  []charts.Object{valued(object("a", "base", ""), "2"), object("b", "base", ""), valued(web, "new"), object("fresh", "end", "web")},
			flags:  []string{ordered}, code: 2,
			nodes:   "change ConfigMap/a, unchanged ConfigMap/b, change Deployment/web, create ConfigMap/fresh",
			removed: "delete ConfigMap/gone, keep ConfigMap/kept, delete ConfigMap/old",
		},
		{
			name:   "without an order",
			before: []charts.Object{valued(object("a", "", ""), "1"), object("gone", "", ""), kept(object("kept", "", "")), object("same", "", "")},
			after:  []charts.Object{valued(object("a", "", ""), "2"), object("fresh", "", ""), object("same", "", "")},
			code:   2,
			nodes:  "change ConfigMap/a, create ConfigMap/fresh, unchanged ConfigMap/same", removed: "delete ConfigMap/gone, keep ConfigMap/kept",
		},
		{
			name: "what somebody else has changed and deleted", before: []charts.Object{valued(object("a", "base", ""), "1"), object("b", "base", ""), object("c", "base", "")},
			after: []charts.Object{valued(object("a", "base", ""), "1"), object("b", "base", "")}, flags: []string{ordered}, code: 2,
			between: func(t *testing.T, h *harness.Helm) {
				h.Patch(t, "ConfigMap/a", `{"data": {"value": "mine", "other": "mine"}}`)
				h.Delete(t, "ConfigMap/b")
				h.Delete(t, "ConfigMap/c")
			},
			nodes: "change ConfigMap/a, create ConfigMap/b",
		},
		{
			name: "after a revision that failed", before: []charts.Object{object("a", "base", "")},
			between: func(t *testing.T, h *harness.Helm) {
				h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, object("left", "base", ""),
					charts.Object{Kind: "Deployment", Name: "stuck", Layer: "stuck", DependsOn: "base", PodAnnotations: charts.NeverReady, Annotations: charts.ShortTimeout}, object("end", "end", "stuck")), ordered})
			},
			after: []charts.Object{object("a", "base", "")}, flags: []string{ordered}, code: 2,
			nodes: "unchanged ConfigMap/a", removed: "delete Deployment/stuck, delete ConfigMap/left",
		},
		{
			name: "by force", before: []charts.Object{valued(object("a", "base", ""), "1")}, after: []charts.Object{valued(object("a", "base", ""), "2")},
			flags: []string{ordered, "--force"}, code: 2, nodes: "change ConfigMap/a",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun(append([]string{"install", "rel", charts.Write(t, tt.before...)}, slices.DeleteFunc(slices.Clone(tt.flags), func(f string) bool { return f == "--force" })...)...)
			if tt.between != nil {
				tt.between(t, h)
			}
			chart := charts.Write(t, tt.after...)
			p := plan(t, h, tt.code, append([]string{chart}, tt.flags...)...)
			if got := sequence(p.Nodes); got != tt.nodes {
				t.Errorf("it deploys %s\nwant %s", got, tt.nodes)
			}
			if got := sequence(p.Removed); got != tt.removed {
				t.Errorf("it removes %s\nwant %s", got, tt.removed)
			}
			h.Started = harness.Now()
			h.MustRun(append([]string{"upgrade", "rel", chart}, tt.flags...)...)
			did := h.ReadTrace(t).Since(h.Started)
			for what, verbs := range map[action.PreviewAction][]string{
				action.PreviewCreate: {"create"}, action.PreviewChange: {"patch", "update"}, action.PreviewDelete: {"delete"},
			} {
				if got, want := did.WrittenByHelm(verbs...), plannedObjects(p, what); !slices.Equal(got, want) {
					t.Errorf("the upgrade did %s %q, the plan says %q", what, got, want)
				}
			}
			if again := plan(t, h, 0, append([]string{chart}, slices.DeleteFunc(slices.Clone(tt.flags), func(f string) bool { return f == "--force" })...)...); again.Changes {
				t.Errorf("afterwards the plan is %+v", again)
			}
		})
	}
}

// TestPlanOfRejectedObjects checks that a plan contains the server's message about an object
// that the server rejects.
func TestPlanOfRejectedObjects(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	web := charts.Object{Kind: "Deployment", Name: "web", Layer: "web", Annotations: charts.LongTimeout}
	h.MustRun("install", "rel", charts.Write(t, web, charts.Object{Name: "a", DependsOn: "web"}), "--wait=ordered")
	immutable := charts.WriteTemplate(t, strings.ReplaceAll(web.Manifest(), "app: web", "app: other")+charts.Object{Name: "a", DependsOn: "web", Value: "2"}.Manifest())
	p := plan(t, h, 1, immutable, "--wait=ordered")
	if got := sequence(p.Nodes); got != "fail Deployment/web, change ConfigMap/a" || !p.Fails || !p.Changes {
		t.Errorf("the plan is %s", got)
	}
	if text := p.Nodes[0].Objects[0].Error; text != "spec.selector is immutable: rename the object in the chart, or delete and create it again with --recreate Deployment/web" {
		t.Errorf("it says %q", text)
	}
	h.ExpectFailure(t, []string{"upgrade", "rel", immutable, "--wait=ordered"}, "Deployment/web could not be applied: cannot patch \"web\" with kind Deployment: "+
		"Deployment.apps \"web\" is invalid: spec.selector: field is immutable\n", "    an immutable field can be set only in a new object: rename the object in the chart, or delete and create it again with --recreate Deployment/web\n")
	r := h.Run("plan", "rel", immutable, "--wait=ordered")
	harness.ExpectContains(t, r.Stdout, "1 to change, 1 would fail", "! would fail Deployment/web", "spec.selector is immutable")
	if r.ExitCode != 1 || r.Stderr != "" {
		t.Errorf("exit code %d, %q", r.ExitCode, r.Stderr)
	}

	h.MustRun("install", "other", charts.Write(t, charts.Object{Name: "theirs"}))
	h.ExpectFailure(t, []string{"plan", "rel", charts.Write(t, web, charts.Object{Name: "theirs"}), "--wait=ordered"},
		"Unable to continue with update", "exists and cannot be imported into the current release")
	h.ExpectFailure(t, []string{"plan", "rel", charts.Write(t, charts.Object{Name: "a", Layer: "a", DependsOn: "b"}, charts.Object{Name: "b", Layer: "b", DependsOn: "a"}), "--wait=ordered"}, "dependency cycle")
	h.ExpectFailure(t, []string{"plan", "nobody", charts.Write(t, web)}, "has no deployed releases")
	missing := *h
	missing.Namespace += "-missing"
	failed := missing.Run("plan", "new", charts.Write(t, web, charts.Object{Name: "a"}), "--install")
	if failed.ExitCode != 1 || failed.Stdout != "" || strings.Count(failed.Stderr, "does not exist, so ConfigMap/a, Deployment/web cannot be created") != 1 || strings.Count(failed.Stderr, "\n") != 1 {
		t.Errorf("exit code %d\n%s%s", failed.ExitCode, failed.Stdout, failed.Stderr)
	}
}

// TestPlanRedactsSecrets checks that a plan does not contain the values of changed Secrets,
// even if other objects contain the same values.
func TestPlanRedactsSecrets(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := func(password string) string {
		return charts.WriteTemplate(t, `---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: "`+password+`", user: administrator}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {url: "https://administrator:`+password+`@db"}
`)
	}
	h.MustRun("install", "rel", chart("first-secret-value"))
	h.Patch(t, "Secret/s", `{"stringData": {"password": "by-somebody-else"}}`)
	for _, format := range []string{"text", "json"} {
		r := h.Run("plan", "rel", chart("second secret value, of several words that are long enough to be wrapped onto a second line"), "-o", format)
		if r.ExitCode != 2 || !strings.Contains(r.Stdout, "*** (changed)") || !strings.Contains(r.Stdout, "******") || !strings.Contains(r.Stdout, "@db (changed)") {
			t.Errorf("exit code %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
		}
		for _, secret := range []string{"first-secret", "second secret", "several words", "second line", "somebody-else", "administrator", "Zmlyc3", "YWRtaW5pc3RyYXRvcg"} {
			if strings.Contains(r.Stdout+r.Stderr, secret) {
				t.Errorf("-o %s tells %q:\n%s%s", format, secret, r.Stdout, r.Stderr)
			}
		}
	}
}

// TestPlanOfInstall checks the plan of an install whose objects the server cannot check,
// because the release itself creates their kinds and namespaces.
func TestPlanOfInstall(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".plan.example"
	widgets, widget := charts.Definition(group, "Widget"), charts.CustomResource(group, "Widget", "w")
	widgets.Layer, widget.Layer, widget.DependsOn = "definitions", "widgets", "definitions"
	made := charts.Definition(group, "Made").Manifest()
	dir := charts.Chart{
		Template: charts.Manifests(widgets, widget, charts.CustomResource(group, "Made", "m")) +
			"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + h.Namespace + "-more, annotations: {helm.sh/layer: definitions}}\n",
		Objects:   []charts.Object{{Name: "c", Namespace: h.Namespace + "-more"}},
		Templates: map[string]string{"hook.yaml": hookJob("before", "pre-install") + hookJob("later", "pre-upgrade")},
		CRDs:      made,
	}.Write(t)
	r := h.Run("plan", "rel", dir, "--install", "--wait=ordered")
	if r.ExitCode != 2 || r.Stderr != "" {
		t.Errorf("exit code %d: %s", r.ExitCode, r.Stderr)
	}
	want := "install of release rel in namespace " + h.Namespace + ", to revision 1, in order: 6 to create\n\nfirst\n" +
		"  + create CustomResourceDefinition/mades." + group + "\n\n" +
		"pre-install hooks\n  weight 0\n    - Job/before (app)\n\napp:definitions\n" +
		"  + create Namespace/" + h.Namespace + "-more\n  + create CustomResourceDefinition/widgets." + group + "\n\napp:widgets\n" +
		"  + create Widget/w in " + h.Namespace + " (its kind is defined by this release)\n\napp\n" +
		"  + create ConfigMap/c in " + h.Namespace + "-more (its namespace is created by this release)\n" +
		"  + create Made/m in " + h.Namespace + " (its kind is defined by this release)\n"
	if r.Stdout != want {
		t.Errorf("got:\n%s\nwant:\n%s", r.Stdout, want)
	}
	dir = charts.Chart{CRDs: made, Objects: []charts.Object{charts.CustomResource(group, "Made", "m"), {Name: "a"}}}.Write(t)
	if got := h.Run("plan", "rel", dir, "--install"); got.ExitCode != 2 || !strings.Contains(got.Stdout, "without an order: 3 to create") {
		t.Errorf("without an order: exit code %d\n%s%s", got.ExitCode, got.Stdout, got.Stderr)
	}
	h.ExpectFailure(t, []string{"status", "rel"}, "release: not found")
	h.ExpectEmptyNamespace(t)
}

func hookJob(name, event string) string {
	return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: " + event + "}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
}
