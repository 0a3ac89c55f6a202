// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package savedplan

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// templates has objects of several kinds, in an order, with a password that is generated anew at every rendering.
const templates = `
apiVersion: v1
kind: Secret
metadata: {name: password, annotations: {helm.sh/layer: first}}
stringData: {password: {{ randAlphaNum 20 }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {helm.sh/layer: second, helm.sh/depends-on/layers: '["first"]'}}
spec:
  {{- with .Values.replicas }}
  replicas: {{ . }}
  {{- end }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: {{ .Values.image }}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pod-{{ .Values.image }}}
spec: {containers: [{name: c, image: one}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: one}]}}}
`

func writeChart(t *testing.T) string {
	t.Helper()
	return charts.WriteFiles(t, map[string]string{"Chart.yaml": charts.Metadata, "values.yaml": "image: one\n", "templates/all.yaml": templates})
}

// save saves a plan, and returns its path and digest.
func save(t *testing.T, h *harness.Helm, args ...string) (path, digest string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rel.plan")
	r := h.Run(slices.Concat([]string{"plan", "rel"}, args, []string{"--save", path, "-o", "json"})...)
	var printed struct{ Saved struct{ File, Digest string } }
	if err := json.Unmarshal([]byte(r.Stdout), &printed); err != nil || printed.Saved.File != path || r.ExitCode != 2 {
		t.Fatalf("exit code %d, %v\n%s%s", r.ExitCode, err, r.Stdout, r.Stderr)
	}
	return path, printed.Saved.Digest
}

// read returns what a plan contains.
func read(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	harness.NoError(t, err)
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	var plan map[string]any
	harness.NoError(t, json.Unmarshal(rest, &plan))
	return plan
}

// expectRefused checks that helm fails with a message that contains all of want, and changes nothing.
func expectRefused(t *testing.T, h *harness.Helm, args []string, want ...string) {
	t.Helper()
	before := versions(t, h)
	r := h.Run(args...)
	if r.ExitCode != 1 {
		t.Errorf("exit code %d", r.ExitCode)
	}
	harness.ExpectContains(t, r.Stderr, want...)
	if after := versions(t, h); after != before {
		t.Error("an object was changed")
	}
}

