// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"maps"
	"slices"
	"strings"
)

// label is a label with its value.
type label struct{ key, value string }

// criteriaIndex finds the rules that can match a resource without looking at all of them. Each rule
// is found by the criterion that selects the fewest resources: a name without *, a label, or the
// kind.
type criteriaIndex struct {
	byName  map[string][]*rule
	byLabel map[label][]*rule
	// byKind contains the rules without a kind, too, as those of the kind "".
	byKind map[string][]*rule
	// ofChart contains, for the path of a chart, the set of the rules whose charts include it.
	ofChart map[string]ruleSet
}

// ruleSet is a set of rules. It has one bit for the index of each rule, because there can be many
// charts with many rules.
type ruleSet []uint64

func (s ruleSet) has(r *rule) bool { return s[r.index/64]&(1<<(r.index%64)) != 0 }

// newRuleSet returns the set of some of n rules.
func newRuleSet(n int, rules []*rule) ruleSet {
	s := make(ruleSet, n/64+1)
	for _, r := range rules {
		s[r.index/64] |= 1 << (r.index % 64)
	}
	return s
}

// add adds the rules of all files.
func (x *criteriaIndex) add(rules []*rule) {
	*x = criteriaIndex{byName: map[string][]*rule{}, byLabel: map[label][]*rule{}, byKind: map[string][]*rule{}, ofChart: map[string]ruleSet{}}
	rulesWith := map[label]int{}
	for _, r := range rules {
		for key, value := range r.resource.Match.Labels {
			rulesWith[label{key, value}]++
		}
	}
	for _, r := range rules {
		m := &r.resource.Match
		if m.Name != "" {
			r.name = ParseNamePattern(m.Name)
		}
		switch {
		case m.Name != "" && !strings.Contains(m.Name, "*"):
			x.byName[m.Name] = append(x.byName[m.Name], r)
		case len(m.Labels) > 0:
			l := rarest(m.Labels, rulesWith)
			x.byLabel[l] = append(x.byLabel[l], r)
		default:
			x.byKind[m.Kind] = append(x.byKind[m.Kind], r)
		}
	}
}

// rarest returns the one of labels that the fewest rules have.
func rarest(labels map[string]string, rulesWith map[label]int) label {
	var best label
	for i, key := range slices.Sorted(maps.Keys(labels)) {
		if l := (label{key, labels[key]}); i == 0 || rulesWith[l] < rulesWith[best] {
			best = l
		}
	}
	return best
}

// resourceRules returns the rules that match a resource, in the order of the files and rules.
func (e *Evaluation) resourceRules(r Resource) []*rule {
	x := &e.criteria
	ofChart, known := x.ofChart[r.Chart]
	if !known {
		ofChart = newRuleSet(len(e.resources.rules), e.resources.find(r.Chart))
		x.ofChart[r.Chart] = ofChart
	}
	var found []*rule
	add := func(candidates []*rule) {
		for _, c := range candidates {
			if ofChart.has(c) && c.matches(r) {
				found = append(found, c)
			}
		}
	}
	add(x.byName[r.Name])
	for key, value := range r.Labels {
		add(x.byLabel[label{key, value}])
	}
	add(x.byKind[r.Kind])
	if r.Kind != "" {
		add(x.byKind[""])
	}
	sortRules(found)
	return found
}

// matches reports whether a resource meets all criteria of the rule but the chart.
func (r *rule) matches(resource Resource) bool {
	m := &r.resource.Match
	if r.name != nil && !r.name.Matches(resource.Name) {
		return false
	}
	if m.Kind != "" && m.Kind != resource.Kind || m.Group != "" && m.Group != resource.Group {
		return false
	}
	for key, value := range m.Labels {
		if actual, found := resource.Labels[key]; !found || actual != value {
			return false
		}
	}
	return true
}
