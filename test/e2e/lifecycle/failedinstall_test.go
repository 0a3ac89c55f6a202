// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// passwords is a template that generates a password in the first installation and keeps it
// afterwards, like those of many public charts: an upgrade without the Secret fails.
const passwords = `
{{- $found := lookup "v1" "Secret" .Release.Namespace .Values.secret }}
{{- if and .Release.IsUpgrade (not $found) }}{{ fail "PASSWORDS ERROR: You must provide your current passwords when upgrading the release." }}{{ end }}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Values.secret }}, annotations: {helm.sh/layer: {{ .Values.secret }}, depends-on.helm.sh/layers: {{ .Values.after }}}}
data:
  password: {{ if $found }}{{ $found.data.password }}{{ else }}{{ randAlphaNum 12 | b64enc }}{{ end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: about-{{ .Values.secret }}}
data: {value: "{{ .Release.IsInstall }} {{ .Release.IsUpgrade }} {{ .Release.Revision }}"}
`

// generating is a template that generates a new password in each installation, whether the
// Secret exists or not.
const generating = `
{{- if .Release.IsInstall }}
---
apiVersion: v1
kind: Secret
metadata: {name: generated, annotations: {helm.sh/layer: generated}}
data: {password: {{ randAlphaNum 12 | b64enc }}}
{{- else }}
---
apiVersion: v1
kind: Secret
metadata: {name: generated, annotations: {helm.sh/layer: generated}}
data: {password: {{ (lookup "v1" "Secret" .Release.Namespace "generated").data.password }}}
{{- end }}
`

// withPasswords writes a chart with two Secrets with passwords. The first one is created, then
// a Deployment, and when it is ready the second one. podAnnotations say whether the Deployment
// becomes ready. The chart has hooks for installations and upgrades.
func withPasswords(t *testing.T, template string, podAnnotations ...string) string {
	t.Helper()
	hook := func(event string) charts.Object {
		return charts.Object{Name: "hook-" + event, Hook: event, DeletePolicy: "before-hook-creation"}
	}
	return charts.Chart{
		Template: template,
		Templates: map[string]string{
			"one.yaml":   strings.NewReplacer(".Values.secret", `"one"`, ".Values.after", `"base"`).Replace(passwords),
			"two.yaml":   strings.NewReplacer(".Values.secret", `"two"`, ".Values.after", `"app"`).Replace(passwords),
			"hooks.yaml": charts.Manifests(hook("post-install"), hook("pre-upgrade")),
		},
		Objects: []charts.Object{
			{Name: "base", Layer: "base"},
			{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "one", PodAnnotations: podAnnotations},
		},
	}.Write(t)
}

func password(t *testing.T, h *harness.Helm, secret string) string {
	t.Helper()
	o := h.Get(t, "Secret/"+secret)
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", "password")
	return text
}

// TestUpgradeAfterFailedInstall checks that an ordered upgrade completes an installation that
// failed before it created all Secrets: the chart is rendered as for an installation, except if
// that would change a Secret.
func TestUpgradeAfterFailedInstall(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"a Secret was not created": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", withPasswords(t, "", charts.NeverReady...), "--wait=ordered", "--readiness-timeout", "2s"}, "Deployment/app was not ready")
			before := password(t, h, "one")
			if before == "" || password(t, h, "two") != "" {
				t.Fatalf("the first installation created the wrong Secrets")
			}
			chart := withPasswords(t, "")
			h.ExpectFailure(t, []string{"upgrade", "rel", chart}, "PASSWORDS ERROR") // without an order, as in stock Helm
			plan := h.Run("plan", "rel", chart, "--wait=ordered")
			harness.ExpectContains(t, plan.Stdout+plan.Stderr, "+ create Secret/two", "rendered as for an installation")
			r := h.MustRun("upgrade", "--install", "rel", chart, "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "its chart is rendered as for an installation, and its install hooks run")
			if password(t, h, "one") != before || password(t, h, "two") == "" {
				t.Error("the passwords are not the first ones")
			}
			if got := harness.ValueOf(h.Get(t, "ConfigMap/about-two")); got != "true false 2" {
				t.Errorf(".Release was %s", got)
			}
			if h.Get(t, "ConfigMap/hook-post-install") == nil || h.Get(t, "ConfigMap/hook-pre-upgrade") != nil {
				t.Error("the wrong hooks ran")
			}
			h.MustRun("upgrade", "rel", chart, "--wait=ordered")
			if got := harness.ValueOf(h.Get(t, "ConfigMap/about-two")); got != "false true 3" {
				t.Errorf(".Release was %s after the release was deployed", got)
			}
		},
		"a Secret would change": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", withPasswords(t, generating, charts.NeverReady...), "--wait=ordered", "--readiness-timeout", "2s"}, "Deployment/app was not ready")
			before := password(t, h, "generated")
			h.ExpectFailure(t, []string{"upgrade", "rel", withPasswords(t, generating), "--wait=ordered"},
				"would change the values of Secret/generated", "PASSWORDS ERROR", "helm uninstall rel --namespace "+h.Namespace)
			if before == "" || password(t, h, "generated") != before {
				t.Error("the password was changed")
			}
			h.MustRun("uninstall", "rel")
			h.MustRun("install", "rel", withPasswords(t, generating), "--wait=ordered")
		},
		"of a public chart": func(t *testing.T, h *harness.Helm) {
			packed := harness.PublicChart(t, "redis-*.tgz")
			umbrella := func(podAnnotations ...string) string {
				dir := charts.Chart{
					Metadata: "dependencies: [{name: gate, version: 0.1.0}, {name: redis, version: '*', depends-on: [gate]}]\n",
					Values:   "redis: {architecture: standalone}\n",
					Subcharts: []charts.Chart{{Name: "gate", Objects: []charts.Object{
						{Kind: "Deployment", Name: "gate", Layer: "gate", PodAnnotations: podAnnotations},
					}}},
				}.Write(t)
				data, err := os.ReadFile(packed)
				harness.NoError(t, err)
				harness.NoError(t, os.WriteFile(filepath.Join(dir, "charts", "redis.tgz"), data, 0o600))
				return dir
			}
			h.ExpectFailure(t, []string{"install", "rel", umbrella(charts.NeverReady...), "--wait=ordered", "--readiness-timeout", "2s"}, "Deployment/gate was not ready")
			h.MustRun("upgrade", "rel", umbrella(), "--wait=ordered")
			if h.Get(t, "Secret/rel-redis") == nil {
				t.Error("the Secret was not created")
			}
		},
	})
}
