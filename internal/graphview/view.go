// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphview shows a plan to users and to programs.
package graphview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/terminal"
)

// Format is an output format of a View.
type Format string

// The formats.
const (
	FormatText    Format = "text"
	FormatJSON    Format = "json"
	FormatDOT     Format = "dot"
	FormatMermaid Format = "mermaid"
	FormatSVG     Format = "svg"
)

// Formats lists the formats, the default first.
func Formats() []Format {
	return []Format{FormatText, FormatJSON, FormatDOT, FormatMermaid, FormatSVG}
}

// View is a plan with the options for showing it.
type View struct {
	Plan *sequencer.Plan
	// Hooks are the hooks of each event that has any.
	Hooks []hookrunner.Plan
	// Reasons is whether to show what declares each edge. JSON and SVG always show it.
	Reasons bool
	// Before is the plan to compare with, or nil.
	Before *Before
}

// Before is the plan of an installed release that another plan is compared with.
type Before struct {
	Plan     *sequencer.Plan
	Release  string
	Revision int
}

func (b *Before) String() string {
	return fmt.Sprintf("revision %d of release %s", b.Revision, b.Release)
}

// Write writes the view (docs/reference.md, "helm dag"). The output depends only on the
// view. It returns an error if the writer fails or the format is unknown.
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
	if f == FormatText || f == FormatDOT { // the other formats have their own escapes
		w = terminal.NewWriter(w)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}
