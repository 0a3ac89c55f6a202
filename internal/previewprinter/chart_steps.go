// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package previewprinter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/hooktext"
	"github.com/ordered-helm/helm/internal/preview"
)

// external writes external dependencies, and how they stand.
func (out *printer) external(list []preview.External) {
	if len(list) > 0 {
		fmt.Fprint(out, "\nexternal dependencies\n")
	}
	for _, e := range list {
		owner := "chart " + e.Chart
		if e.Node != "" {
			owner = e.Node
		}
		if e.Ready {
			fmt.Fprintf(out, "  = ready %s, for %s\n", e.Dependency, owner)
			continue
		}
		fmt.Fprintf(out, "  ? not ready %s, for %s\n", e.Dependency, owner)
		indent(out, e.Message)
	}
}

// nodes writes nodes. The hooks of a chart come before the first node of the chart and its subcharts, or after
// the last one. Without such a node, they come before all nodes.
func (out *printer) nodes(nodes []preview.Node, ofCharts []hookorder.Plan) error {
	before, after := map[int][]hookorder.Plan{}, map[int][]hookorder.Plan{}
	for _, p := range ofCharts {
		first, last := span(nodes, p.Scope)
		if hooktext.Groups([]hookorder.Plan{p})[0].Before {
			before[first] = append(before[first], p)
		} else {
			after[last] = append(after[last], p)
		}
	}
	if err := hooktext.Write(out, slices.Concat(before[-1], after[-1])); err != nil {
		return err
	}
	for i, n := range nodes {
		if err := hooktext.Write(out, before[i]); err != nil {
			return err
		}
		out.section(n.Node, n.Objects)
		slices.Reverse(after[i]) // those of an inner chart come first
		if err := hooktext.Write(out, after[i]); err != nil {
			return err
		}
	}
	return nil
}

// span returns the indexes of the first and the last node of a chart and its subcharts, or -1 if there is none.
func span(nodes []preview.Node, chart string) (first, last int) {
	isIn := func(n preview.Node) bool {
		path, _, _ := strings.Cut(n.Node, ":")
		return path == chart || strings.HasPrefix(path, chart+"/")
	}
	first, last = slices.IndexFunc(nodes, isIn), -1
	for i, n := range nodes {
		if isIn(n) {
			last = i
		}
	}
	return first, last
}
