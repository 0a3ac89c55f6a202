// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// The exit codes of helm drift.
const (
	codeSame    = 0
	codeFailed  = 1
	codeDrifted = 2
)

// findDrift runs helm drift with -o json, and returns the differences: the objects with their states, and the
// paths of fields, sorted, as in "missing ConfigMap/a" and "ConfigMap/b data.value".
func findDrift(t *testing.T, h *harness.Helm, code int, args ...string) (found []string, r harness.Result) {
	t.Helper()
	r = h.Run(append([]string{"drift", "-o", "json"}, args...)...)
	if r.ExitCode != code {
		t.Fatalf("helm drift ended with %d, want %d:\n%s%s", r.ExitCode, code, r.Stdout, r.Stderr)
	}
	var output struct {
		Drifted  bool           `json:"drifted"`
		Releases []action.Drift `json:"releases"`
	}
	harness.NoError(t, json.Unmarshal([]byte(r.Stdout), &output))
	for _, release := range output.Releases {
		for _, o := range release.Objects {
			if len(o.Fields) == 0 {
				found = append(found, fmt.Sprintf("%s %s", o.State, o))
			}
			for _, f := range o.Fields {
				found = append(found, fmt.Sprintf("%s %s", o, f.Path))
			}
		}
	}
	slices.Sort(found)
	if drifted := slices.ContainsFunc(output.Releases, func(r action.Drift) bool { return r.Drifted }); drifted != output.Drifted {
		t.Errorf("drifted is %v in\n%s", output.Drifted, r.Stdout)
	}
	return found, r
}

func expectDrift(t *testing.T, h *harness.Helm, code int, args []string, want ...string) harness.Result {
	t.Helper()
	found, r := findDrift(t, h, code, args...)
	if !slices.Equal(found, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	return r
}

// ignoreFile writes an ignore file.
func ignoreFile(t *testing.T, rules string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "drift.yaml")
	harness.NoError(t, os.WriteFile(path, []byte("ignore:\n"+rules), 0o600))
	return path
}

// TestDriftCommand checks what helm drift finds.
//   - "prints in which fields the objects of releases differ"
//   - "An object that does not exist is missing"
//   - "Only what the revision declares is compared"
//   - "An object has drifted if it would be changed by applying its declaration again"
//   - "releases[] | release, namespace, revision, drifted, objects, unchanged"
//   - "objects[] | those that are not as declared"
//   - "fields[] | path, declared, live"
//   - "If the object is now owned by another release, this is said"
//   - "the field manager that has set it, and when that manager has last changed the object"
//   - "The exit code is 0 if all objects are as declared, 2 if any differs or is missing, and 1"
//   - "It sends one list request for each kind and namespace, and changes nothing"
//   - "With -o json, the result is an object with drifted and releases"
func TestDriftCommand(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"fields and objects":  driftOfFields,
		"list requests":       driftRequests,
		"kinds that are gone": driftOfGoneKinds,
		"forbidden kinds":     driftOfForbiddenKinds,
		"Secrets":             driftOfSecrets,
		"ignored differences": ignoredDrift,
		"plan with --ignore":  planWithIgnore,
		"all releases":        driftOfAll,
		"hooks and deploy-on": driftOfOthers,
	})
}

