// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/test/browser"
)

// names contains names that are difficult to draw: long ones, and ones with special
// characters.
var names = []string{
	"web", "</text><script>document.title='hacked'</script>", `"quoted"&'more'`, "日本語の層の名前", "العربية-الطبقة", "देवनागरी-परत", "ชั้นข้อมูล",
	"🚀🚀🚀-rocket", strings.Repeat("W", 60), strings.Repeat("長い名前", 15), "a", "Ελληνικά-επίπεδο", "кириллица-слой", "]]>", "&amp;", "ﷺﷺﷺ", "한국어-계층", "𝔣𝔯𝔞𝔨𝔱𝔲𝔯",
}

// resource returns a resource in a layer that depends on other layers.
func resource(chart, name, layer string, after ...string) sequencer.Resource {
	annotations := map[string]any{}
	if layer != "" {
		annotations["helm.sh/layer"] = layer
	}
	if len(after) > 0 {
		list := make([]any, len(after))
		for i, a := range after {
			list[i] = a
		}
		annotations["depends-on.helm.sh/layers"] = list
	}
	return sequencer.Resource{Chart: chart, File: chart + "/templates/" + name + ".yaml", Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": name, "annotations": annotations},
	}}
}

// input returns the input of the sequencer for a chart with a subchart, both with the given
// number of layers, whose names are from names and whose dependencies are random.
func input(layers int, seed uint64) sequencer.Input {
	r := rand.New(rand.NewPCG(seed, 1))
	sub := &sequencer.Chart{Name: "platform", Sequenced: true, Subcharts: []*sequencer.Chart{{Name: "empty", Sequenced: true}}}
	root := &sequencer.Chart{
		Name: "shop-" + names[3], Sequenced: true, DependsOnSubcharts: []string{"platform"},
		Subcharts:    []*sequencer.Chart{sub, {Name: "alone", Sequenced: true}, {Name: "last", Sequenced: true}},
		Dependencies: []sequencer.Dependency{{Name: "platform"}, {Name: "alone"}, {Name: "last", DependsOn: []string{"platform"}}},
	}
	in := sequencer.Input{Root: root, Namespace: "default"}
	for _, path := range []string{root.Name, root.Name + "/platform", root.Name + "/alone"} {
		layer := func(i int) string { return fmt.Sprintf("%s%d", names[i%len(names)], i/len(names)) }
		for i := range layers {
			var after []string
			for range r.IntN(3) {
				if i > 0 {
					after = append(after, layer(r.IntN(i)))
				}
			}
			for j := range 1 + r.IntN(9) {
				in.Resources = append(in.Resources, resource(path, fmt.Sprintf("%s-%s-%d-%d", names[(i+j)%len(names)], path, i, j), layer(i), after...))
			}
		}
		in.Resources = append(in.Resources, resource(path, path+"-rest", ""), resource(path, path+"-single", "", layer(0)))
	}
	return in
}

// wide returns the input of the sequencer for many layers that depend on the same layer.
func wide() sequencer.Input {
	in := sequencer.Input{Root: &sequencer.Chart{Name: "shop", Sequenced: true}, Namespace: "default"}
	in.Resources = append(in.Resources, resource("shop", "base", "base"), resource("shop", "rest", ""))
	for i := range 50 {
		name := fmt.Sprintf("%s%d", names[i%len(names)], i)
		in.Resources = append(in.Resources, resource("shop", name, name, "base"))
	}
	return in
}

// hooks returns hooks of every event.
func hooks() []hookorder.Plan {
	var all []*release.Hook
	for i, name := range names {
		all = append(all, &release.Hook{
			Kind: "Job", Name: name, Path: []string{"shop", "db"}[i%2], Weight: i % 3,
			Events: []release.HookEvent{release.HookPreInstall, []release.HookEvent{release.HookPostUpgrade, release.HookTest, release.HookPreDelete}[i%3]},
		})
	}
	return hookorder.Plans(all, hookorder.ChartModes{
		ChartOf: func(h *release.Hook) string { return h.Path },
		ByChart: map[string]hookorder.Mode{"shop": hookorder.Parallel},
	}, nil)
}

