// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphview writes the deployment graph of a release as text, JSON, Graphviz DOT,
// Mermaid or SVG (docs/reference.md, "helm dag").
package graphview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// Format is a value of the flag --output of helm dag.
type Format string

// The values of Format.
const (
	FormatText    Format = "text"
	FormatJSON    Format = "json"
	FormatDOT     Format = "dot"
	FormatMermaid Format = "mermaid"
	FormatSVG     Format = "svg"
)

// Formats returns all formats, the default first.
func Formats() []Format {
	return []Format{FormatText, FormatJSON, FormatDOT, FormatMermaid, FormatSVG}
}

// View contains what Write writes: a deployment plan, which defines the graph, and options.
type View struct {
	Plan *sequencer.Plan
	// Hooks says how the hooks of each event run.
	Hooks []hookorder.Plan
	// Reasons says whether to show where each edge is declared. JSON and SVG always show
	// this.
	Reasons bool
	// CompareWith is an earlier plan. If it is not nil, the output shows how Plan differs.
	CompareWith *RevisionPlan
}

// RevisionPlan contains the deployment plan of a stored revision of a release.
type RevisionPlan struct {
	Plan     *sequencer.Plan
	Release  string
	Revision int
}

func (r *RevisionPlan) String() string {
	return fmt.Sprintf("revision %d of release %s", r.Revision, r.Release)
}

// Write writes the view to w in the given format (docs/reference.md, "helm dag"). Equal
// views result in equal output. It returns an error if the format is unknown or w fails.
func (v *View) Write(w io.Writer, f Format) error {
	write := map[Format]func(*bufio.Writer) error{
		FormatText: v.text, FormatJSON: v.json, FormatDOT: v.dot, FormatMermaid: v.mermaid, FormatSVG: v.svg,
	}[f]
	if write == nil {
		names := make([]string, len(Formats()))
		for i, known := range Formats() {
			names[i] = string(known)
		}
		return fmt.Errorf("unknown format %q: must be one of %s", f, strings.Join(names, ", "))
	}
	if f == FormatText || f == FormatDOT { // the other formats escape control characters
		w = terminalsafe.NewWriter(w)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}
