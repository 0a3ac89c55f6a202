// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// SplitHooks returns the plans of the events that occur before the resources of a release are
// deployed, and the others, in their order.
func SplitHooks(plans []hookorder.Plan) (before, others []hookorder.Plan) {
	for _, p := range plans {
		if first, deploying := sideOf(p.Event); first && deploying {
			before = append(before, p)
		} else {
			others = append(others, p)
		}
	}
	return before, others
}

// HooksText writes how the hooks of each event run: sorted by weight and, for each weight,
// which hooks run in parallel and which sequentially. Events that have the same hooks in the
// same order share a section.
func HooksText(w io.Writer, plans []hookorder.Plan) error {
	out := bufio.NewWriter(w)
	events := map[string][]string{} // events by the text about their hooks
	texts := make([]string, len(plans))
	for i, p := range plans {
		texts[i] = formatHooks(p)
		events[texts[i]] = append(events[texts[i]], p.Event.String())
	}
	for _, text := range texts {
		if of := events[text]; of != nil {
			fmt.Fprintf(out, "\n%s\n%s", hooksTitle(of), text)
			delete(events, text)
		}
	}
	return out.Flush()
}

func formatHooks(p hookorder.Plan) string {
	var text strings.Builder
	for _, b := range p.Buckets {
		bucket := bucketOf(p, b)
		fmt.Fprintf(&text, "  %s\n", bucket.title)
		for _, s := range bucket.stages {
			if s.title != "" {
				fmt.Fprintf(&text, "    %s\n", s.title)
			}
			for _, line := range s.lines() {
				fmt.Fprintf(&text, "    - %s\n", line)
			}
		}
	}
	return text.String()
}