// drawn writes the drawing of a view to a file, checks that it is valid XML, and returns its
// path.
func drawn(t *testing.T, v graphview.View) string {
	t.Helper()
	var out bytes.Buffer
	if err := v.Write(&out, graphview.FormatSVG); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "graph.svg")
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// faults is a script that returns errors in a drawing, such as texts that overlap.
const faults = `(() => {
  const found = [], box = e => e.getBoundingClientRect(), slack = 0.6;
  const inside = (a, b) => a.left >= b.left-slack && a.right <= b.right+slack && a.top >= b.top-slack && a.bottom <= b.bottom+slack;
  const apart = (a, b) => a.right <= b.left+slack || b.right <= a.left+slack || a.bottom <= b.top+slack || b.bottom <= a.top+slack;
  const groups = [...document.querySelectorAll('g.node, g.box')].map(g => ({g, rect: g.querySelector('rect'), texts: [...g.querySelectorAll('text')]}));
  const whole = box(document.documentElement);
  for (const {g, rect, texts} of groups) {
    if (!g.querySelector('title') && !g.classList.contains('caption')) found.push('no tooltip: ' + g.textContent);
    for (const t of texts) if (rect && !inside(box(t), box(rect))) found.push('wider than its box: ' + t.textContent);
    if (rect && !inside(box(rect), whole)) found.push('outside of the picture: ' + g.textContent);
  }
  const rects = groups.filter(x => x.rect).map(x => ({node: x.g.classList.contains('node'), r: box(x.rect), name: x.g.textContent}));
  for (let i = 0; i < rects.length; i++) for (let j = i+1; j < rects.length; j++) {
    const a = rects[i], b = rects[j];
    if (apart(a.r, b.r)) continue;
    if (!(inside(a.r, b.r) && !b.node) && !(inside(b.r, a.r) && !a.node)) found.push('overlap: ' + a.name + ' and ' + b.name);
  }
  const texts = [...document.querySelectorAll('text')].map(t => ({r: box(t), name: t.textContent}));
  for (let i = 0; i < texts.length; i++) for (let j = i+1; j < texts.length; j++)
    if (!apart(texts[i].r, texts[j].r)) found.push('labels overlap: ' + texts[i].name + ' and ' + texts[j].name);
  const nodes = rects.filter(x => x.node);
  for (const p of document.querySelectorAll('.edge:not(.gone) path:not(.head)')) {
    const n = p.getTotalLength(), m = p.getScreenCTM();
    for (let at = 1; at < n-1; at += 12) {
      const q = p.getPointAtLength(at).matrixTransform(m);
      const hit = nodes.find(x => q.x > x.r.left+1 && q.x < x.r.right-1 && q.y > x.r.top+1 && q.y < x.r.bottom-1);
      if (hit) { found.push('an edge crosses ' + hit.name); break; }
    }
  }
  if (document.querySelector('script') || document.title === 'hacked') found.push('a script was let in');
  return found;
})()`

// colors is a script that returns the colors of texts and of their backgrounds.
const colors = `(() => {
  const painted = [...document.querySelectorAll('rect')].map(r => ({r: r.getBoundingClientRect(), c: getComputedStyle(r).fill})).filter(x => x.c !== 'none');
  const seen = new Map();
  for (const t of document.querySelectorAll('text')) {
    const b = t.getBoundingClientRect(), x = b.left+b.width/2, y = b.top+b.height/2;
    const behind = painted.filter(p => x > p.r.left && x < p.r.right && y > p.r.top && y < p.r.bottom).pop();
    const pair = {text: getComputedStyle(t).fill, ground: behind ? behind.c : '', label: t.textContent};
    seen.set(pair.text + pair.ground, pair);
  }
  return [...seen.values()];
})()`

func TestGraph(t *testing.T) {
	b := browser.Start(t)
	plan := func(in sequencer.Input) *sequencer.Plan {
		p, err := sequencer.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := input(12, 2)
	before.Resources = append(before.Resources, resource(before.Root.Name, "was-here", "was-here"), resource(before.Root.Name, "and-after", names[0]+"0", "was-here"))
	for name, v := range map[string]graphview.View{
		"small":    {Plan: plan(input(3, 1)), Hooks: hooks()},
		"large":    {Plan: plan(input(30, 3))},
		"compared": {Plan: plan(input(10, 4)), CompareWith: &graphview.RevisionPlan{Plan: plan(before), Release: "shop", Revision: 3}},
		"gathered": {Plan: plan(wide())},
		"empty":    {Plan: plan(sequencer.Input{Root: &sequencer.Chart{Name: "shop"}})},
	} {
		file := drawn(t, v)
		for size, view := range browser.Views() {
			t.Run(name+", "+size, func(t *testing.T) { checkGraph(t, b.Open(t, file, view), view) })
		}
	}
}

func checkGraph(t *testing.T, page *browser.Page, view browser.View) {
	found := browser.Evaluate[[]string](page, faults)
	for _, f := range found[:min(len(found), 10)] {
		t.Error(f)
	}
	pairs := browser.Evaluate[[]struct {
		Text   string `json:"text"`
		Ground string `json:"ground"`
		Label  string `json:"label"`
	}](page, colors)
	if len(pairs) == 0 {
		t.Error("there are no texts")
	}
	for _, p := range pairs {
		if c, err := browser.Contrast(p.Text, p.Ground); err != nil || c < browser.MinContrast {
			t.Errorf("%s on %s (%s): contrast %.1f, %v", p.Text, p.Ground, p.Label, c, err)
		}
	}
	ground := browser.Evaluate[string](page, `getComputedStyle(document.querySelector('.ground')).fill`)
	if white, err := browser.Contrast(ground, "rgb(255, 255, 255)"); err != nil || (white > 10) != view.Dark {
		t.Errorf("the ground is %s in the dark: %v", ground, view.Dark)
	}
}
