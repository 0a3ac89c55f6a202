// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/hooktext"
)

// mermaid writes the view as a Mermaid flow chart, with a subgraph for each chart.
func (v *View) mermaid(out *bufio.Writer) error {
	m := mermaidWriter{bufio: out, reasons: v.Reasons, pic: v.picture(), classes: map[change][]string{}}
	m.printf("flowchart LR\n")
	for i, g := range m.pic.hooks {
		m.hookGroup(i, g)
	}
	m.item(m.pic.root, "  ")
	for _, a := range m.pic.arrows {
		m.arrow(a)
	}
	for i, g := range m.pic.hooks {
		m.hookArrow(i, g)
	}
	for _, c := range []change{added, removed, moved} {
		if ids := m.classes[c]; len(ids) > 0 {
			m.printf("  classDef %s stroke:%s,stroke-width:2px\n  class %s %s\n", c, strings.Trim(changeColor(c), `"`), strings.Join(ids, ","), c)
		}
	}
	return nil
}

type mermaidWriter struct {
	bufio   *bufio.Writer
	reasons bool
	pic     *picture
	links   int
	classes map[change][]string
}

func (m *mermaidWriter) printf(format string, args ...any) { fmt.Fprintf(m.bufio, format, args...) }

func (m *mermaidWriter) item(it *item, indent string) {
	if it.change != unchanged {
		m.classes[it.change] = append(m.classes[it.change], it.id)
	}
	if !it.box {
		shape := "[%s]"
		if it.kind == kindExternal {
			shape = "([%s])"
		}
		m.printf("%s%s"+shape+"\n", indent, it.id, mermaidText(it.allLines()...))
		return
	}
	m.printf("%ssubgraph %s[%s]\n", indent, it.id, mermaidText(it.title))
	for _, in := range it.inner {
		m.item(in, indent+"  ")
	}
	if len(it.inner) == 0 {
		m.printf("%s  %s_[%s]\n", indent, it.id, mermaidText("no resources"))
	}
	m.printf("%send\n", indent)
}

func (m *mermaidWriter) arrow(a arrow) {
	link := "-->"
	if a.change == removed {
		link = "-.->"
	}
	if m.reasons {
		link += "|" + mermaidText(strings.Split(reasonsText(a.reasons), "\n")...) + "|"
	}
	m.link(a.first.id, link, a.then.id)
	if a.change != unchanged {
		m.printf("  linkStyle %d stroke:%s\n", m.links-1, strings.Trim(changeColor(a.change), `"`))
	}
}

// link writes an arrow and counts it, because Mermaid styles arrows by their number.
func (m *mermaidWriter) link(from, link, to string) {
	m.printf("  %s %s %s\n", from, link, to)
	m.links++
}

func (m *mermaidWriter) hookGroup(i int, g hooktext.Group) {
	m.printf("  subgraph h%d[%s]\n", i, mermaidText(g.Title()))
	for j, b := range g.Buckets {
		m.printf("    h%d_%d[%s]\n", i, j, mermaidText(b.Lines()...))
		if j > 0 {
			m.link(fmt.Sprintf("  h%d_%d", i, j-1), "-->", fmt.Sprintf("h%d_%d", i, j))
		}
	}
	m.printf("  end\n")
}

func (m *mermaidWriter) hookArrow(i int, g hooktext.Group) {
	hooks := fmt.Sprintf("h%d", i)
	link := "-.->"
	if !g.Deploying {
		link = "~~~" // an invisible link, which only affects the layout
	}
	if g.Before {
		m.link(hooks, link, m.pic.root.id)
	} else {
		m.link(m.pic.root.id, link, hooks)
	}
}

// mermaidText returns the lines as a quoted text of Mermaid. It replaces characters that are
// special in Mermaid, Markdown or HTML with character references.
func mermaidText(lines ...string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, l := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		for _, r := range l {
			if r < 0x80 && !isPlain(r) {
				fmt.Fprintf(&b, "#%d;", r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -/.,:()", r)
}
