// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package initialorder writes an order file for a chart to begin with, in which all rules are commented out
// (docs/reference.md, "Order files").
package initialorder

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/terminalsafe"
	"github.com/ordered-helm/helm/internal/text"
)

// Options says for what Write writes an order file.
type Options struct {
	// Plan is the deployment plan of the chart, and Hooks the order of its hooks.
	Plan  *sequencer.Plan
	Hooks []hookorder.Plan
	// Release is the name with which the chart was rendered. In names of resources, it becomes *.
	Release string
}

const header = `# An order file for the chart %[1]s. All rules are commented out: remove "#" at the start of the
# lines that are to apply. A rule adds to what the chart declares.
#
# Look at the result:  helm dag CHART --order FILE
# Use it:              helm upgrade --install RELEASE CHART --wait=ordered --order FILE
# or store it as order.yaml in the chart.
apiVersion: helm.sh/v1alpha1
kind: Order

# dependsOn: siblings that must be ready before the chart, with all of its subcharts.
# ownDependsOn: subcharts that must be ready before the chart's own resources.
# hookScope: chart: the hooks run before and after the resources of the chart.
# external: objects (Secret/name) and releases (release:name) outside of this release that must be
# ready before the chart.
charts:
`

const resourcesHeader = `
# layer: resources of the same chart in the same layer are deployed together.
# dependsOn: layers of the same chart that must be ready first.
resources:
`

// Write writes the order file to w.
func Write(w io.Writer, o Options) error {
	out := bufio.NewWriter(terminalsafe.NewWriter(w))
	root := o.Plan.Charts[0].Path
	fmt.Fprintf(out, header, strconv.Quote(root))
	of := o.byChart()
	for _, c := range o.Plan.Charts {
		writeChart(out, of[c.Path], root)
	}
	fmt.Fprint(out, resourcesHeader)
	for _, c := range o.Plan.Charts {
		for _, r := range of[c.Path].workloads {
			o.writeResource(out, r, relative(c.Path, root))
		}
	}
	return out.Flush()
}

// summary is what the order file says about a chart.
type summary struct {
	path                string
	siblings, subcharts []string
	resources           int
	workloads           []*sequencer.PlannedResource
	hooks               []string // the names of its events
	// hasScope says whether hooks of the chart can run in its place.
	hasScope bool
}

func (o Options) byChart() map[string]*summary {
	all := map[string]*summary{}
	for _, c := range o.Plan.Charts {
		all[c.Path] = &summary{path: c.Path}
	}
	for _, c := range o.Plan.Charts {
		parent, name := all[path.Dir(c.Path)], path.Base(c.Path)
		if parent == nil {
			continue
		}
		parent.subcharts = append(parent.subcharts, name)
		for _, other := range o.Plan.Charts {
			if other != c && path.Dir(other.Path) == parent.path {
				all[c.Path].siblings = append(all[c.Path].siblings, path.Base(other.Path))
			}
		}
	}
	for _, n := range o.Plan.Nodes {
		of := all[n.Chart]
		of.resources += len(n.Resources)
		for _, r := range n.Resources {
			if kind.IsWorkload(r.ID.Kind) {
				of.workloads = append(of.workloads, r)
			}
		}
	}
	o.addHooks(all)
	return all
}

// addHooks adds the events of the hooks to the summaries of their charts.
func (o Options) addHooks(all map[string]*summary) {
	for _, p := range o.Hooks {
		for _, b := range p.Buckets {
			for _, h := range b.Hooks() {
				of := all[p.Chart(h)]
				if of == nil || slices.Contains(of.hooks, p.Event.String()) {
					continue
				}
				of.hooks = append(of.hooks, p.Event.String())
				of.hasScope = of.hasScope || hookorder.HasScope(p.Event)
			}
		}
	}
}

// relative returns the path of a chart as order files write it.
func relative(chart, root string) string {
	if chart == root {
		return "."
	}
	return strings.TrimPrefix(chart, root+"/")
}

func writeChart(out io.Writer, c *summary, root string) {
	hooks := "no hooks"
	if len(c.hooks) > 0 {
		hooks = "hooks: " + strings.Join(c.hooks, ", ")
	}
	fmt.Fprintf(out, "# %s, %s\n", text.Count(c.resources, "resource"), hooks)
	fmt.Fprintf(out, "#- path: %s\n", scalar(relative(c.path, root)))
	if c.path != root {
		fmt.Fprintf(out, "#  dependsOn: []%s\n", choices(c.siblings))
	}
	if len(c.subcharts) > 0 {
		fmt.Fprintf(out, "#  ownDependsOn: []%s\n", choices(c.subcharts))
	}
	if c.hasScope {
		fmt.Fprint(out, "#  hookScope: chart\n")
	}
	fmt.Fprint(out, "#  external: []\n")
}

// choices returns a comment with names for a list.
func choices(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " # " + strings.Join(names, ", ")
}

func (o Options) writeResource(out io.Writer, r *sequencer.PlannedResource, chart string) {
	name := r.ID.Name
	if o.Release != "" {
		name = strings.Replace(name, o.Release, "*", 1)
	}
	layer := strings.Trim(strings.ReplaceAll(name, "*", ""), "-.")
	if layer == "" {
		layer = strings.ToLower(r.ID.Kind)
	}
	fmt.Fprintf(out, "#- match: {chart: %s, kind: %s, name: %s}\n#  layer: %s\n#  dependsOn: []\n", scalar(chart), scalar(r.ID.Kind), scalar(name), scalar(layer))
}

// scalar returns a string as it is written in YAML.
func scalar(s string) string {
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '/' || r >= '0' && r <= '9'
	}
	if s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') && strings.IndexFunc(s, func(r rune) bool { return !isPlain(r) }) < 0 && !isKeyword(s) {
		return s
	}
	return strconv.Quote(s)
}

// isKeyword reports whether YAML reads s as another type than a string.
func isKeyword(s string) bool {
	return slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s))
}
