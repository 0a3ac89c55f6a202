// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/hooktext"
)

// dot writes the view in the language of Graphviz, with a Graphviz cluster for each chart.
// Arrows between charts end at the borders of their clusters.
func (v *View) dot(out *bufio.Writer) error {
	d := dotWriter{bufio: out, reasons: v.Reasons, pic: v.picture()}
	d.printf("digraph %s {\n", dotText(d.pic.title))
	d.printf("  compound=true\n  rankdir=LR\n  fontname=\"sans-serif\"\n  style=rounded\n")
	d.printf("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"]\n")
	d.printf("  edge [fontname=\"sans-serif\", fontsize=9]\n")
	for i, g := range d.pic.hooks {
		d.hookGroup(i, g)
	}
	d.item(d.pic.root, "  ")
	for _, a := range d.pic.arrows {
		d.arrow(a)
	}
	for i, g := range d.pic.hooks {
		d.hookArrow(i, g)
	}
	d.printf("}\n")
	return nil
}

type dotWriter struct {
	bufio   *bufio.Writer
	reasons bool
	pic     *picture
}

func (d *dotWriter) printf(format string, args ...any) { fmt.Fprintf(d.bufio, format, args...) }

func (d *dotWriter) item(it *item, indent string) {
	if !it.box {
		attributes := dotChange(it.change)
		if it.kind == kindExternal {
			attributes += ", shape=cds"
		}
		d.printf("%s%s [label=%s, tooltip=%s%s]\n", indent, it.id, dotText(it.allLines()...), dotText(it.tooltip), attributes)
		return
	}
	d.printf("%ssubgraph cluster_%s {\n", indent, it.id)
	d.printf("%s  label=%s\n%s  tooltip=%s\n", indent, dotText(it.title), indent, dotText(it.tooltip))
	if it.kind == kindGroup {
		d.printf("%s  style=\"rounded,dashed\"\n", indent)
	}
	if it.change != unchanged {
		d.printf("%s  color=%s\n", indent, changeColor(it.change))
	}
	for _, in := range it.inner {
		d.item(in, indent+"  ")
	}
	if len(it.inner) == 0 {
		d.printf("%s  %s [label=\"no resources\", shape=plaintext]\n", indent, it.id)
	}
	d.printf("%s}\n", indent)
}

func (d *dotWriter) arrow(a arrow) {
	var attributes []string
	if a.first.box {
		attributes = append(attributes, "ltail=cluster_"+a.first.id)
	}
	if a.then.box {
		attributes = append(attributes, "lhead=cluster_"+a.then.id)
	}
	reasons := reasonsText(a.reasons)
	attributes = append(attributes, "tooltip="+dotText(reasons))
	if d.reasons {
		attributes = append(attributes, "label="+dotText(reasons))
	}
	switch a.change {
	case unchanged:
	case removed:
		attributes = append(attributes, "color="+changeColor(removed), "style=dashed", "constraint=false")
	default:
		attributes = append(attributes, "color="+changeColor(a.change))
	}
	d.printf("  %s -> %s [%s]\n", lastIn(a.first).id, firstIn(a.then).id, strings.Join(attributes, ", "))
}

// firstIn and lastIn return the first or last node in a box. Graphviz cannot connect clusters.
// Instead, dot connects two of their nodes and lets the edge end at the borders.
func firstIn(it *item) *item {
	for it.box && len(it.inner) > 0 {
		it = it.inner[0]
	}
	return it
}

func lastIn(it *item) *item {
	for it.box && len(it.inner) > 0 {
		it = it.inner[len(it.inner)-1]
	}
	return it
}

func (d *dotWriter) hookGroup(i int, g hooktext.Group) {
	d.printf("  subgraph cluster_h%d {\n    label=%s\n    style=\"rounded,dotted\"\n", i, dotText(g.Title()))
	for j, b := range g.Buckets {
		d.printf("    h%d_%d [label=%s]\n", i, j, dotText(b.Lines()...))
		if j > 0 {
			d.printf("    h%d_%d -> h%d_%d\n", i, j-1, i, j)
		}
	}
	d.printf("  }\n")
}

func (d *dotWriter) hookArrow(i int, g hooktext.Group) {
	root := d.pic.root
	style := "style=dotted"
	if !g.Deploying {
		style = "style=invis"
	}
	if g.Before {
		d.printf("  h%d_%d -> %s [ltail=cluster_h%d, lhead=cluster_%s, %s]\n", i, len(g.Buckets)-1, firstIn(root).id, i, root.id, style)
	} else {
		d.printf("  %s -> h%d_0 [ltail=cluster_%s, lhead=cluster_h%d, %s]\n", lastIn(root).id, i, root.id, i, style)
	}
}

// dotText returns the lines as a quoted string of Graphviz, with special characters escaped.
func dotText(lines ...string) string {
	text := strings.Join(lines, "\n")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`).Replace(text) + `"`
}

func dotChange(c change) string {
	switch c {
	case unchanged:
		return ""
	case removed:
		return `, color=` + changeColor(c) + `, style="rounded,dashed"`
	}
	return `, color=` + changeColor(c) + `, penwidth=2`
}

// changeColor returns the color for a change, which is visible on light and dark backgrounds.
func changeColor(c change) string {
	switch c {
	case added:
		return `"#1a7f37"`
	case moved:
		return `"#9a6700"`
	}
	return `"#cf222e"`
}

// changeSign returns the sign that begins a line about a resource with the change c in a
// drawing. It is like changePrefix, which is for FormatText.
func changeSign(c change) string {
	switch c {
	case added:
		return "+ "
	case removed:
		return "− "
	case moved:
		return "→ "
	}
	return ""
}
