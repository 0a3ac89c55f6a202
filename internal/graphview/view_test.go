// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/sequencer"
)

func write(t *testing.T, v graphview.View, f graphview.Format) string {
	t.Helper()
	var b strings.Builder
	if err := v.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestThousandsOfNodes checks that every format writes all nodes. There are two charts with
// equally many layers, and one chart depends on the whole other chart.
func TestThousandsOfNodes(t *testing.T) {
	const nodes = 2500
	root := &sequencer.Chart{
		Name: "shop", Sequenced: true, Subcharts: []*sequencer.Chart{{Name: "sub", Sequenced: true}}, DependsOnSubcharts: []string{"sub"},
	}
	var list []string
	for i := range nodes {
		list = append(list, fmt.Sprintf("shop Job/own-%d own-%d own-%d", i, i, (i-1)/3), fmt.Sprintf("shop/sub Job/sub-%d sub-%d", i, i))
	}
	list[0] = "shop Job/own-0 own-0"
	v := graphview.View{Plan: build(t, root, resources(list...)), Reasons: true}
	for _, f := range graphview.Formats() {
		text := write(t, v, f)
		if len(text) > 8<<20 {
			t.Errorf("%s: %d bytes", f, len(text))
		}
		if own, sub := strings.Count(text, "own-"), strings.Count(text, "sub-"); own < 2*nodes || sub < 2*nodes {
			t.Errorf("%s: names %d own nodes, and %d of the subchart", f, own, sub)
		}
	}
}

// TestWorkloadsAreNotCutOff checks that a shortened list of the resources of a node begins with
// workloads.
func TestWorkloadsAreNotCutOff(t *testing.T) {
	var list []string
	for i := range 9 {
		list = append(list, fmt.Sprintf("shop NetworkPolicy/allow-%d web", i))
	}
	list = append(list, "shop ConfigMap/config web", "shop StatefulSet/db web", "shop Deployment/api web")
	v := graphview.View{Plan: build(t, &sequencer.Chart{Name: "shop", Sequenced: true}, resources(list...))}
	text := write(t, v, graphview.FormatMermaid)
	for _, want := range []string{"Deployment/api", "StatefulSet/db", "NetworkPolicy/allow-2", "and 7 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, text)
		}
	}
}

// TestSpecialCharactersInNames uses names that have a special meaning in one of the
// formats.
func TestSpecialCharactersInNames(t *testing.T) {
	names := []string{
		`"`, `\`, `\N`, `a"b\`, "end", "subgraph", "graph", "<b>x</b>", "</title><script>x</script>", "&lt;", "&#65;", "#35;", "#quot;", "`code`", "**bold**", "a-->b",
		"x]", "x}", "%%{init:{}}%%", "]]>", "1.", "日本語", "العربية", "click", "style", "n0", "\u202eabc", "\ufffe",
	}
	var list []sequencer.Resource
	for i, n := range names {
		r := resources(fmt.Sprintf("shop Job/x%d l", i))[0]
		metadata := r.Object["metadata"].(map[string]any)
		metadata["name"] = n
		metadata["annotations"] = map[string]any{"helm.sh/layer": n, "depends-on.helm.sh/layers": []any{names[max(i-1, 0)]}}
		if i == 0 {
			metadata["annotations"] = map[string]any{"helm.sh/layer": n}
		}
		list = append(list, r)
	}
	v := graphview.View{Plan: build(t, &sequencer.Chart{Name: "shop", Sequenced: true}, list), Reasons: true}

	var graph struct{ Nodes []struct{ Layer string } }
	if err := json.Unmarshal([]byte(write(t, v, graphview.FormatJSON)), &graph); err != nil || len(graph.Nodes) != len(names) {
		t.Errorf("JSON: %d nodes, %v", len(graph.Nodes), err)
	}
	var texts []string
	svg := write(t, v, graphview.FormatSVG)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, is := token.(xml.CharData); is {
			texts = append(texts, string(text))
		}
		if start, is := token.(xml.StartElement); is && start.Name.Local == "script" {
			t.Error("SVG: a script element was written")
		}
	}
	all := strings.Join(texts, "\n")
	for _, n := range names {
		if n != "\ufffe" && !strings.Contains(all, "Job/"+n) {
			t.Errorf("SVG: %q is missing", n)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(write(t, v, graphview.FormatDOT)), "\n") {
		if strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`)%2 != 0 {
			t.Errorf("DOT: quotes do not match: %s", line)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(write(t, v, graphview.FormatMermaid)), "\n") {
		text := strings.ReplaceAll(line, "<br/>", "")
		if n := strings.Count(text, `"`); n != 0 && n != 2 || strings.ContainsAny(strings.ReplaceAll(text, "-->", ""), "<>`\\*%") {
			t.Errorf("Mermaid: %s", line)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteFails(t *testing.T) {
	for _, f := range graphview.Formats() {
		v := graphview.View{Plan: sequencer.SingleNode("shop")}
		if err := v.Write(broken{}, f); err == nil || err.Error() != "disk full" {
			t.Errorf("%s: got %v", f, err)
		}
	}
	v := graphview.View{Plan: sequencer.SingleNode("shop")}
	if err := v.Write(io.Discard, "png"); err == nil || err.Error() != `unknown format "png": must be one of text, json, dot, mermaid, svg` {
		t.Errorf("got %v", err)
	}
}

// TestOutputIsDeterministic checks that equal views result in equal output.
func TestOutputIsDeterministic(t *testing.T) {
	v := graphview.View{Plan: build(t, &sequencer.Chart{Name: "shop", Sequenced: true}, resources("shop Job/a a", "shop Job/b b a", "shop Job/c c a", "shop Job/d d b,c", "shop Job/e"))}
	for _, f := range graphview.Formats() {
		first := write(t, v, f)
		for range 20 {
			if write(t, v, f) != first {
				t.Fatalf("%s differs", f)
			}
		}
	}
}

// TestIdenticalNodesAreGrouped checks that nodes with the same predecessors and successors
// are drawn with one arrow to all of them and one from all of them.
func TestIdenticalNodesAreGrouped(t *testing.T) {
	list := []string{"shop Job/first first", "shop Job/rest", "shop Job/odd odd first", "shop Job/after after odd"}
	for i := range 20 {
		list = append(list, fmt.Sprintf("shop Job/n%d n%d first", i, i))
	}
	svg := write(t, graphview.View{Plan: build(t, &sequencer.Chart{Name: "shop", Sequenced: true}, resources(list...))}, graphview.FormatSVG)
	if n := strings.Count(svg, `<g class="edge"`); n != 5 || !strings.Contains(svg, ">20 nodes with the same dependencies</text>") || strings.Count(svg, ">Job/n") != 20 {
		t.Errorf("%d arrows: %s", n, svg)
	}
}
