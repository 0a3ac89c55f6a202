// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// changingTemplates declare a ConfigMap, a pod that becomes ready only after a while, a hook and a Job that its TTL deletes.
// The ConfigMap contains the revision and the operation, and random text if a value says so.
const changingTemplates = `
apiVersion: v1
kind: ConfigMap
metadata: {name: own, annotations: {helm.sh/layer: first}}
data:
  revision: "{{ .Release.Revision }} {{ .Release.IsInstall }}"
  v: {{ .Values.v | quote }}
  {{- if .Values.random }}
  random: {{ randAlphaNum 10 }}
  {{- end }}
---
apiVersion: batch/v1
kind: Job
metadata: {name: short, annotations: {helm.sh/layer: second, helm.sh/depends-on/layers: '["first"]'}}
spec:
  ttlSecondsAfterFinished: 0
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: one}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}}
`

// TestOnlyIfChanged changes one thing after another.
//   - "helm upgrade --only-if-changed creates no revision and runs no hooks if nothing would change"
//   - "the last revision is deployed"
//   - "the chart, the values, the labels, the description, the manifests, the hooks and the order are those of that revision"
//   - "To compare them, the chart is rendered with the number of that revision, as for the operation that created it"
//   - "or, after a rollback, as the revision to which it returned"
//   - "the cluster is as that revision declares"
//   - "This is compared as by helm drift: defaults, and what controllers own, do not count, nor does a Job that was deleted because of its ttlSecondsAfterFinished"
//   - "The exit code is 0, and the output says Release "shop" is unchanged.; the output of -o json and -o yaml is the last revision, with the field unchanged"
//   - "If something differs, the upgrade is made as usual, and a line says what"
//   - "If only the cluster differs, it names the objects and fields"
//   - "If fields change whenever the chart is rendered, such as generated passwords, it names them: a release with such a chart is never unchanged"
func TestOnlyIfChanged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	files := func(metadata, more string) string {
		return charts.WriteFiles(t, map[string]string{"Chart.yaml": metadata, "values.yaml": "v: one\nrandom: false\n", "templates/all.yaml": changingTemplates + more})
	}
	dir := files(charts.Metadata, "")
	h.MustRun("install", "rel", dir, "--wait=ordered")
	harness.Eventually(t, "the Job is deleted", func() bool { return h.Get(t, "Job/short") == nil })
	revision := 1
	upgrade := func(args ...string) (isUnchanged bool, stderr string) {
		t.Helper()
		hook := h.Get(t, "ConfigMap/hook").GetUID()
		r := h.MustRun(slices.Concat([]string{"upgrade", "rel"}, args, []string{"--only-if-changed", "-o", "json"})...)
		var printed struct {
			Unchanged bool
			Version   int
		}
		harness.NoError(t, json.Unmarshal([]byte(r.Stdout), &printed))
		if !printed.Unchanged {
			revision++
		}
		if ran := h.Get(t, "ConfigMap/hook").GetUID() != hook; ran == printed.Unchanged {
			t.Errorf("%q: unchanged is %t, and hooks ran: %t", args, printed.Unchanged, ran)
		}
		if stored := h.LastRevision(t, "rel").Version; printed.Version != revision || stored != revision {
			t.Errorf("%q: revision %d was printed, and %d is stored, want %d", args, printed.Version, stored, revision)
		}
		return printed.Unchanged, r.Stderr
	}
	same := func(args ...string) {
		t.Helper()
		if unchanged, stderr := upgrade(args...); !unchanged {
			t.Errorf("%q is no upgrade without changes: %s", args, stderr)
		}
	}
	changed := func(why string, args ...string) {
		t.Helper()
		unchanged, stderr := upgrade(args...)
		if unchanged {
			t.Errorf("%q changes nothing, want %q", args, why)
		}
		harness.ExpectContains(t, stderr, why)
	}
	same(dir, "--wait=ordered")
	changed("the order", dir)
	changed("the order", dir, "--wait=ordered")
	same(dir, "--wait=ordered")
	changed("the values, the manifest (ConfigMap/own: data.v)", dir, "--wait=ordered", "--set", "v=two")
	same(dir, "--wait=ordered", "--set", "v=two")
	same(dir, "--wait=ordered") // with the same values, because none are given
	changed("the labels", dir, "--wait=ordered", "--labels", "team=a")
	changed("the description", dir, "--wait=ordered", "--description", "why")
	changed("the description", dir, "--wait=ordered")
	other := files(charts.Metadata+"description: changed\n", "")
	changed("the chart", other, "--wait=ordered")
	more := files(charts.Metadata, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more, annotations: {helm.sh/hook: post-upgrade}}}\n")
	changed("the hooks", more, "--wait=ordered")

	h.MustRun("rollback", "rel", "1", "--wait=ordered")
	revision++
	same(dir, "--wait=ordered") // the manifest contains the number of revision 1
	changed("the hooks", more, "--wait=ordered")

	h.Patch(t, "ConfigMap/own", `{"data":{"v":"by hand"}}`)
	changed("is unchanged, but the cluster differs from revision", more, "--wait=ordered")
	h.Patch(t, "ConfigMap/own", `{"metadata":{"labels":{"foreign":"a"}},"data":{"other":"x"}}`)
	same(more, "--wait=ordered")

	changed("these fields change whenever the chart is rendered, so that it is never unchanged: ConfigMap/own: data.random", more, "--wait=ordered", "--set", "random=true")
	changed("ConfigMap/own: data.random", more, "--wait=ordered", "--set", "random=true")
	changed("the manifest (ConfigMap/own: data.random)", more, "--wait=ordered", "--set", "random=false")

	harness.ExpectContains(t, h.MustRun("upgrade", "rel", more, "--wait=ordered", "--set", "random=false", "--only-if-changed").Stdout, `Release "rel" is unchanged.`)
	if r := h.Run("upgrade", "rel", files(charts.Metadata, "---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 0}]}}\n")); r.ExitCode == 0 {
		t.Error("an invalid Service was created")
	}
	revision = h.LastRevision(t, "rel").Version
	changed("is failed: it is upgraded", more, "--wait=ordered")
}

