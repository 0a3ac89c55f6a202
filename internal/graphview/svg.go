// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	_ "embed" // for the style sheet
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/ordered-helm/helm/internal/graphview/layout"
	"github.com/ordered-helm/helm/internal/graphview/textwidth"
)

// svgStyle is the style sheet of FormatSVG, with colors for light and dark backgrounds.
//
//go:embed style.css
var svgStyle string

// svg writes the view as an SVG drawing, which refers to no other files. It has light or dark
// colors, depending on the settings of the browser.
func (v *View) svg(out *bufio.Writer) error {
	pic := v.picture()
	headings := v.headings(pic.diff)
	s := svgWriter{out: out}
	items, routes, size := pic.compose(len(headings))
	for _, h := range headings {
		size.W = max(size.W, 2*boxPadding+columnWidth*float64(textwidth.Columns(h)))
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" role="img">`+"\n", formatLength(size.W), formatLength(size.H))
	s.tooltip(v.heading())
	fmt.Fprintf(out, "<style>\n%s</style>\n", svgStyle)
	fmt.Fprintf(out, `<rect class="ground" width="%s" height="%s"/>`+"\n", formatLength(size.W), formatLength(size.H))
	for i, h := range headings {
		class := "title"
		if i > 0 {
			class = "note"
		}
		s.text(class, boxPadding, boxPadding+lineHeight*(float64(i)+0.8), h)
	}
	for _, it := range items {
		s.boxes(it)
	}
	for _, r := range routes {
		s.route(r)
	}
	for _, it := range items {
		s.nodes(it)
	}
	fmt.Fprintln(out, "</svg>")
	return nil
}

type svgWriter struct{ out *bufio.Writer }

// boxes draws a box and the boxes in it, but no nodes. It must be called before the arrows
// are drawn, because boxes would hide them.
func (s svgWriter) boxes(it *item) {
	if !it.box {
		return
	}
	fmt.Fprintf(s.out, `<g class="box %s%s">`, it.kind, classOf(it.change))
	s.tooltip(it.tooltip)
	s.rect(it)
	s.text("title", it.x+boxPadding, it.y+boxPadding+0.7*lineHeight, textwidth.Shorten(it.title))
	if len(it.inner) == 0 {
		s.text("note", it.x+boxPadding, it.y+boxPadding+1.7*lineHeight, it.lines[0].text)
	}
	fmt.Fprintln(s.out, "</g>")
	for _, in := range it.inner {
		s.boxes(in)
	}
}

// nodes draws a node, or all nodes in a box.
func (s svgWriter) nodes(it *item) {
	for _, in := range it.inner {
		s.nodes(in)
	}
	if it.box {
		return
	}
	fmt.Fprintf(s.out, `<g class="node %s%s">`, it.kind, classOf(it.change))
	s.tooltip(it.tooltip)
	if it.kind != kindCaption {
		s.rect(it)
	}
	y := it.y + padding + 0.75*lineHeight
	if it.title != "" {
		s.text("title", it.x+padding, y, textwidth.Shorten(it.title))
		y += lineHeight
	}
	for _, l := range it.lines {
		s.text(strings.TrimSpace("line"+classOf(l.change)), it.x+padding, y, textwidth.Shorten(changeSign(l.change)+l.text))
		y += lineHeight
	}
	fmt.Fprintln(s.out, "</g>")
}

func (s svgWriter) rect(it *item) {
	fmt.Fprintf(s.out, `<rect x="%s" y="%s" width="%s" height="%s" rx="6"/>`, formatLength(it.x), formatLength(it.y), formatLength(it.w), formatLength(it.h))
}

// text draws a text at a position. A text whose width depends on the font is stretched or
// compressed to the width that the layout has reserved for it.
func (s svgWriter) text(class string, x, y float64, text string) {
	fit := ""
	if !textwidth.HasKnownWidth(text) {
		fit = ` lengthAdjust="spacingAndGlyphs" textLength=` + strconv.Quote(formatLength(columnWidth*float64(textwidth.Columns(text))))
	}
	fmt.Fprintf(s.out, `<text class="%s" x="%s" y="%s"%s>`, class, formatLength(x), formatLength(y), fit)
	s.escaped(text)
	fmt.Fprint(s.out, "</text>")
}

func (s svgWriter) tooltip(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(s.out, "<title>")
	s.escaped(text)
	fmt.Fprint(s.out, "</title>")
}

// escaped writes a text with XML escapes. Characters that XML does not allow become U+FFFD.
func (s svgWriter) escaped(text string) { _ = xml.EscapeText(s.out, []byte(text)) }

// route draws an arrow: horizontal lines within columns of the layout, curves between them.
func (s svgWriter) route(r arrowRoute) {
	p := r.points
	if len(p) == 0 {
		return
	}
	class := "edge" + classOf(r.change)
	if r.side {
		class += " side"
	}
	fmt.Fprintf(s.out, `<g class="%s">`, class)
	s.tooltip(reasonsText(r.reasons))
	fmt.Fprintf(s.out, `<path d="M%s`, formatPoint(p[0]))
	for i := 1; i < len(p); i++ {
		if i%2 == 1 {
			fmt.Fprintf(s.out, "L%s", formatPoint(p[i]))
			continue
		}
		bend := (p[i].X - p[i-1].X) / 2
		fmt.Fprintf(s.out, "C%s %s %s", formatPoint(layout.Point{X: p[i-1].X + bend, Y: p[i-1].Y}), formatPoint(layout.Point{X: p[i].X - bend, Y: p[i].Y}), formatPoint(p[i]))
	}
	tip, back := p[len(p)-1], -7.0
	if r.backwards {
		tip, back = p[0], 7
	}
	fmt.Fprintf(s.out, `"/><path class="head" d="M%sL%sL%s"/></g>`+"\n",
		formatPoint(layout.Point{X: tip.X + back, Y: tip.Y - 4}), formatPoint(tip), formatPoint(layout.Point{X: tip.X + back, Y: tip.Y + 4}))
}

func formatPoint(p layout.Point) string { return formatLength(p.X) + " " + formatLength(p.Y) }

// formatLength formats a length, rounded to a tenth of a pixel.
func formatLength(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

func classOf(c change) string {
	if c == unchanged {
		return ""
	}
	return " " + string(c)
}