func driftOfFields(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right"), "--wait=ordered")
	expectDrift(t, h, codeSame, []string{"rel"})
	harness.ExpectContains(t, h.MustRun("drift", "rel").Stdout, "release rel in namespace "+h.Namespace+", revision 1: no drift, 3 unchanged\n")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong","foreign":"kept"}}`)
	h.Patch(t, "Deployment/app", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"wrong","env":[{"name":"V","value":"right"}]}]}}}}`)
	h.Delete(t, "ConfigMap/last")
	r := expectDrift(t, h, codeDrifted, []string{"rel"},
		"ConfigMap/first data.value", `Deployment/app metadata.annotations["meta.helm.sh/release-name"]`, "Deployment/app spec.template.spec.containers[name=c].image", "missing ConfigMap/last")
	harness.ExpectContains(t, r.Stdout, `"manager": "`, `"time": "`, `"declared": "right"`, `"live": "wrong"`, "it now belongs to release other in namespace "+h.Namespace)
	text := h.Run("drift", "rel")
	harness.ExpectContains(t, text.Stdout, "2 changed, 1 missing, 0 unchanged", "data.value: declared right, is wrong (", "  - missing ConfigMap/last in "+h.Namespace)
	if text.ExitCode != codeDrifted || text.Stderr != "" {
		t.Errorf("helm drift ended with %d: %s", text.ExitCode, text.Stderr)
	}
}

func driftRequests(t *testing.T, h *harness.Helm) {
	var objects []charts.Object
	for i := range 12 {
		objects = append(objects, charts.Object{Name: fmt.Sprintf("c%d", i), Value: "right"})
	}
	h.MustRun("install", "rel", charts.Write(t, append(objects, charts.Object{Kind: "Deployment", Name: "app"})...))
	h.Patch(t, "ConfigMap/c1", `{"metadata":{"labels":null}}`)
	h.Delete(t, "ConfigMap/c2")
	since := harness.Now()
	expectDrift(t, h, codeDrifted, []string{"rel"}, `ConfigMap/c1 metadata.labels["app.kubernetes.io/managed-by"]`, "missing ConfigMap/c2")
	var requests []string
	for _, e := range h.Cluster.Audit(t) {
		if e.Namespace == h.Namespace && !e.Received.Before(since) && strings.HasPrefix(e.UserAgent, "Helm/") && e.Stage == cluster.StageComplete && e.Resource != "secrets" {
			requests = append(requests, e.Verb+" "+e.Resource)
		}
	}
	slices.Sort(requests)
	if got := strings.Join(requests, ", "); got != "list configmaps, list deployments" {
		t.Errorf("helm sent %s", got)
	}
}

// driftOfGoneKinds
//   - "the cluster no longer serves the kind"
//   - "An error after all results says why, and what to do about it"
//   - "If the release itself defines the kind, its objects are missing together with the definition"
func driftOfGoneKinds(t *testing.T, h *harness.Helm) {
	group := h.Namespace + ".example"
	definition := charts.Definition(group, "Widget")
	h.Apply(t, definition.Manifest())
	definitions := h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	widget := charts.CustomResource(group, "Widget", "w")
	for _, flags := range [][]string{nil, {"--wait=ordered"}} {
		h.MustRun(append(flags, "upgrade", "--install", "rel", charts.Write(t, widget, charts.Object{Name: "own", Value: "right"}))...)
	}
	h.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
	harness.NoError(t, definitions.Delete(t.Context(), definition.Name, metav1.DeleteOptions{}))
	harness.Eventually(t, "the kind is no longer served", func() bool {
		_, err := h.Cluster.Client().Discovery().ServerResourcesForGroupVersion(group + "/v1")
		return err != nil
	})
	r := expectDrift(t, h, codeFailed, []string{"rel"}, "ConfigMap/own data.value", "unknown Widget/w")
	harness.ExpectContains(t, r.Stderr, "Widget/w: the cluster does not serve the kind Widget of "+group+"/v1: install its definition, or remove the object from the chart")

	definition.Layer, widget.Layer, widget.DependsOn = "definition", "widget", "definition"
	h.MustRun("install", "other", charts.Write(t, definition, widget), "--wait=ordered")
	harness.NoError(t, definitions.Delete(t.Context(), definition.Name, metav1.DeleteOptions{}))
	harness.Eventually(t, "the kind is no longer served", func() bool {
		_, err := h.Cluster.Client().Discovery().ServerResourcesForGroupVersion(group + "/v1")
		return err != nil
	})
	expectDrift(t, h, codeDrifted, []string{"other"}, "missing CustomResourceDefinition/"+definition.Name, "missing Widget/w")
}

// driftOfForbiddenKinds
//   - "the account may not read the object"
//   - "If the account may not list a kind, each object is read by itself"
func driftOfForbiddenKinds(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, charts.Object{Name: "a", Value: "right"}, charts.Object{Name: "b", Value: "right"}, charts.Object{Kind: "Deployment", Name: "app"}))
	h.Patch(t, "ConfigMap/a", `{"data":{"value":"wrong"}}`)
	as := h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
		rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"releases", "releaseversions", "leases"}})
	r := expectDrift(t, h, codeFailed, append(as, "rel"), "ConfigMap/a data.value", "unknown Deployment/app")
	harness.ExpectContains(t, r.Stderr, `Deployment/app: could not get information about the resource Deployment "app"`, "is forbidden", "grant the account the permission to list or get deployments.apps")
}

// driftOfSecrets
//   - "The contents of Secrets are masked, also in other objects"
func driftOfSecrets(t *testing.T, h *harness.Helm) {
	const password, other = "correct-horse-battery", "staple-in-the-cluster"
	secret := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: " + password + "}\n"
	h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("right")+secret))
	expectDrift(t, h, codeSame, []string{"rel"})
	h.Patch(t, "Secret/s", `{"stringData":{"password":"`+other+`"}}`)
	h.Patch(t, "ConfigMap/own", `{"data":{"value":"`+other+" and "+password+`"}}`)
	r := expectDrift(t, h, codeDrifted, []string{"rel"}, "ConfigMap/own data.value", "Secret/s data.password")
	harness.ExpectContains(t, r.Stdout, `"live": "*** (changed)"`, `"live": "****** and ******"`)
	for _, text := range []string{r.Stdout, h.Run("drift", "rel").Stdout} {
		if strings.Contains(text, "horse") || strings.Contains(text, "staple") || strings.Contains(text, "Y29ycmVjd") {
			t.Errorf("the output contains a password:\n%s", text)
		}
	}
}

// ignoredDrift
//   - "names a file with rules about differences that do not count"
//   - "The file must be a local file"
func ignoredDrift(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right"), "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"wrong","env":[{"name":"V","value":"right"}]}]}}}}`)
	h.Delete(t, "ConfigMap/last")
	rules := "- {match: {kind: Deployment.apps}, fields: ['**.image']}\n- {match: {name: 'la*'}}\n- {match: {kind: ConfigMap}, fields: [data], managers: [somebody]}\n- {match: {kind: Job}}\n"
	r := expectDrift(t, h, codeDrifted, []string{"rel", "--ignore", ignoreFile(t, rules)}, "ConfigMap/first data.value")
	harness.ExpectContains(t, r.Stderr, "WARNING: ", "drift.yaml:5: ignore[3] matches no object")
	expectDrift(t, h, codeSame, []string{"rel", "--ignore", ignoreFile(t, rules+"- {match: {}, managers: ['*']}\n")})
	for argument, want := range map[string]string{"-": "cannot be read from standard input", "https://example.com/a": "must be a local file, not a URL", ignoreFile(t, "- {matches: {}}\n"): "did you mean match?"} {
		if r := h.Run("drift", "rel", "--ignore", argument); r.ExitCode != codeFailed || !strings.Contains(r.Stderr, want) {
			t.Errorf("--ignore %s ended with %d: %s", argument, r.ExitCode, r.Stderr)
		}
	}
}