// versions returns the UIDs and contents of the objects in the namespace.
func versions(t *testing.T, h *harness.Helm) string {
	t.Helper()
	out, err := h.Kubectl(t, "get", "secrets,services,pods,deployments,jobs", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.spec}{.data}{"\n"}{end}`)
	harness.NoError(t, err)
	return out
}

// TestSavedPlan executes plans after the chart was deleted.
//   - "helm plan RELEASE CHART --save FILE also writes the plan to a file, and prints its digest, with -o json in the field saved"
//   - "helm upgrade --plan FILE does exactly what the plan says, and nothing else"
//   - "If the plan installs a release, helm install --plan FILE does it, too"
//   - "Nothing is rendered again: values, templates, post-renderers and scripts that change manifests had their effect on the plan"
//   - "Only the user may read the file (mode 0600), because it holds what the manifests hold, also in Secrets"
//   - "It contains the chart, the values, the rendered manifests and hooks, the flags, and what every object was compared with"
//   - "The namespace is that of the plan"
func TestSavedPlan(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := writeChart(t)
	install, digest := save(t, h, dir, "--install", "--wait=ordered", "--set", "image=two", "--labels", "team=a", "--description", "reviewed")
	info, err := os.Stat(install)
	harness.NoError(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the plan has the mode %o", info.Mode().Perm())
	}
	h.Started = harness.Now()
	upgradePlan := func() string {
		path, _ := save(t, h, dir, "--wait=ordered", "--set", "image=three", "--atomic")
		return path
	}
	harness.NoError(t, os.Rename(dir, dir+"-moved"))
	h.MustRun("install", "--plan", install, "--plan-digest", digest)
	rel := h.LastRevision(t, "rel")
	if planned := read(t, install)["rendered"].(map[string]any)["manifest"]; rel.Manifest != planned {
		t.Errorf("the manifest is\n%s\nand was planned as\n%s", rel.Manifest, planned)
	}
	if rel.Config["image"] != "two" || rel.Labels["team"] != "a" || rel.Info.Description != "reviewed" {
		t.Errorf("the values are %v, the labels %v, the description %q", rel.Config, rel.Labels, rel.Info.Description)
	}
	h.CheckOrder(t, "rel", h.ReadTrace(t))

	harness.NoError(t, os.Rename(dir+"-moved", dir))
	upgrade := upgradePlan()
	harness.NoError(t, os.RemoveAll(dir))
	if r := h.RunIn("default", "upgrade", "--plan", upgrade); r.ExitCode != 1 || !strings.Contains(r.Stderr, "omit --namespace") {
		t.Errorf("exit code %d, %s", r.ExitCode, r.Stderr)
	}
	cmd := exec.CommandContext(t.Context(), binaries.Get(t).Helm, "upgrade", "--plan", upgrade) // without a namespace
	cmd.Env = h.Env
	out, err := cmd.CombinedOutput()
	harness.NoError(t, err)
	harness.ExpectContains(t, string(out), `Release "rel" has been upgraded. Happy Helming!`, "REVISION: 2")
	if planned := read(t, upgrade)["rendered"].(map[string]any)["manifest"]; h.LastRevision(t, "rel").Manifest != planned {
		t.Errorf("the manifest was planned as\n%s", planned)
	}
	h.ExpectManifestObjects(t, "rel")
}

// TestInstallByUpgrade executes a plan for an installation with helm upgrade.
func TestInstallByUpgrade(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	path, _ := save(t, h, writeChart(t), "--install")
	h.MustRun("upgrade", "--plan", path)
	h.ExpectStatuses(t, "rel", "deployed")
	path, _ = save(t, h, writeChart(t), "--set", "image=two")
	expectRefused(t, h, []string{"install", "--plan", path}, "helm upgrade --plan "+path)
}

// TestPlanAfterChanges changes something after a plan was saved.
//   - "Before anything is changed, the plan is checked"
//   - "It is refused, with a list of all changes, if"
//   - "the release has changed: another revision is the newest one, its status is another one, or the release was uninstalled and installed again"
//   - "a live object with which the plan compares has changed in a field that the release declares, or an object was created or deleted"
//   - "A field that only others have set, such as replicas under an autoscaler, does not count"
//   - "the answer of the server to the same dry runs is another one: for example, because the default of a field has changed, or because admission now changes or rejects the object"
//   - "What the server answers differently each time, such as a generated name in an answer of an admission webhook, does not count"
func TestPlanAfterChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags  []string
		change func(*testing.T, *harness.Helm, string)
		// refused is what the error contains; without it, the plan is executed.
		refused []string
	}{
		"nothing": {change: func(*testing.T, *harness.Helm, string) {}},
		"another revision": {
			change:  func(_ *testing.T, h *harness.Helm, dir string) { h.MustRun("upgrade", "rel", dir) },
			refused: []string{"revision 1 was deployed, and was the newest one; now, revision 2 is deployed"},
		},
		"installed again": {
			change: func(_ *testing.T, h *harness.Helm, dir string) {
				h.MustRun("uninstall", "rel", "--wait")
				h.MustRun("install", "rel", dir)
			},
			refused: []string{"the release was installed again: revision 1 was deployed at"},
		},
		"uninstalled": {
			change:  func(_ *testing.T, h *harness.Helm, _ string) { h.MustRun("uninstall", "rel") },
			refused: []string{"the newest revision was 1; now, the release does not exist"},
		},
		"a declared field": {
			change: func(t *testing.T, h *harness.Helm, _ string) {
				t.Helper()
				h.Patch(t, "Deployment/web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`)
			},
			refused: []string{"apps/v1 Deployment ", "/web: spec.template.spec.containers[name=c].image"},
		},
		"fields that are not declared": {
			change: func(t *testing.T, h *harness.Helm, _ string) {
				t.Helper()
				h.Patch(t, "Deployment/web", `{"metadata":{"annotations":{"note":"x"}},"spec":{"replicas":3}}`)
			},
		},
		"an object is gone": {
			change: func(t *testing.T, h *harness.Helm, _ string) {
				t.Helper()
				_, err := h.Kubectl(t, "delete", "service", "web")
				harness.NoError(t, err)
			},
			refused: []string{"v1 Service ", "/web: the operation would not change it; now, it would create it"},
		},
		"an object that is deleted": {
			change: func(t *testing.T, h *harness.Helm, _ string) {
				t.Helper()
				_, err := h.Kubectl(t, "set", "image", "pod/pod-one", "c=other")
				harness.NoError(t, err)
			},
			refused: []string{"v1 Pod ", "/pod-one: spec.containers[name=c].image"},
		},
		"a default": {
			change: func(t *testing.T, h *harness.Helm, _ string) {
				t.Helper()
				h.Apply(t, `{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [{type: Container, default: {memory: 64Mi}}]}}`)
			},
			refused: []string{"v1 Pod ", "/pod-two: ", "spec.containers[0].resources.limits"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			dir := writeChart(t)
			h.MustRun("install", "rel", dir)
			path, _ := save(t, h, slices.Concat([]string{dir, "--set", "image=two"}, c.flags)...)
			c.change(t, h, dir)
			if c.refused == nil {
				h.MustRun("upgrade", "--plan", path)
				return
			}
			expectRefused(t, h, []string{"upgrade", "--plan", path}, append(c.refused, "Make a new plan")...)
		})
	}
}

