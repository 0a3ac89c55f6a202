// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// manyObjects is a template of objects of three kinds, in two namespaces, that are ready
// immediately. The values determine their number and whether they are in layers.
const manyObjects = `{{- range $kind, $count := .Values.counts }}
{{- range $i := until (int $count) }}
---
apiVersion: {{ if eq $kind "Role" }}rbac.authorization.k8s.io/{{ end }}v1
kind: {{ $kind }}
metadata:
  name: o{{ printf "%03d" $i }}
{{- if mod $i 2 }}
  namespace: {{ $.Values.other }}
{{- end }}
{{- if $.Values.layers }}
  annotations:
    helm.sh/layer: l{{ mod $i 4 }}
{{- if mod $i 4 }}
    depends-on.helm.sh/layers: l{{ sub (mod $i 4) 1 }}
{{- end }}
{{- end }}
  labels: {version: "{{ if lt $i (int $.Values.changed) }}b{{ else }}a{{ end }}"}
{{- end }}
{{- end }}
`

// TestRequests compares the number of requests for a release of 120 objects with
// testdata/requests.golden, to detect code that sends additional requests for each object.
// Requests for Secrets are not counted, because it depends on timing how often the progress is
// stored.
func TestRequests(t *testing.T) {
	var report strings.Builder
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"without an order", nil},
		{"in order", []string{"--wait=ordered", "--set", "layers=true"}},
	} {
		h := harness.New(t)
		other := h.Cluster.Namespace(t)
		chart := charts.WriteFiles(t, map[string]string{
			"Chart.yaml": "apiVersion: v3\nname: many\nversion: 0.1.0\n", "templates/all.yaml": manyObjects,
			"values.yaml": "counts: {ConfigMap: 60, ServiceAccount: 40, Role: 20}\nchanged: 0\nlayers: false\nother: " + other + "\n",
		})
		fmt.Fprintf(&report, "%s\n", c.name)
		for _, step := range []struct {
			name string
			args []string
		}{
			{"install", append([]string{"install", "rel", chart}, c.flags...)},
			{"upgrade, nothing changed", append([]string{"upgrade", "rel", chart}, c.flags...)},
			{"upgrade, one of each kind changed", append([]string{"upgrade", "rel", chart, "--set", "changed=1"}, c.flags...)},
			{"rollback", []string{"rollback", "rel"}},
			{"uninstall", []string{"uninstall", "rel"}},
		} {
			from := harness.Now()
			h.MustRun(step.args...)
			requests := map[string]int{}
			for _, namespace := range []string{h.Namespace, other} {
				for _, e := range h.Cluster.AuditIn(t, namespace) {
					isStorage := e.Resource == "secrets" || harness.IsStorageObject(e.Resource, e.Name) || strings.Contains(e.URI, "labelSelector=owner%3Dhelm")
					if !e.Received.Before(from) && strings.HasPrefix(e.UserAgent, "Helm/") && !isStorage && e.Stage == cluster.StageComplete {
						requests[e.Verb+" "+e.Resource]++
					}
				}
			}
			fmt.Fprintf(&report, "  %s\n", step.name)
			for _, what := range slices.Sorted(maps.Keys(requests)) {
				fmt.Fprintf(&report, "    %3d %s\n", requests[what], what)
			}
		}
	}
	path := filepath.Join("testdata", "requests.golden")
	if *harness.Update {
		harness.WriteGolden(t, path, report.String())
	}
	want, err := os.ReadFile(path)
	harness.NoError(t, err)
	if got := report.String(); got != string(want) {
		t.Errorf("the requests are not as many as they were: got\n%s\nwant\n%s", got, want)
	}
}

// requestsFor returns the requests of Helm for a resource in the namespace, each request once.
func requestsFor(tb testing.TB, h *harness.Helm, resource string) []cluster.Event {
	tb.Helper()
	var events []cluster.Event
	for _, e := range h.Cluster.Audit(tb) {
		endOfWatch := e.Verb == "watch" && e.Stage == cluster.StageComplete
		if e.Namespace == h.Namespace && e.Resource == resource && strings.HasPrefix(e.UserAgent, "Helm/") && !endOfWatch {
			events = append(events, e)
		}
	}
	return events
}

// countVerb counts requests with a verb.
func countVerb(events []cluster.Event, verb string) int {
	n := 0
	for _, e := range events {
		if e.Verb == verb {
			n++
		}
	}
	return n
}
