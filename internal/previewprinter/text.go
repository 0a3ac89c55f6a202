// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package previewprinter prints the result of helm plan: what an install or upgrade would do
// with each object (docs/reference.md, "helm plan"). Package preview finds this out.
package previewprinter

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/driftprinter"
	"github.com/ordered-helm/helm/internal/hooktext"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// Options says what Text writes.
type Options struct {
	// All includes the objects that would not change.
	All bool
}

// Text writes a preview to w as text, in the order in which everything would happen: the objects
// that are created before all others, the hooks that run before the nodes, the nodes of the
// deployment graph in their order, with the hooks that run before and after the resources of a chart,
// the objects to delete, and the other hooks. External dependencies come before the nodes.
func Text(w io.Writer, p *preview.Preview, o Options) error {
	out := &printer{Writer: bufio.NewWriter(terminalsafe.NewWriter(w)), all: o.All, failed: map[string]string{}}
	how := "without an order"
	if p.Ordered {
		how = "in order"
	}
	fmt.Fprintf(out, "%s of release %s in namespace %s, to revision %d, %s: %s\n",
		p.Operation, p.Release, p.Namespace, p.Revision, how, totals(p))
	out.section("first", p.First)
	before, ofCharts, others := hooktext.Split(p.Hooks)
	if err := hooktext.Write(out, before); err != nil {
		return err
	}
	out.external(p.External)
	if err := out.nodes(p.Nodes, ofCharts); err != nil {
		return err
	}
	out.section("not part of this "+p.Operation, p.Skipped)
	if slices.ContainsFunc(p.Removed, func(n preview.Node) bool { return out.shows(n.Objects) }) {
		fmt.Fprint(out, "\nno longer in the chart, in order of deletion\n")
	}
	for _, n := range p.Removed {
		out.section(n.Node, n.Objects)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return hooktext.Write(w, others)
}

// totals returns the number of objects for each action, as in "2 to create, 1 unchanged".
func totals(p *preview.Preview) string {
	var parts []string
	for _, part := range []struct {
		what preview.Action
		text string
	}{
		{preview.Create, "to create"}, {preview.Change, "to change"}, {preview.Recreate, "to recreate"}, {preview.Delete, "to delete"},
		{preview.Unchanged, "unchanged"}, {preview.Keep, "kept"}, {preview.Rename, "renamed"}, {preview.Skip, "skipped"}, {preview.Fail, "would fail"},
	} {
		if n := p.Count(part.what); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.text))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// sign returns the character with which the line of an object begins.
func sign(action preview.Action) string {
	switch action {
	case preview.Create:
		return "+"
	case preview.Change:
		return "~"
	case preview.Recreate:
		return "±"
	case preview.Delete:
		return "-"
	case preview.Fail:
		return "!"
	case preview.Rename:
		return ">"
	case preview.Unchanged, preview.Keep, preview.Skip:
	}
	return "="
}

// printer writes the objects of a preview.
type printer struct {
	*bufio.Writer
	all bool
	// failed contains, for each error that was written, the name of the object that it is about.
	failed map[string]string
}

// shows reports whether any of the objects is shown.
func (out *printer) shows(objects []preview.Object) bool {
	return slices.ContainsFunc(objects, out.showsObject)
}

func (out *printer) showsObject(o preview.Object) bool {
	return out.all || o.Action != preview.Unchanged
}

// section writes a title and the objects below it, unless none of them is shown.
func (out *printer) section(title string, objects []preview.Object) {
	if out.shows(objects) {
		fmt.Fprintf(out, "\n%s\n", title)
		out.objects(objects)
	}
}

// objects writes those of the objects that are shown. It writes an error that is the same for several objects only once.
func (out *printer) objects(objects []preview.Object) {
	for _, o := range objects {
		if !out.showsObject(o) {
			continue
		}
		what := string(o.Action)
		if o.Action == preview.Fail {
			what = "would fail"
		}
		fmt.Fprintf(out, "  %s %s %s/%s", sign(o.Action), what, o.Kind, o.Name)
		if o.Namespace != "" {
			fmt.Fprintf(out, " in %s", o.Namespace)
		}
		if o.Action == preview.Rename {
			fmt.Fprintf(out, " (was %s; only the number of the revision differs)", o.Was)
		}
		if o.Note != "" {
			fmt.Fprintf(out, " (%s)", o.Note)
		}
		fmt.Fprintln(out)
		if first, known := out.failed[o.Error]; known && o.Error != "" {
			indent(out, "the same error as for "+first)
		} else {
			out.failed[o.Error] = o.Kind + "/" + o.Name
			indent(out, withoutMiddle(o.Error))
		}
		for _, f := range o.Drift {
			indent(out, "drift: "+driftprinter.Field(f))
		}
		indent(out, withoutHeader(o.Diff))
	}
}

// withoutMiddle removes the middle of a long error message. It keeps the end, which
// contains the reason.
func withoutMiddle(text string) string {
	const maxLength = 800 // characters
	runes := []rune(text)
	if len(runes) <= maxLength {
		return text
	}
	return string(runes[:maxLength/2]) + " … " + string(runes[len(runes)-maxLength/2:])
}

// withoutHeader returns a unified diff without its first two lines, which contain file
// names.
func withoutHeader(diff string) string {
	const headerLines = 2
	for range headerLines {
		_, diff, _ = strings.Cut(diff, "\n")
	}
	return diff
}

func indent(out io.Writer, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		fmt.Fprint(out, "      ", line)
	}
}