// TestPlanWithDefinitionTwice executes a plan of a chart in which two subcharts have the same CRD.
func TestPlanWithDefinitionTwice(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	definition := charts.Definition(h.Namespace+".example", "Gadget").Manifest()
	h.DeleteAfter(t, harness.ParseManifest(t, definition))
	dir := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata, "templates/all.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
		"charts/one/Chart.yaml": "{apiVersion: v2, name: one, version: 1.0.0}", "charts/one/crds/a.yaml": definition,
		"charts/two/Chart.yaml": "{apiVersion: v2, name: two, version: 1.0.0}", "charts/two/crds/a.yaml": definition,
	})
	path, _ := save(t, h, dir, "--install")
	h.MustRun("install", "--plan", path)
}

// TestPlanFiles checks which files are refused.
//   - "--plan-digest DIGEST demands the plan with this digest: a pipeline can keep the digest where the file itself could be exchanged"
//   - "A file that was altered after it was written is refused in any case"
//   - "The file names the version of Ordered Helm that wrote it, and the version of its format"
//   - "A file of a newer format is refused"
//   - "Beside --plan, only flags about the connection, time, progress and output are allowed:"
//   - "--timeout, --readiness-timeout, --progress, --timeline, --output, --hide-notes and the global flags"
//   - "A plan of which the server would reject a part is not saved"
func TestPlanFiles(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := writeChart(t)
	path, digest := save(t, h, dir, "--install")
	text, err := os.ReadFile(path)
	harness.NoError(t, err)
	file := func(old, replacement string) string {
		changed := filepath.Join(t.TempDir(), "changed.plan")
		harness.NoError(t, os.WriteFile(changed, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o600))
		return changed
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"another digest":     {[]string{"--plan", path, "--plan-digest", "sha256:00"}, []string{"is not the plan that --plan-digest demands: its digest is " + digest}},
		"altered":            {[]string{"--plan", file(`"image":"one"`, `"image":"own"`)}, []string{"was altered after it was written", digest}},
		"a newer format":     {[]string{"--plan", file(`"formatVersion":1`, `"formatVersion":2`)}, []string{"in version 2 of the format of plans", "was written by version"}},
		"another file":       {[]string{"--plan", filepath.Join(dir, "Chart.yaml")}, []string{"is not a plan that helm plan --save has written"}},
		"no file":            {[]string{"--plan", filepath.Join(dir, "none")}, []string{"no such file"}},
		"a directory":        {[]string{"--plan", dir}, []string{"is not a regular file"}},
		"flags about values": {[]string{"--plan", path, "--set", "a=b"}, []string{"--set cannot be combined with --plan"}},
		"a chart":            {[]string{"rel", dir, "--plan", path}, []string{"accepts no arguments"}},
		"only a digest":      {[]string{"rel", dir, "--plan-digest", digest}, []string{"--plan-digest requires --plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			expectRefused(t, h, append([]string{"install"}, c.args...), c.want...)
		})
	}
	t.Run("flags about time and progress", func(t *testing.T) {
		h.MustRun("install", "--plan", path, "--timeout", "1m", "--progress", "plain", "--timeline", filepath.Join(t.TempDir(), "t.json"), "-o", "json", "--debug")
	})
	t.Run("what the server rejects", func(t *testing.T) {
		rejected := filepath.Join(t.TempDir(), "rejected.plan")
		r := h.Run("plan", "rel", charts.WriteFiles(t, map[string]string{
			"Chart.yaml": charts.Metadata, "templates/all.yaml": "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 0}]}}",
		}), "--save", rejected)
		harness.ExpectContains(t, r.Stderr, "the plan was not saved")
		if _, err := os.Stat(rejected); r.ExitCode != 1 || err == nil {
			t.Errorf("exit code %d, %v", r.ExitCode, err)
		}
	})
}

// TestPlanForOtherCluster executes a plan on another cluster, and without the permission to read its namespaces.
//   - "A plan is for one cluster, known by the UID of its namespace kube-system, or, where that may not be read, by the address and the certificate authority of the API server"
//   - "For another cluster, it is refused"
func TestPlanForOtherCluster(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	path, _ := save(t, h, writeChart(t), "--install")
	plan := read(t, path)
	if got := plan["cluster"].(map[string]any); slices.Contains([]any{got["uid"], got["server"], got["authority"]}, nil) {
		t.Errorf("the cluster is %v", got)
	}
	other := cluster.New(t, cluster.Options{})
	h.Env = append(h.Env, "KUBECONFIG="+other.Kubeconfig())
	if r := h.Run("install", "--plan", path); r.ExitCode != 1 || !strings.Contains(r.Stderr, "the plan was made for another cluster") {
		t.Errorf("exit code %d, %s", r.ExitCode, r.Stderr)
	}
	h.Env = h.Env[:len(h.Env)-1]

	everything := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	as := h.CreateServiceAccount(t, "tenant", []rbacv1.PolicyRule{everything})
	limited, _ := save(t, h, append(as, writeChart(t), "--install")...)
	if got := read(t, limited)["cluster"].(map[string]any); !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"authority", "server"}) {
		t.Errorf("the cluster is %v", got)
	}
	h.MustRun(append(as, "install", "--plan", limited)...)
}