// planWithIgnore
//   - "--ignore of helm plan uses the same files"
func planWithIgnore(t *testing.T, h *harness.Helm) {
	chart := charts.ThreeLayers(t, "right")
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"metadata":{"annotations":{"foreign":"kept"}},"spec":{"containers":[{"name":"c","image":"wrong","env":[{"name":"V","value":"right"}]}]}}}}`)
	ignore := ignoreFile(t, "- {match: {kind: ConfigMap}, fields: [data.value]}\n")
	r := h.Run("plan", "rel", chart, "--wait=ordered", "--ignore", ignore)
	if r.ExitCode != codeDrifted || strings.Contains(r.Stdout, "ConfigMap/first") || !strings.Contains(r.Stdout, "~ change Deployment/app") {
		t.Errorf("helm plan ended with %d:\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	all := ignoreFile(t, "- {match: {}, fields: [data, '**.image'], managers: ['*']}\n")
	r = h.Run("plan", "rel", chart, "--wait=ordered", "--all", "--ignore", all)
	if r.ExitCode != codeSame {
		t.Errorf("helm plan ended with %d:\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	harness.ExpectContains(t, r.Stdout, "= unchanged ConfigMap/first in "+h.Namespace+" (only fields that are ignored would change (--ignore))")
}

// driftOfAll
//   - "--all compares all deployed releases of the namespace"
//   - "A release that is not deployed, or is locked, is an error"
func driftOfAll(t *testing.T, h *harness.Helm) {
	for _, name := range []string{"one", "two"} {
		h.MustRun("install", name, charts.Write(t, charts.Object{Name: name, Value: "right"}))
	}
	h.Run("upgrade", "two", charts.WriteTemplate(t, "apiVersion: v1\nkind: Unknown\nmetadata: {name: a}\n"))
	expectDrift(t, h, codeSame, []string{"--all"})
	h.Patch(t, "ConfigMap/one", `{"data":{"value":"wrong"}}`)
	expectDrift(t, h, codeDrifted, []string{"--all"}, "ConfigMap/one data.value")
	everywhere := h.RunIn("default", "drift", "--all", "-A") // other tests have releases, too
	harness.ExpectContains(t, everywhere.Stdout, "release one in namespace "+h.Namespace+", revision 1: 1 changed, 0 unchanged\n", "~ changed ConfigMap/one in "+h.Namespace)
	r := expectDrift(t, h, codeFailed, []string{"one", "missing"}, "ConfigMap/one data.value")
	harness.ExpectContains(t, r.Stderr, "release missing: release: not found")
	for _, args := range [][]string{{}, {"one", "--all"}, {"one", "-A"}} {
		if r := h.Run(append([]string{"drift"}, args...)...); r.ExitCode != codeFailed {
			t.Errorf("helm drift %v ended with %d", args, r.ExitCode)
		}
	}
}

// driftOfOthers
//   - "Hooks are not compared, nor objects that do not take part"
//   - "a Job that ttlSecondsAfterFinished has removed"
func driftOfOthers(t *testing.T, h *harness.Helm) {
	job := "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {ttlSecondsAfterFinished: 100, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
	skipped := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: upgrades, annotations: {helm.sh/deploy-on: upgrade}}\n"
	hook := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\ndata: {value: right}\n"
	h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("right")+job+skipped+hook), "--wait=ordered")
	h.Delete(t, "Job/j")
	h.Delete(t, "ConfigMap/hook")
	harness.Eventually(t, "the Job is deleted", func() bool { return h.Get(t, "Job/j") == nil })
	expectDrift(t, h, codeSame, []string{"rel"})
}

// randomChart contains objects whose declared fields TestRandomDrift changes.
const randomChart = `
{{- range $i := until 6 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config-{{ $i }}, labels: {tier: web, app: shop}, annotations: {example.com/owner: team}}
data: {one: "1", two: "2", app.properties: "a=b"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-{{ $i }}}
spec:
  replicas: 1
  minReadySeconds: 0
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: web-{{ $i }}}}
  template:
    metadata: {labels: {app: web-{{ $i }}}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - {name: web, image: web, args: [a, b], env: [{name: A, value: "1"}, {name: B, value: "2"}], resources: {requests: {cpu: 1000m, memory: 1024Mi}}}
      - {name: side, image: side}
---
apiVersion: v1
kind: Service
metadata: {name: web-{{ $i }}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}, {name: metrics, port: 81}]}
{{- end }}
`

// TestRandomDrift changes random declared fields of random objects, and checks that helm drift finds exactly those.
//   - "Fields that others have added, defaults of the server, and values that the server stores in another form do not count"
func TestRandomDrift(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, randomChart))
	expectDrift(t, h, codeSame, []string{"rel"})
	containers := `[{"name":"web","image":"web","args":%s,"env":[{"name":"A","value":"1"},{"name":"B","value":%q}],"resources":{"requests":{"cpu":%q,"memory":"1Gi"}}},{"name":"side","image":%q}]`
	pods := func(text string) string { return `{"spec":{"template":{"spec":{"containers":` + text + `}}}}` }
	changes := []struct{ kind, path, patch string }{
		{"ConfigMap", "data.one", `{"data":{"one":"x","foreign":"y"}}`},
		{"ConfigMap", "data.two", `{"data":{"two":null}}`},
		{"ConfigMap", `data["app.properties"]`, `{"data":{"app.properties":"a=c"}}`},
		{"ConfigMap", "metadata.labels.tier", `{"metadata":{"labels":{"tier":"db"}}}`},
		{"ConfigMap", `metadata.annotations["example.com/owner"]`, `{"metadata":{"annotations":{"example.com/owner":null,"foreign":"a"}}}`},
		{"Deployment", "spec.replicas", `{"spec":{"replicas":2}}`},
		{"Deployment", "spec.revisionHistoryLimit", `{"spec":{"revisionHistoryLimit":null}}`},
		{"Deployment", "spec.template.spec.containers[name=web].args", pods(fmt.Sprintf(containers, `["a"]`, "2", "1", "side"))},
		{"Deployment", "spec.template.spec.containers[name=web].env[name=B].value", pods(fmt.Sprintf(containers, `["a","b"]`, "3", "1", "side"))},
		{"Deployment", "spec.template.spec.containers[name=web].resources.requests.cpu", pods(fmt.Sprintf(containers, `["a","b"]`, "2", "2", "side"))},
		{"Deployment", "spec.template.spec.containers[name=side].image", pods(fmt.Sprintf(containers, `["a","b"]`, "2", "1", "other"))},
		{"Service", "spec.selector.app", `{"spec":{"selector":{"app":"x"}}}`},
		{"Service", "spec.ports[port=80].targetPort", `{"spec":{"ports":[{"name":"http","port":80,"targetPort":9090},{"name":"metrics","port":81,"targetPort":81}]}}`},
	}
	prefixes := map[string]string{"ConfigMap": "config", "Deployment": "web", "Service": "web"}
	first, count := harness.Seeds(t, 6)
	for seed := first; seed < first+count; seed++ {
		random := rand.New(rand.NewPCG(seed, 0))
		var want []string
		for i := range 6 {
			c := changes[random.IntN(len(changes))]
			id := fmt.Sprintf("%s/%s-%d", c.kind, prefixes[c.kind], i)
			if random.IntN(8) == 0 {
				h.Delete(t, id)
				harness.Eventually(t, "the object is deleted", func() bool { return h.Get(t, id) == nil })
				want = append(want, "missing "+id)
				continue
			}
			h.Patch(t, id, c.patch)
			want = append(want, id+" "+c.path)
		}
		slices.Sort(want)
		if found, _ := findDrift(t, h, codeDrifted, "rel"); !slices.Equal(found, want) {
			t.Errorf("seed %d: found\n%s\nwant\n%s", seed, strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
		_, err := newProgram(h).try(t.Context(), t)
		harness.NoError(t, err)
		expectDrift(t, h, codeSame, []string{"rel"})
	}
}
