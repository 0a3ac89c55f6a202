// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"errors"

	"github.com/ordered-helm/helm/internal/orderfile"
)

// resolveRules finds the charts on which rules of order files make charts depend.
func (r *resolver) resolveRules() error {
	if r.Rules == nil {
		return nil
	}
	unknown := unknownReferences{resolver: r, found: map[orderfile.Reference]bool{}}
	names := map[int]*subchartNames{}
	namesOf := func(chart int) *subchartNames {
		if names[chart] == nil {
			names[chart] = r.subchartNames(r.Charts[chart])
		}
		return names[chart]
	}
	var problems []error
	for i, c := range r.Charts {
		if c.Parent >= 0 {
			charts, err := r.resolveReferences(namesOf(c.Parent), c.Rules.DependsOn, dependent{chart: i}, &unknown)
			c.After, problems = sortUnique(append(c.After, charts...)), append(problems, err)
		}
		if len(c.Rules.OwnDependsOn) > 0 {
			charts, err := r.resolveReferences(namesOf(i), c.Rules.OwnDependsOn, dependent{i, true}, &unknown)
			c.OwnAfter, problems = sortUnique(append(c.OwnAfter, charts...)), append(problems, err)
		}
	}
	return errors.Join(append(problems, unknown.err())...)
}

// resolveReferences returns the charts that the references name, and declares that d depends on them.
func (r *resolver) resolveReferences(n *subchartNames, list []orderfile.Reference, d dependent, unknown *unknownReferences) ([]int, error) {
	var all []int
	for _, reference := range list {
		charts, known := n.known[reference.Name]
		unknown.add(reference, n, known)
		if err := r.dependencies.Add(max(len(charts), 1), reference.Rule.File); err != nil || r.dependencies.Exceeded() {
			return all, err
		}
		for _, c := range charts {
			if c != d.chart {
				all = append(all, c)
				r.declare(c, d, ReasonOfRule(reference, ""))
			}
		}
	}
	return all, nil
}

// unknownReferences collects references of rules to subcharts that do not exist. A rule whose path has a "*" can
// match charts that do not have all of the siblings that it names.
type unknownReferences struct {
	resolver *resolver
	found    map[orderfile.Reference]bool
	list     []unknownReference
}

type unknownReference struct {
	orderfile.Reference
	names *subchartNames
}

func (u *unknownReferences) add(r orderfile.Reference, n *subchartNames, known bool) {
	if _, seen := u.found[r]; !seen && !known {
		u.list = append(u.list, unknownReference{r, n})
	}
	u.found[r] = u.found[r] || known
}

// err returns an error for each reference that is unknown in all charts.
func (u *unknownReferences) err() error {
	var problems []error
	for _, r := range u.list {
		if !u.found[r.Reference] {
			names := *r.names
			names.file = r.Rule.File
			problems = append(problems, u.resolver.unknownSubchart(&names, r.Name, r.Rule.Path+"."+r.Key))
		}
	}
	return errors.Join(problems...)
}
