// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

const declaredWeb = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: c, image: one}]}}}}`

// stateOf returns the state of an object that an operation changes, after it was stored and read again. before is empty
// if the object does not exist, and after if it cannot be changed in place.
func stateOf(t *testing.T, declared, before, after string) State {
	t.Helper()
	result := objectwriter.DryRunResult{Info: fakeapi.Infos(t, declared)[0]}
	action := Create
	if before != "" {
		result.Before, action = parse(t, before), Change
	}
	if after != "" {
		result.After = parse(t, after)
	} else {
		action = Recreate
	}
	o := Object{Action: action, APIVersion: "v1", Kind: "Kind", Name: "a", dryRun: &result}
	text, err := json.Marshal(o.state())
	if err != nil {
		t.Fatal(err)
	}
	var stored State
	if err := kjson.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestCompare checks which changes between two previews count.
func TestCompare(t *testing.T) {
	deployment := func(replicas int, image, more string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, resourceVersion: "%d"%s}, spec: {replicas: %d, template: {spec: {containers: [{name: c, image: %s, resources: {}}]}}}, status: {replicas: %[3]d}}`,
			len(more), more, replicas, image)
	}
	service := func(clusterIP string, nodePort int) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: %s, clusterIPs: [%[1]s], ports: [{port: 80, nodePort: %d}]}}`, clusterIP, nodePort)
	}
	const declaredService = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`
	job := func(uid string) string {
		return fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: a, uid: %s}, spec: {selector: {matchLabels: {controller-uid: %[1]s}}}}`, uid)
	}
	for _, tt := range []struct {
		name             string
		declared         string
		before1, before2 string
		after1, after2   string
		want             string
	}{
		{name: "nothing", declared: declaredWeb, before1: deployment(1, "zero", ""), after1: deployment(1, "one", ""), before2: deployment(1, "zero", ""), after2: deployment(1, "one", "")},
		{name: "a field that is not declared", declared: declaredWeb, before1: deployment(1, "zero", ""), after1: deployment(1, "one", ""), before2: deployment(3, "zero", ", labels: {a: b}"), after2: deployment(3, "one", ", labels: {a: b}")},
		{name: "a declared field", declared: declaredWeb, before1: deployment(1, "zero", ""), after1: deployment(1, "one", ""), before2: deployment(1, "half", ""), after2: deployment(1, "one", ""), want: "spec.template.spec.containers[name=c].image"},
		{name: "an object that is recreated", declared: declaredWeb, before1: deployment(1, "zero", ""), before2: deployment(1, "half", ""), want: "spec.template.spec.containers[name=c].image"},
		{name: "an object that is recreated, and a field that is not declared", declared: declaredWeb, before1: deployment(1, "zero", ""), before2: deployment(3, "zero", "")},
		{name: "what admission adds", declared: declaredWeb, before1: deployment(1, "zero", ""), after1: deployment(1, "one", ""), before2: deployment(1, "zero", ""), after2: deployment(1, "one", ", labels: {a: b}"), want: "metadata.labels.a"},
		{name: "a default of a new object", declared: declaredWeb, after1: deployment(1, "one", ""), after2: deployment(2, "one", ""), want: "spec.replicas"},
		{name: "addresses of a new Service", declared: declaredService, after1: service("10.0.0.1", 30001), after2: service("10.0.0.2", 30002)},
		{name: "its declared address", declared: strings.Replace(declaredService, "spec: {", "spec: {clusterIP: 10.0.0.1, ", 1), after1: service("10.0.0.1", 30001), after2: service("10.0.0.2", 30002), want: "spec.clusterIP"},
		{name: "the UID of a new Job", declared: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}}`, after1: job("abc"), after2: job("def")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			earlier, later := stateOf(t, tt.declared, tt.before1, tt.after1), stateOf(t, tt.declared, tt.before2, tt.after2)
			differences := Compare([]State{earlier}, []State{later})
			var got []string
			for _, d := range differences {
				got = append(got, d.Fields()...)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, d := range WithoutUnstable(differences, differences) {
				if len(d.Live) == 0 || len(d.Planned) > 0 {
					t.Errorf("%+v is left, although the server answers differently each time", d)
				}
			}
		})
	}
}

// TestCompareActions checks the differences between what two previews would do.
func TestCompareActions(t *testing.T) {
	earlier := []State{{Action: Create, Object: "a"}, {Action: Change, Object: "b"}, {Action: Delete, Object: "c"}}
	later := []State{{Action: Create, Object: "a"}, {Action: Create, Object: "b"}, {Action: Delete, Object: "d"}}
	want := []Difference{{Object: "b", Action: Change, Now: Create}, {Object: "c", Action: Delete}, {Object: "d", Now: Delete}}
	got := Compare(earlier, later)
	if !slices.EqualFunc(got, want, func(a, b Difference) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("got %v, want %v", got, want)
	}
	if rest := WithoutUnstable(got, []Difference{{Object: "b", Planned: []string{"x"}}}); len(rest) != 3 {
		t.Errorf("actions that differ are only fields that differ: %v", rest)
	}
	twice := []State{{Action: Create, Object: "a"}, {Action: Create, Object: "a"}}
	if got := Compare(twice, twice); len(got) > 0 {
		t.Errorf("an object that is declared twice differs from itself: %v", got)
	}
	if got := Compare(twice, twice[:1]); len(got) != 1 || got[0].Action != Create {
		t.Errorf("an object that is declared once instead of twice: %v", got)
	}
}

// TestUnstableAnswers checks that a field that somebody has changed counts, even if it changes again and again.
func TestUnstableAnswers(t *testing.T) {
	changed := []Difference{{Object: "a", Live: []string{"spec.replicas"}, Planned: []string{"metadata.annotations.random"}}}
	rest := WithoutUnstable(changed, changed)
	if len(rest) != 1 || strings.Join(rest[0].Fields(), " ") != "spec.replicas" {
		t.Errorf("got %+v", rest)
	}
}
