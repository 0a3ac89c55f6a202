// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
)

// Request is what a chart asks for: a library in a range of versions.
type Request struct {
	// Name is the name of the library.
	Name string
	// Range is a range of versions. If it is empty, every version is accepted.
	Range string
	// By is the path of the chart that asks, such as shop/charts/database.
	By string
	// Position returns where it asks, such as Chart.yaml:12, for errors.
	Position func() string
}

// Candidate is a library that is in the directory library/ of a chart.
type Candidate struct {
	// Path is the path of the library, such as shop/library/common-1.2.0.tgz.
	Path    string
	Library *chart.Chart
}

// Select returns for each library that is asked for the candidate with the highest version that
// all charts accept. Libraries without candidates are not in the result. If all candidates for a
// library are rejected, the error is a *ConflictError.
func Select(requests []Request, candidates []Candidate) (map[string]Candidate, error) {
	asked := map[string][]Request{}
	for _, r := range requests {
		asked[r.Name] = append(asked[r.Name], r)
	}
	available := map[string][]Candidate{}
	for _, c := range candidates {
		available[c.Library.Name()] = append(available[c.Library.Name()], c)
	}
	selected := make(map[string]Candidate, len(available))
	for _, r := range requests {
		if _, done := selected[r.Name]; done || len(available[r.Name]) == 0 {
			continue
		}
		c, err := selectOne(asked[r.Name], available[r.Name])
		if err != nil {
			return nil, err
		}
		selected[r.Name] = c
	}
	return selected, nil
}

// selectOne selects one of the candidates for a library.
func selectOne(requests []Request, candidates []Candidate) (Candidate, error) {
	candidates = slices.Clone(candidates)
	slices.SortStableFunc(candidates, func(a, b Candidate) int {
		return compareVersions(b.Library.Metadata.Version, a.Library.Metadata.Version)
	})
	candidates = slices.CompactFunc(candidates, func(a, b Candidate) bool { return a.Library.Metadata.Version == b.Library.Metadata.Version })
	constraint, err := NewConstraint(requests)
	if err != nil {
		return Candidate{}, err
	}
	var available []string
	for _, c := range candidates {
		version, err := semver.NewVersion(c.Library.Metadata.Version)
		if err == nil && constraint.Check(version) {
			return c, nil
		}
		available = append(available, fmt.Sprintf("%s (%s)", c.Library.Metadata.Version, c.Path))
	}
	return Candidate{}, &ConflictError{Library: requests[0].Name, Requests: requests, Available: available}
}

// compareVersions compares two versions. One that is not valid is lower than all others.
func compareVersions(a, b string) int {
	versionA, errA := semver.NewVersion(a)
	versionB, errB := semver.NewVersion(b)
	switch {
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	}
	return versionA.Compare(versionB)
}

// Constraint accepts the versions that several charts accept.
type Constraint struct {
	ranges map[string]*semver.Constraints
}

// NewConstraint returns the constraint of some requests. It returns an error if a range is invalid.
func NewConstraint(requests []Request) (Constraint, error) {
	c := Constraint{ranges: map[string]*semver.Constraints{}}
	for _, r := range requests {
		if _, known := c.ranges[r.Range]; known || r.Range == "" {
			continue
		}
		constraints, err := semver.NewConstraint(r.Range)
		if err != nil {
			return c, fmt.Errorf("%s asks for the library %s in an invalid range of versions, %q: %w", r.By, r.Name, r.Range, err)
		}
		c.ranges[r.Range] = constraints
	}
	return c, nil
}

// Check reports whether all charts accept the version.
func (c Constraint) Check(version *semver.Version) bool {
	for _, r := range c.ranges {
		if !r.Check(version) {
			return false
		}
	}
	return true
}

// ConflictError reports that no version of a library is accepted by all charts that ask for it.
type ConflictError struct {
	Library  string
	Requests []Request
	// Available lists the versions that there are.
	Available []string
}

// maxInError is the number of charts that the text of a ConflictError names.
const maxInError = 20

func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no version of the library %s satisfies all charts that use it:", e.Library)
	named := 0
	for _, r := range e.Requests {
		if r.Range == "" {
			continue
		}
		if named++; named <= maxInError {
			fmt.Fprintf(&b, "\n  %s asks for %s (%s)", r.By, r.Range, r.Position())
		}
	}
	if named > maxInError {
		fmt.Fprintf(&b, "\n  and %d more", named-maxInError)
	}
	fmt.Fprintf(&b, "\n  available: %s", strings.Join(e.Available, ", "))
	return b.String()
}
