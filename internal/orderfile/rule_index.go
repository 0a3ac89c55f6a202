// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"path"
	"slices"
	"strings"
)

// rule is a rule during an evaluation.
type rule struct {
	file *File
	// strength is the index of the file: the lower, the stronger. index is the index of the rule
	// among all rules of its kind.
	strength, index int
	pattern         chartPattern
	place           Rule
	// chart or resource is the rule itself.
	chart    *ChartRule
	resource *ResourceRule
	// name is the parsed name that resources must have; nil if they can have any.
	name NamePattern
	// matched reports whether the rule has matched something.
	matched bool
}

// eachInSubtree calls visit for those rules that can be about chart: those in the files of
// chart itself and of the charts above it. segments are those of the path of chart in the file.
// It determines them once for rules of the same file that follow each other.
func eachInSubtree(rules []*rule, chart string, visit func(r *rule, segments []string)) {
	var file *File
	var segments []string
	inSubtree := false
	for _, r := range rules {
		if r.file != file {
			file = r.file
			segments, inSubtree = segmentsBelow(file.Chart, chart)
		}
		if inSubtree {
			visit(r, segments)
		}
	}
}

// segmentsBelow returns the segments of the path of chart that follow the path of top, a chart.
// inSubtree is false if chart is not in the subtree of top.
func segmentsBelow(top, chart string) (segments []string, inSubtree bool) {
	rest, inSubtree := strings.CutPrefix(chart, top)
	switch {
	case !inSubtree:
		return nil, false
	case rest == "":
		return nil, true
	case rest[0] != '/':
		return nil, false
	}
	return strings.Split(rest[1:], "/"), true
}

// ruleIndex finds the rules whose paths match a chart.
type ruleIndex struct {
	rules []*rule
	// exact contains the rules whose paths have no *, by the path of the chart. patterns contains
	// the others.
	exact    map[string][]*rule
	patterns []*rule
}

// add adds a rule. Those of stronger files must be added first.
func (x *ruleIndex) add(r *rule) {
	r.index = len(x.rules)
	x.rules = append(x.rules, r)
	if r.pattern.wildcard {
		x.patterns = append(x.patterns, r)
		return
	}
	if x.exact == nil {
		x.exact = map[string][]*rule{}
	}
	chart := path.Join(append([]string{r.file.Chart}, r.pattern.segments...)...)
	x.exact[chart] = append(x.exact[chart], r)
}

// find returns the rules whose paths match a chart, in the order in which they were added.
func (x *ruleIndex) find(chart string) []*rule {
	found := slices.Clone(x.exact[chart])
	eachInSubtree(x.patterns, chart, func(r *rule, segments []string) {
		if r.pattern.matches(segments) {
			found = append(found, r)
		}
	})
	sortRules(found)
	return found
}

func sortRules(rules []*rule) {
	slices.SortFunc(rules, func(a, b *rule) int { return a.index - b.index })
}

// unite returns references to the names in the lists of rules, each name once.
func unite(rules []*rule, key string, list func(*rule) []string) []Reference {
	var united []Reference
	seen := map[string]bool{}
	for _, r := range rules {
		for _, name := range list(r) {
			if !seen[name] {
				seen[name] = true
				united = append(united, Reference{Name: name, Rule: r.place, Key: key})
			}
		}
	}
	return united
}

// strongest returns the value of the strongest rule that has one: the last of the strongest file.
// It returns nil if no rule has a value.
func strongest[T comparable](rules []*rule, key string, value func(*rule) T) *Setting[T] {
	var none T
	var found *rule
	for _, r := range rules {
		if value(r) != none && (found == nil || found.strength == r.strength) {
			found = r
		}
	}
	if found == nil {
		return nil
	}
	return &Setting[T]{Value: value(found), Rule: found.place, Key: key}
}