// TestUnchangedButNotReady waits for a release that is unchanged.
//   - "With any --wait, it still waits until the resources of the release are ready"
func TestUnchangedButNotReady(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":         charts.Metadata,
		"templates/all.yaml": `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {devcluster/pod: never}}, spec: {containers: [{name: c, image: x}]}}`,
	})
	h.MustRun("install", "rel", dir)
	h.MustRun("upgrade", "rel", dir, "--only-if-changed")
	h.ExpectFailure(t, []string{"upgrade", "rel", dir, "--only-if-changed", "--wait", "--timeout", "2s"}, "release rel is unchanged, but not ready", "Pod/a")
	h.ExpectStatuses(t, "rel", "deployed")
}

// TestOnlyIfChangedWithInvalidChart checks that a chart that cannot be rendered is an error.
func TestOnlyIfChangedWithInvalidChart(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata, "templates/all.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {v: "{{ if .Values.invalid }}{{ fail "no" }}{{ end }}"}}}`,
	})
	h.MustRun("install", "rel", dir)
	h.ExpectFailure(t, []string{"upgrade", "rel", dir, "--only-if-changed", "--set", "invalid=true"}, "execution error", "no")
}

// TestUnchangedDefinitions changes a definition in the cluster.
//   - "with --crds, the definitions in crds/ directories are as in the cluster"
func TestUnchangedDefinitions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata, "templates/all.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
		"crds/all.yaml": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: onlyifchangeds.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {kind: OnlyIfChanged, plural: onlyifchangeds, singular: onlyifchanged, listKind: OnlyIfChangedList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
	})
	h.MustRun("install", "rel", dir)
	t.Cleanup(func() { _, _ = h.Kubectl(t, "delete", "crd", "onlyifchangeds.example.com") })
	args := []string{"upgrade", "rel", dir, "--only-if-changed", "--crds=apply"}
	harness.ExpectContains(t, h.MustRun(args...).Stdout, "is unchanged")
	_, err := h.Kubectl(t, "patch", "crd", "onlyifchangeds.example.com", "--type=merge", "--patch", `{"spec":{"names":{"shortNames":["oic"]}}}`)
	harness.NoError(t, err)
	harness.ExpectContains(t, h.MustRun(args...).Stderr, "the definitions in crds/ directories")
}
