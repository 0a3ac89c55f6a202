// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// HooksText writes how the hooks of each event run: weight by weight, and in that
// what runs together and what does not. Events of which all is equal are written
// once. It writes nothing where there are none.
func HooksText(w io.Writer, plans []hookrunner.Plan) error {
	out := bufio.NewWriter(w)
	events := map[string][]string{} // by what their hooks do
	texts := make([]string, len(plans))
	for i, p := range plans {
		texts[i] = hooksOf(p)
		events[texts[i]] = append(events[texts[i]], p.Event.String())
	}
	for _, text := range texts {
		if of := events[text]; of != nil {
			fmt.Fprintf(out, "\nhooks of %s\n%s", strings.Join(of, ", "), text)
			delete(events, text)
		}
	}
	return out.Flush()
}

func hooksOf(p hookrunner.Plan) string {
	var text strings.Builder
	for _, b := range p.Buckets {
		fmt.Fprintf(&text, "  weight %d\n", b.Weight)
		for i, s := range b.Stages {
			writeStage(&text, p, s, i > 0)
		}
	}
	return text.String()
}

// writeStage writes a chain in each line; one that is all there is, a hook in each.
func writeStage(out io.Writer, p hookrunner.Plan, s hookrunner.Stage, later bool) {
	chains := s.Chains
	if len(chains) == 1 {
		single := chains[0]
		chains = make([]hookrunner.Chain, len(single))
		for i := range single {
			chains[i] = single[i : i+1]
		}
	}
	how := stageTitle(s, later)
	if how != "" {
		fmt.Fprintf(out, "    %s\n", how)
	}
	for _, c := range chains {
		names := make([]string, len(c))
		for i, h := range c {
			names[i] = fmt.Sprintf("%s (%s)", hookrunner.Title(h), p.Chart(h))
		}
		fmt.Fprintf(out, "    - %s\n", strings.Join(names, ", then "))
	}
}
