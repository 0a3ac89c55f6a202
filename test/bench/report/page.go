// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const introduction = `# Benchmarks

This page compares Ordered Helm with stock Helm of the same version, with Helm 4, with
[kapp](https://carvel.dev/kapp/), and with the time that the cluster itself needs.
~make bench~ generates it from measurements. Do not edit it by hand.

## Goals

`

const howTo = `
Each tool has its own namespace on a cluster that is started for the run: a real control plane
with simulated pods ([devcluster](../scripts/devcluster/README.md)). The tools are run in
alternation, after a warm-up round that is not counted, and everything that a tool has created
is deleted before the next one runs. Other load on the machine therefore affects all tools
equally. Only the ratios are meaningful.

- **stock** is stock Helm, built from unmodified Helm of the same version with the same build
  flags. **Helm 4** is unmodified Helm 4. **ours** is Ordered Helm with the same command line, unless the workload says otherwise.
- **hand** is the lower bound: a program with an open connection that knows what to create, and
  creates each object as early as possible. It neither renders nor stores a release.
- **median s** is the median time of all rounds, in seconds, and **min–max** are the fastest and
  the slowest round.
- **CPU s** is the user and system time of the process, in seconds, and **MiB** its peak memory.
  Both are medians.
- **requests** are the requests in the audit log of the API server between the start and the end
  of the process. A watch counts once. ~discovery~ stands for requests about the API itself, such
  as ~/apis~ and ~/openapi/v3~. ~refused~ stands for requests that the server rejected because of
  overload (429), and that were retried.

To repeat the measurements, on a Linux machine without other load:

    make bench                    # everything; writes this page
    make bench BENCH=Chain        # only workloads with this name; keeps the other results
    make bench BENCH_ROUNDS=1     # only one round
    make bench NELM=/path/to/nelm # also measures nelm
`

// backquotes replaces each ~ in the texts above by a backquote, which a raw string cannot
// contain.
var backquotes = strings.NewReplacer("~", "`")

// Page returns the text of docs/benchmarks.md for the results.
func Page(results Results) string {
	var text strings.Builder
	text.WriteString(backquotes.Replace(introduction))
	text.WriteString(results.goals().markdown())
	text.WriteString(explanations(results))
	text.WriteString("\n## How it was measured\n\n")
	for _, machine := range machines(results) {
		fmt.Fprintf(&text, "- %s\n", machine)
	}
	text.WriteString(backquotes.Replace(howTo))
	for _, name := range workloads(results) {
		r := results[name]
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n%s%s", r.Title, r.About, r.grid().markdown(), provenance(r))
	}
	if r, found := results[GrowthName]; found {
		text.WriteString("\n" + growthSection(r))
	}
	return text.String()
}

// explanations returns the section with the notes of the goals that are not met.
func explanations(results Results) string {
	var text strings.Builder
	for _, g := range goals() {
		v := g.evaluate(results)
		if note := notes[g.name]; note != "" && v.measured != "" && !v.met {
			fmt.Fprintf(&text, "- %s: %s\n", g.name, note)
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "\nReasons why some goals are not met:\n\n" + text.String()
}

// workloads returns the names of the results in the order of the page, without the workload
// growth, which has its own section. Names that inOrder does not contain come last.
func workloads(results Results) []string {
	names := slices.DeleteFunc(inOrder(), func(name string) bool {
		_, found := results[name]
		return !found
	})
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if name != GrowthName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// machines returns descriptions of the machines on which the results were measured.
func machines(results Results) []string {
	found := map[string]bool{}
	for _, r := range results {
		found[r.Machine.String()] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// provenance returns a line that says when, and at which commit, a result was measured.
func provenance(r Result) string {
	rounds := fmt.Sprintf("%d rounds", r.Rounds)
	if r.Rounds == 1 {
		rounds = "one round"
	}
	return fmt.Sprintf("\nMeasured in %s on %s, at commit %s.\n", rounds, r.Date, r.Commit)
}
