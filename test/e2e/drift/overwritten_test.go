// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// overwrittenChart returns a chart with a ConfigMap, a Secret, a Deployment and a Job.
func overwrittenChart(t *testing.T) string {
	t.Helper()
	return charts.WriteFiles(t, map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n",
		"values.yaml": "color: blue\nimage: one\nsize: 1\n",
		"templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {color: "{{ .Values.color }}", size: "{{ .Values.size }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {color: "{{ .Values.color }}-is-secret"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.size }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "{{ .Values.image }}"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  parallelism: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "{{ .Values.image }}"}]}
`,
	})
}

// driftInPlan runs helm plan, and returns the drift that the operation would overwrite: objects with notes, and fields
// with those who have set them.
func driftInPlan(t *testing.T, h *harness.Helm, chart string, args ...string) []string {
	t.Helper()
	r := h.Run(append([]string{"plan", "rel", chart, "-o", "json"}, args...)...)
	p := &action.Preview{}
	if err := json.Unmarshal([]byte(r.Stdout), p); err != nil {
		t.Fatalf("%v\n%s%s", err, r.Stdout, r.Stderr)
	}
	if strings.Contains(r.Stdout, "is-secret") {
		t.Errorf("the plan contains a secret:\n%s", r.Stdout)
	}
	found := []string{}
	for _, n := range p.Nodes {
		for _, o := range n.Objects {
			if o.Action == action.PreviewCreate && o.Note != "" {
				found = append(found, o.Kind+": "+o.Note)
			}
			for _, f := range o.Drift {
				found = append(found, o.Kind+" "+f.Path+" by "+f.Manager)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestPlanNamesDrift checks that a plan says what others have changed in the objects that the operation would overwrite.
func TestPlanNamesDrift(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		failed  []string          // the flags of an upgrade that fails
		patch   map[string]string // by object
		missing string
		args    []string
		want    []string
	}{
		"nothing":                      {args: []string{"--set", "color=red"}},
		"a field that the chart keeps": {nil, map[string]string{"ConfigMap/config": `{"data":{"color":"green"}}`}, "", nil, []string{"ConfigMap data.color by cluster-test"}},
		"a field that the chart changes": {
			nil, map[string]string{"ConfigMap/config": `{"data":{"color":"green"}}`}, "", []string{"--set", "color=red", "--set", "size=2"}, []string{"ConfigMap data.color by cluster-test"},
		},
		"what the chart now declares, too": {nil, map[string]string{"ConfigMap/config": `{"data":{"color":"red"}}`}, "", []string{"--set", "color=red", "--set", "size=2"}, nil},
		"fields of others":                 {nil, map[string]string{"ConfigMap/config": `{"data":{"other":"green"},"metadata":{"labels":{"a":"b"}}}`}, "", []string{"--set", "color=red"}, nil},
		"a Secret":                         {nil, map[string]string{"Secret/secret": `{"stringData":{"color":"other-is-secret"}}`}, "", nil, []string{"Secret data.color by cluster-test"}},
		"a deleted object": {
			nil, nil, "ConfigMap/config", nil, []string{"ConfigMap: revision 1 has deployed it, but it no longer exists"},
		},
		"an item of a list": {
			nil, map[string]string{"Deployment/web": `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`}, "", []string{"--set", "size=2"},
			[]string{"Deployment spec.replicas by cluster-test", "Deployment spec.template.spec.containers[name=c].image by cluster-test"},
		},
		"an object that is recreated": {
			nil, map[string]string{"Job/job": `{"spec":{"parallelism":2}}`}, "", []string{"--set", "image=two", "--recreate", "Job/job"}, []string{"Job spec.parallelism by cluster-test"},
		},
		"--ignore": {
			nil, map[string]string{"ConfigMap/config": `{"data":{"color":"green","size":"0"}}`}, "", []string{"--ignore", ignoreFile(t, "- match: {kind: ConfigMap}\n  fields: [data.color]\n")},
			[]string{"ConfigMap data.size by cluster-test"},
		},
		"--ignore for an object that is recreated": {
			nil, map[string]string{"Job/job": `{"spec":{"parallelism":2}}`}, "",
			[]string{"--set", "image=two", "--recreate", "Job/job", "--ignore", ignoreFile(t, "- match: {kind: Job}\n  fields: [spec.parallelism]\n")}, nil,
		},
		"what a failed revision has set": {[]string{"--set", "color=red", "--set", "size=-1"}, nil, "", []string{"--set", "color=green"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := overwrittenChart(t)
			h.MustRun("install", "rel", chart)
			if tt.failed != nil {
				h.ExpectFailure(t, append([]string{"upgrade", "rel", chart, "--wait=ordered"}, tt.failed...), "spec.replicas")
			}
			for object, patch := range tt.patch {
				h.Patch(t, object, patch)
			}
			if tt.missing != "" {
				h.Delete(t, tt.missing)
			}
			for _, flag := range []string{"--wait=ordered", "--wait=false"} {
				got := driftInPlan(t, h, chart, append(slices.Clone(tt.args), flag)...)
				if !slices.Equal(got, append([]string{}, tt.want...)) {
					t.Errorf("with %s, the plan says\n%s\nwant\n%s", flag, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			}
		})
	}
}

// TestPlanNamesManagersOfManyObjects checks that a plan says who has changed one of so many objects that they are listed.
func TestPlanNamesManagersOfManyObjects(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var objects []charts.Object
	for i := range 20 {
		objects = append(objects, charts.Object{Name: fmt.Sprintf("c%d", i), Value: "1"})
	}
	chart := charts.Write(t, objects...)
	h.MustRun("install", "rel", chart)
	h.Patch(t, "ConfigMap/c7", `{"data":{"value":"2"}}`)
	if got := driftInPlan(t, h, chart); !slices.Equal(got, []string{"ConfigMap data.value by cluster-test"}) {
		t.Errorf("the plan says %q", got)
	}
}
