// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package formatcharts

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestRandomYAML checks that documents have the content that was requested, in any style.
func TestRandomYAML(t *testing.T) {
	for seed := range uint64(500) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		content := mapping{{"a", g.odd()}, {"true", mapping{{"b", list{g.odd(), mapping{{"c", g.odd()}, {"d", g.odd()}}, list{g.odd()}}}}}, {"e", list{}}, {"f", g.odd()}}
		text := randomYAML(g.Rand, content)
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got, want := texts(root.Content[0]), fmt.Sprint(content); !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%s\nwant\n%s\nin\n%s", got, want, text)
		}
	}
}

// texts returns the content of a node as fmt.Sprint writes that of a mapping.
func texts(n *yaml.Node) string {
	var content any
	switch n.Kind {
	case yaml.AliasNode:
		return texts(n.Alias)
	case yaml.MappingNode:
		var fields []string
		for i := 0; i < len(n.Content); i += 2 {
			fields = append(fields, "{"+n.Content[i].Value+" "+texts(n.Content[i+1])+"}")
		}
		content = fields
	case yaml.SequenceNode:
		items := []string{}
		for _, item := range n.Content {
			items = append(items, texts(item))
		}
		content = items
	default:
		content = n.Value
	}
	return fmt.Sprint(content)
}

// TestRewrite rewrites a flat chart with a subchart.
func TestRewrite(t *testing.T) {
	flat := Files{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\nicon: x\nannotations: {helm.sh/sequencing: enabled, helm.sh/run-hooks-in-parallel: 'true', helm.sh/hook-scope: chart, a: b}\n" +
			"dependencies: [{name: db, version: '1', repository: '', hookScope: release}]\n",
		"charts/db/Chart.yaml": "apiVersion: v1\nname: db\nversion: 1.0.0\nhookScope: chart\n", "charts/db/requirements.yaml": "dependencies: [{name: leaf, version: '1', repository: ''}]\n",
		"charts/_old/Chart.yaml": "[", "values.yaml": "a: 1\n",
	}
	for place, want := range map[Place]Files{
		InChartYAML: {
			"Chart.yaml": "apiVersion: helm.sh/v3\ndata:\n  dependencies:\n  - hookScope: release\n    name: db\n    repository: \"\"\n    version: \"1\"\n  hookScope: chart\n  icon: x\n  runHooksInParallel: \"true\"\n" +
				"kind: Chart\nmetadata:\n  annotations:\n    a: b\n  labels:\n    version: 1.0.0\n  name: shop\n",
			"charts/db/Chart.yaml": "apiVersion: helm.sh/v3\ndata:\n  dependencies:\n  - name: leaf\n    repository: \"\"\n    version: \"1\"\n  hookScope: chart\n" +
				"kind: Chart\nmetadata:\n  annotations:\n    helm.sh/sequencing: disabled\n  labels:\n    version: 1.0.0\n  name: db\n",
		},
		BelowRequirements: {
			"Chart.yaml":                  "apiVersion: helm.sh/v3\ndata:\n  hookScope: chart\n  icon: x\n  runHooksInParallel: \"true\"\nkind: Chart\nmetadata:\n  annotations:\n    a: b\n  labels:\n    version: 1.0.0\n  name: shop\n",
			"charts/db/Chart.yaml":        "apiVersion: helm.sh/v3\ndata:\n  hookScope: chart\nkind: Chart\nmetadata:\n  annotations:\n    helm.sh/sequencing: disabled\n  labels:\n    version: 1.0.0\n  name: db\n",
			"requirements.yaml":           "requirements:\n- hookScope: release\n  name: db\n  repository: \"\"\n  version: \"1\"\n",
			"charts/db/requirements.yaml": "requirements:\n- name: leaf\n  repository: \"\"\n  version: \"1\"\n",
		},
	} {
		want["charts/_old/Chart.yaml"], want["values.yaml"] = "[", "a: 1\n"
		if got, err := Rewrite(flat, place); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, %v\nwant %q", place, got, err, want)
		}
	}
	if _, err := Rewrite(Files{"Chart.yaml": "engine: gotpl\n"}, InChartYAML); err == nil {
		t.Error("a field that the format does not have is lost")
	}
}
