// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
)

// deploymentsTemplate renders Deployments. The value count is their number.
const deploymentsTemplate = `{{- range $i := until (int .Values.count) }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{{ $i }}
  labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: {{ $.Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web-{{ $i }}}}
  template:
    metadata: {labels: {app: web-{{ $i }}}}
    spec:
      containers:
      - name: main
        image: example.com/web:1.0
        ports: [{containerPort: 80}]
        env: [{name: MODE, value: "production"}]
{{- end }}
`

// changeSomeScript reads a field of every document, and changes each thousandth.
const changeSomeScript = `events.on("post-render", 0.5, function(name, namespace, chart, values, manifest)
  for i, doc in ipairs(manifest) do
    if doc.kind == "Deployment" and doc.spec.replicas == 1 and i % 1000 == 0 then
      doc.metadata.labels.team = "checkout"
    end
  end
end)
`

// changeAllScript changes every document.
const changeAllScript = `events.on("post-render", 0.5, function(name, namespace, chart, values, manifest)
  for _, doc in ipairs(manifest) do
    doc.metadata.labels.team = "checkout"
  end
end)
`

// emptyHandlersScript registers one handler for each event, which does nothing.
func emptyHandlersScript() string {
	var script strings.Builder
	for _, event := range []string{
		"chart-loaded", "pre-render", "post-render", "pre-validate", "post-validate", "pre-install", "post-install", "pre-upgrade",
		"post-upgrade", "pre-rollback", "post-rollback", "pre-delete", "post-delete", "ready",
	} {
		fmt.Fprintf(&script, "events.on(%q, 0.5, function() end)\n", event)
	}
	return script.String() + "events.on(\"wait\", 0.5, function() return true end)\n"
}

// BenchmarkScripts runs `helm template` for charts without scripts, and for the same charts with scripts. It
// needs no cluster.
func BenchmarkScripts(b *testing.B) {
	helm, stockHelm := ours(b, nil), stock(b, nil)
	original, plain, scripts := tool{name: report.Stock}, tool{name: report.Plain}, tool{name: report.Scripts}
	for _, chart := range []struct {
		step    string
		objects int
		script  string
	}{
		{report.ScriptsStep(1), 1, emptyHandlersScript()},
		{report.ScriptsStep(5000), 5000, changeSomeScript},
		{report.ScriptsChangeStep(5000), 5000, changeAllScript},
	} {
		files := map[string]string{
			"Chart.yaml": plainChart, "templates/all.yaml": deploymentsTemplate, "values.yaml": fmt.Sprintf("count: %d\n", chart.objects),
		}
		withScripts := maps.Clone(files)
		withScripts["Chart.yaml"] += "annotations: {helm.sh/scripts: enabled}\n"
		withScripts["ext/lua/bench.lua"] = chart.script
		step, dir := chart.step, writeFiles(b, files)
		original.steps = append(original.steps, stockHelm.does(step, "template", "rel", dir))
		plain.steps = append(plain.steps, helm.does(step, "template", "rel", dir))
		scripts.steps = append(scripts.steps, helm.does(step, "template", "rel", writeFiles(b, withScripts)))
	}
	const rounds = 50 // the differences are small
	measure(b, nil, workload{
		name: report.ScriptsName, title: "Scripts in charts",
		about: "`helm template` of charts without scripts (*ours, without scripts*) and of the same charts with scripts (*ours, with scripts*): " +
			"one object with an empty handler of each event, and 5,000 Deployments with a handler of post-render that reads each document and " +
			"changes each thousandth, and with one that changes every document. No cluster is used.",
		base: []string{report.Plain}, tools: []tool{original, plain, scripts}, rounds: rounds,
	})
}
