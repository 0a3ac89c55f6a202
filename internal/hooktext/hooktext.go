// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooktext describes for people how the hooks of each event run (docs/reference.md, "Hooks").
package hooktext

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// Split returns the plans of hooks that run before the resources of a release are deployed; the plans of hooks that
// run before or after the resources of a chart; and the others, each in their order.
func Split(plans []hookorder.Plan) (before, ofCharts, others []hookorder.Plan) {
	for _, p := range plans {
		first, deploying := sideOf(p.Event)
		switch {
		case p.Scope != "":
			ofCharts = append(ofCharts, p)
		case first && deploying:
			before = append(before, p)
		default:
			others = append(others, p)
		}
	}
	return before, ofCharts, others
}

// Write writes how the hooks of each event run: sorted by weight and, for each weight,
// which hooks run in parallel and which sequentially. Events that have the same hooks in the
// same order share a section, also if some are before and others after the resources of the release.
func Write(w io.Writer, plans []hookorder.Plan) error {
	out := bufio.NewWriter(w)
	key := func(g Group) string {
		if g.Scope == "" {
			return g.text()
		}
		return g.key()
	}
	for _, g := range groups(plans, key) {
		fmt.Fprintf(out, "\n%s\n%s", g.Title(), g.text())
	}
	return out.Flush()
}

// text returns the text about the hooks of a group, without its title.
func (g Group) text() string {
	var text strings.Builder
	for _, b := range g.Buckets {
		fmt.Fprintf(&text, "  %s\n", b.Title)
		for _, s := range b.Stages {
			if s.Title != "" {
				fmt.Fprintf(&text, "    %s\n", s.Title)
			}
			for _, line := range s.lines() {
				fmt.Fprintf(&text, "    - %s\n", line)
			}
		}
	}
	return text.String()
}
